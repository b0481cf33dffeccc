"""What PostgreSQL does not interrupt by itself."""

SPINNING = "repeat('a', 4000000) LIKE '%' || repeat('a', 2000000) || 'b%'"
"""An expression that takes an hour of the processor, and looks at no cancel and no time limit meanwhile."""
