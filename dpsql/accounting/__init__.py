"""What was spent, what may still be, and what was released for it."""
