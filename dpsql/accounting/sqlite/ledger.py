"""The ledger in one SQLite file, for one machine: any number of threads and processes."""

from pathlib import Path

from dpsql.accounting.ledger import DataSet, Way
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sqlite.claims import FileClaims
from dpsql.accounting.sqlite.file import SqliteFile
from dpsql.clock import Clock
from dpsql.errors import ConfigError

_NAMELESS = DataSet()


class SqliteLedger(SqlLedger):
    """A `Ledger` in a file."""

    def __init__(self, path: Path, clock: Clock, dataset: DataSet = _NAMELESS, way: Way = Way.AS_IT_IS) -> None:
        """Open a data set's ledger at `path`, or make a new one.

        Raises:
            ConfigError: the file is not a ledger that this version reads, is another data set's, or is gone.
        """
        self.path = path
        self._file = SqliteFile(path, dataset, clock, way)
        try:
            claims = FileClaims(path)
        except OSError as error:
            self._file.close()
            raise ConfigError(f"ledger {path} can't be shared: {error}") from error
        super().__init__(self._file, claims, clock)
