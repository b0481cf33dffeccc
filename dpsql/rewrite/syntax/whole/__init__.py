"""Whole statements: their scopes, their parts, views, and released rows in the places of private ones."""
