"""The cost and the worth of a statement, in EXPLAIN and in notices."""
