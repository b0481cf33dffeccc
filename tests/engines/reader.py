"""The role that engines connect as in tests."""

from dpsql.shadow.server.postgres import Postgres

READER = "dpsql_reader"


def reading(server: Postgres, user: str = READER) -> str:
    """Return a DSN with the records' schema as its search path."""
    return server.dsn("postgres").replace("user=dpsql_owner", f"user={user}") + " options='-c search_path=records'"
