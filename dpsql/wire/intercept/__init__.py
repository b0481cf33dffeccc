"""What becomes of each message of a client's session."""
