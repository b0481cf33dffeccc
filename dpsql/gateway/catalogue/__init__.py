"""Questions of clients about the policy itself: tables of dpsql's own, and the contents of public tables."""
