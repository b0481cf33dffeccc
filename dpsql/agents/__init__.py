"""A server of the Model Context Protocol for agents: a client of dpsql's, which asks what PostgreSQL clients ask."""
