"""Scripts that run in a peer's own environment, each by its path; they import nothing of dpsql."""
