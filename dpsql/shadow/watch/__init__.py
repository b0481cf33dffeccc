"""Sessions of the shadow that take too much, and what becomes of those that hear nothing."""
