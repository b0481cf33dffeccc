"""The ledger of a configuration, opened for people rather than for questions."""

from datetime import UTC, datetime

from dpsql.errors import Unsupported
from dpsql.policy.config import Config, PostgresServer, SqliteFile
from dpsql.privacy.sqlite_ledger import SqliteLedger


def open_ledger(config: Config) -> SqliteLedger:
    """Open the ledger that the configuration names."""
    match config.ledger:
        case SqliteFile(path):
            return SqliteLedger(path, lambda: datetime.now(UTC))
        case PostgresServer():
            raise Unsupported("a ledger in PostgreSQL can't be opened from here")
