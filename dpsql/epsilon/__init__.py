"""Choosing ε: formulas only."""
