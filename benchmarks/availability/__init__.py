"""What one analyst can do to another, and what is left of it."""
