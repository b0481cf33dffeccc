"""From the configuration to a running engine: the one that holds the records, or one over dpsql's own copy of them."""

from dpsql.engines.admitted import see_that_it_is_admitted
from dpsql.engines.base import Engine
from dpsql.engines.connect import connect_engine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.snapshot.open import open_snapshot
from dpsql.engines.tables import check_tables
from dpsql.policy.config import Config


def open_engine(config: Config) -> Engine:
    """Open the engine that answers, and see that it has the tables that the policy declares.

    Where the configuration wants a copy of the records, and there is none that may be used, one is made first.

    Raises:
        ConfigError: it can't be opened or reached, can be written to, is not admitted, or lacks tables and columns.
    """
    engine = connect_engine(config) if config.snapshot is None else open_snapshot(config)
    try:
        if config.snapshot is not None:
            see_that_it_is_admitted(DuckDb.product, unverified=config.unverified)
        check_tables(config.policy, engine)
        if isinstance(engine, DuckDb) and config.snapshot is None:
            engine.keep_heavy_rows(config.policy)
    except BaseException:
        engine.close()
        raise
    return engine
