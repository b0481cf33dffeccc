"""From the configuration to a running engine: the one that holds the records, or one over dpsql's own copy of them."""

import logging
from collections.abc import Mapping

from dpsql.clock import Clock, system_clock
from dpsql.engines.base import Engine
from dpsql.engines.connect import connect_engine, require_admitted
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.snapshot.open import open_snapshot
from dpsql.engines.tables import misfits_of, require_tables
from dpsql.policy.config import Config

_LOG = logging.getLogger("dpsql.engine")


def open_engine(config: Config, *, ahead: bool = True, clock: Clock = system_clock) -> Engine:
    """Open the engine that answers, and see that it has the tables that the policy declares.

    Where the configuration wants a copy of the records, and there is none that may be used, one is made first, as
    of what the clock says. What is kept in memory beside files is read `ahead` of all questions, or by `read_kept`.

    Raises:
        ConfigError: it can't be opened or reached, can be written to, is not admitted, or lacks tables and columns.
    """
    engine = connect_engine(config) if config.snapshot is None else open_snapshot(config, clock)
    try:
        if config.snapshot is not None:
            require_admitted(DuckDb.product, unverified=config.unverified)
        require_tables(config.policy, engine)
        if isinstance(engine, DuckDb) and config.snapshot is None:
            engine.keep_heavy_rows(config.policy, read=ahead)
    except BaseException:
        engine.close()
        raise
    return engine


def read_kept(engine: Engine) -> None:
    """Read what an engine keeps in memory beside its files, which it may be asked about meanwhile."""
    if isinstance(engine, DuckDb):
        engine.read_heavy_rows()


def is_altered(engine: Engine) -> bool:
    """Return whether the engine says something new of its tables, which are then to be opened anew.

    Files are read again only when the operator says so: when they change may tell of people.

    Raises:
        NoEngine: it can't be asked.
    """
    return isinstance(engine, PostgresEngine) and engine.is_altered()


def open_altered(config: Config, before: Engine) -> Engine:
    """Open an engine again whose tables were altered: those that fit no more are refused from now on, others go on.

    Raises:
        ConfigError: it can't be reached, or may not be used any more.
    """
    engine = connect_engine(config)
    try:
        misfits = misfits_of(config.policy, engine)
        for text in misfits.values():
            _LOG.error("%s", text)
        if misfits and isinstance(engine, PostgresEngine) and isinstance(before, PostgresEngine):
            engine.refuse(misfits, before)
    except BaseException:
        engine.close()
        raise
    return engine


def misfits(engine: Engine) -> Mapping[str, str]:
    """Return the tables that do not fit the policy any more, each with the reason."""
    return engine.misfits if isinstance(engine, PostgresEngine) else {}
