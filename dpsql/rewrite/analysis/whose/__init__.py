"""Whose the rows of a relation are: which columns name a unit, and which rows find which."""
