"""The meaning of a statement, as PostgreSQL has bound it: every name, star, ordinal and type resolved."""
