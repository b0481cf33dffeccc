"""The ledger on a PostgreSQL server: any number of threads, processes and machines."""

from pathlib import Path

from dpsql.accounting.ledger import DataSet, Way
from dpsql.accounting.postgres.claims import ServerClaims
from dpsql.accounting.postgres.store import PostgresStore
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.clock import Clock

_NAMELESS = DataSet()


class PostgresLedger(SqlLedger):
    """A `Ledger` on a server."""

    def __init__(
        self, dsn: str, beside: Path, clock: Clock, dataset: DataSet = _NAMELESS, way: Way = Way.AS_IT_IS
    ) -> None:
        """Open a data set's ledger on the server of `dsn`, or make a new one; its mark is beside the path `beside`.

        Raises:
            ConfigError: it is not a ledger that this version reads, is another data set's, or is gone.
        """
        super().__init__(PostgresStore(dsn, beside, dataset, clock, way), ServerClaims(dsn), clock)
