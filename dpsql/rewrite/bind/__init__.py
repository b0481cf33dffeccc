"""What a statement means, as PostgreSQL has bound it: every name, star, ordinal and type resolved."""
