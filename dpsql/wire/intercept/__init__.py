"""The fate of each message of a client's session."""
