"""What rows and groups tell of others: which relation is part of which, and which groups are made of which."""
