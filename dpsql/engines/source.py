"""Where the records are, in a line that tells two places apart and holds no secret."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from dpsql.policy.config import DuckDbFile, DuckDbTables, EngineConfig, PostgresServer, SparkServer

_PLACE = ("service", "host", "hostaddr", "port", "dbname", "options")
"""What of a connection string decides which records one sees; who connects does not."""


def source(engine: EngineConfig) -> str:
    """Return where an engine's records are."""
    match engine:
        case DuckDbFile(path):
            return f"duckdb {_absolute(path)}"
        case DuckDbTables(tables):
            return "duckdb " + " ".join(f"{name}={_absolute(path)}" for name, path in sorted(tables.items()))
        case PostgresServer(dsn, tables):
            given = {**_environment(), **conninfo_to_dict(dsn)}
            places = (f"{name}={place}" for name, place in sorted(tables.items()))
            return " ".join(("postgres", *(f"{key}={given[key]}" for key in _PLACE if given.get(key)), *places))
        case SparkServer(remote, tables):
            server = remote.removeprefix("sc://").partition("/")[0]  # what follows may hold a token
            return " ".join((f"spark {server}", *(f"{name}={place}" for name, place in sorted(tables.items()))))
        case _:
            assert_never(engine)


def _absolute(path: Path) -> str:
    """Return a path from the root; links stay, because what they point to may change with every load."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)


def _environment() -> Mapping[str, str]:
    """Return what libpq takes from the environment."""
    return {option.keyword.decode(): option.val.decode() for option in Conninfo.get_defaults() if option.val}
