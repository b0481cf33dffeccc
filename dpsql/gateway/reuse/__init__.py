"""What a role has been told already, and what follows from it for what it asks now."""
