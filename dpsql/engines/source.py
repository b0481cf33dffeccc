"""Where the records are, in a line that tells two places apart and holds no secret."""

import os
import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import assert_never
from urllib.parse import SplitResult, urlsplit

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from dpsql.policy.config import CopiedDatabase, DuckDbFile, DuckDbTables, EngineConfig, PostgresServer, SparkServer
from dpsql.policy.model import PUBLIC, TableName

_PLACE = ("service", "host", "hostaddr", "port", "dbname", "options")
"""The parts of a connection string that decide which records a client sees; its user does not."""

_LOCAL = ("localhost", "127.0.0.1")
_PORT = "5432"
_SAME = {"mariadb": "mysql"}
"""Kinds of databases that SQLAlchemy has two names for."""
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
        case CopiedDatabase(url, tables):
            return " ".join((*_of_url(url), *(f"{name}={place}" for name, place in sorted(tables.items()))))
        case SparkServer(remote, tables):
            server = remote.removeprefix("sc://").partition("/")[0]  # what follows may hold a token
            return " ".join((f"spark {server}", *(f"{name}={place}" for name, place in sorted(tables.items()))))
        case _:
            assert_never(engine)


@dataclass(frozen=True, slots=True)
class Wordings(Container[str]):
    """The other words for where the same records of the same tables are: `other_wordings`, and as tables were called before.

    Before tables had schemas, `clinical.labs` was labs, or clinical_labs beside another labs, and its place stood in
    engine.tables. No place but one of a table that is declared now is taken for the same, and none that was given is
    left out.
    """

    engine: EngineConfig
    tables: Collection[str]

    def __contains__(self, text: object) -> bool:
        """Return whether a line says where these records are."""
        if not isinstance(text, str):
            return False
        return text in other_wordings(self.engine, self.tables) or any(
            text.startswith(head) and _is_of_places(text.removeprefix(head), self._places()) for head in self._heads()
        )

    def _heads(self) -> frozenset[str]:
        """Return what stands before the places of tables."""
        match self.engine:
            case DuckDbFile():
                return frozenset()
            case DuckDbTables():
                return frozenset({"duckdb"})
            case PostgresServer(dsn):
                bare = replace(self.engine, tables={})
                return frozenset({source(bare), *other_wordings(bare, ()), *self._searched(bare, dsn)})
            case SparkServer() | CopiedDatabase():
                return frozenset({source(replace(self.engine, tables={}))})
            case _:
                assert_never(self.engine)

    def _searched(self, server: PostgresServer, dsn: str) -> Iterator[str]:
        """Yield how a search path said where tables are that are all of one schema."""
        schemas = {TableName.of(table).schema for table in self.tables}
        if len(schemas) == 1 and PUBLIC not in schemas and not _given(dsn).get("options"):
            for spelling in _SPELLINGS:
                searched = replace(server, dsn=make_conninfo(dsn, options=spelling.format(*schemas)))
                yield from (source(searched), *other_wordings(searched, ()))

    def _places(self) -> list["_Place"]:
        """Return where tables are, with the names that they may have had."""
        given: Mapping[str, object] = {}
        match self.engine:
            case DuckDbTables(tables):
                given = {name: _absolute(path) for name, path in tables.items()}
            case PostgresServer(_, tables) | SparkServer(_, tables) | CopiedDatabase(_, tables):
                given = tables
            case _:
                pass
        own = {} if isinstance(self.engine, DuckDbTables) else {name: name for name in self.tables if "." in name}
        return [_Place(_called(name), str(place), name in given) for name, place in {**own, **given}.items()]


@dataclass(frozen=True, slots=True)
class _Place:
    names: frozenset[str]
    place: str
    given: bool
    """Whether the configuration says it, and not the table's name."""


def _called(table: str) -> frozenset[str]:
    """Return what a table is and was called."""
    where = TableName.of(table)
    return frozenset({table} if where.schema == PUBLIC else {table, where.name, f"{where.schema}_{where.name}"})


def _is_of_places(text: str, places: Sequence[_Place]) -> bool:
    """Return whether a text is of some places, each once, with all that are given."""
    left = list(places)
    while text:
        words = ((place, f" {name}={place.place}") for place in left for name in place.names)
        begun = ((p, w) for p, w in words if text.startswith(w) and text[len(w) : len(w) + 1] in ("", " "))
        # Places may have blanks in them: of two with which the text can go on, the longer one is meant.
        place, word = max(begun, key=lambda of: len(of[1]), default=(None, ""))
        if place is None:
            return False
        left.remove(place)
        text = text.removeprefix(word)
    return not any(place.given for place in left)


def other_wordings(engine: EngineConfig, tables: Collection[str]) -> frozenset[str]:
    """Return in what other words the same records of these tables would be where they are: a PostgreSQL server's.

    `localhost` is 127.0.0.1, the port is 5432 unless given, and tables of one schema are found by a search path or by
    their places. Two places have no words in common: each wording is of one server, one database and one place of each
    table. The contents of a service file are not read here.
    """
    if not isinstance(engine, PostgresServer):
        return frozenset()
    given = _given(engine.dsn)
    # What a service file says may be anything, and change: it is one place, in one wording.
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


def _of_url(url: str) -> Iterator[str]:
    """Yield which database a URL is of: its kind and its place, without the driver, the account and the settings."""
    parts = urlsplit(url)
    kind = parts.scheme.partition("+")[0]
    if kind == "sqlite":
        yield f"sqlite {_absolute(Path(parts.path[1:]))}"
        return
    yield _SAME.get(kind, kind)
    yield from (f"{name}={given}" for name, given in (("host", parts.hostname), ("port", _port(parts))) if given)
    if parts.path.strip("/"):
        yield f"database={parts.path.strip('/')}"


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:  # none of a number
        return None


def _absolute(path: Path) -> str:
    """Return a path from the root; links stay, because what they point to may change with every load."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)


def _environment() -> Mapping[str, str]:
    """Return what libpq takes from the environment."""
    return {option.keyword.decode(): option.val.decode() for option in Conninfo.get_defaults() if option.val}
