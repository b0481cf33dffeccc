"""What clients may ask about the policy itself: tables of dpsql's own, and what public tables hold."""
