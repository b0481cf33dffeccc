"""Statements tried on made-up people, on an engine of the same kind, before they are asked of records."""
