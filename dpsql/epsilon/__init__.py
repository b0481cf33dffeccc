"""Choosing ε: what an answer can reveal (disclosure risk) and how much noise a role gets. Formulas only.

Nothing here draws noise or reads a table. Results are of two sorts: budgets, which are `Fraction`s rounded down, and
diagnostics, which are floats and are never charged or published.
"""
