"""Statements as trees of names: parsing them, finding what they ask, and putting released rows in its place."""
