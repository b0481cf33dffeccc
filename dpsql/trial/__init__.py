"""Statements tried on synthetic people, on an engine of the same kind, before they are asked of records."""
