"""A SQL proxy with differential privacy that PostgreSQL clients connect to unchanged."""
