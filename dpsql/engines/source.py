"""Where the records are, in a line that tells two places apart and holds no secret."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import assert_never

from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from dpsql.policy.config import DuckDbFile, DuckDbTables, EngineConfig, PostgresServer, SparkServer

_PLACE = ("service", "host", "hostaddr", "port", "dbname", "options")
"""The parts of a connection string that decide which records a client sees; its user does not."""

_LOCAL = ("localhost", "127.0.0.1")
_PORT = "5432"
_SEARCH_PATH = re.compile(r"\s*(?:-c\s*|--)search_path=([a-z_][a-z0-9_]*)\s*")
_SPELLINGS = ("-c search_path={}", "-csearch_path={}", "--search_path={}")


def source(engine: EngineConfig) -> str:
    """Return where an engine's records are."""
    match engine:
        case DuckDbFile(path):
            return f"duckdb {_absolute(path)}"
        case DuckDbTables(tables):
            return "duckdb " + " ".join(f"{name}={_absolute(path)}" for name, path in sorted(tables.items()))
        case PostgresServer(dsn, tables):
            return _worded(_given(dsn), tables)
        case SparkServer(remote, tables):
            server = remote.removeprefix("sc://").partition("/")[0]  # what follows may hold a token
            return " ".join((f"spark {server}", *(f"{name}={place}" for name, place in sorted(tables.items()))))
        case _:
            assert_never(engine)


def alike(engine: EngineConfig, tables: Collection[str]) -> frozenset[str]:
    """Return in what other words the same records of these tables would be where they are: a PostgreSQL server's.

    `localhost` is 127.0.0.1, the port is 5432 unless given, and tables of one schema are found by a search path or by
    their places. Two places have no words in common: each wording is of one server, one database and one place of each
    table. The contents of a service file are not read here.
    """
    if not isinstance(engine, PostgresServer):
        return frozenset()
    given = _given(engine.dsn)
    if given.get("service"):
        return frozenset()
    hosts = _LOCAL if given.get("host") in _LOCAL else (given.get("host"),)
    ports = (None, _PORT) if given.get("port") in (None, _PORT) else (given.get("port"),)
    ways = ((given.get("options"), engine.tables), *_same_tables(given.get("options"), engine.tables, tables))
    return frozenset(
        _worded({**given, "host": host, "port": port, "options": options}, places)
        for host, port, (options, places) in product(hosts, ports, ways)
    )


def _same_tables(
    options: str | None, places: Mapping[str, str], tables: Collection[str]
) -> Iterator[tuple[str | None, Mapping[str, str]]]:
    """Yield how else it could be said where tables are: by a search path, in its three spellings, or a place for each."""
    match = _SEARCH_PATH.fullmatch(options or "")
    if match is not None:
        schema = match[1]
        yield None, {**{name: f"{schema}.{name}" for name in tables}, **places}
        yield from ((spelling.format(schema), places) for spelling in _SPELLINGS)
    schemas = {place.partition(".")[0] for place in places.values()}
    if not options and len(schemas) == 1:
        (schema,) = schemas
        if dict(places) == {name: f"{schema}.{name}" for name in tables}:
            yield from ((spelling.format(schema), {}) for spelling in _SPELLINGS)


def _given(dsn: str) -> dict[str, str | None]:
    """Return what a connection string and the environment say."""
    return {
        key: None if value is None else str(value) for key, value in {**_environment(), **conninfo_to_dict(dsn)}.items()
    }


def _worded(given: Mapping[str, str | None], places: Mapping[str, str]) -> str:
    named = (f"{name}={place}" for name, place in sorted(places.items()))
    return " ".join(("postgres", *(f"{key}={given[key]}" for key in _PLACE if given.get(key)), *named))


def _absolute(path: Path) -> str:
    """Return a path from the root; links stay, because what they point to may change with every load."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)


def _environment() -> Mapping[str, str]:
    """Return what libpq takes from the environment."""
    return {option.keyword.decode(): option.val.decode() for option in Conninfo.get_defaults() if option.val}
