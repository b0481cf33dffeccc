"""SQLAlchemy and a database's own driver, which are imported when a configuration names a database, and not before.

Promise: nothing of a row is logged or told here. A failure is told by its kind, and by the code that the database gave it;
its words may quote a value.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import duckdb

from dpsql.engines.base import NoEngine
from dpsql.errors import ConfigError, DpsqlError

_EXTRA = "in a checkout of dpsql: pip install -e '.[databases]'"
_DRIVERS = {"mysql": "pymysql", "mariadb": "pymysql", "postgresql": "psycopg"}
"""The drivers that are taken where a URL names none."""
_CONNECT, _SILENT = 10, 600
"""Seconds until a connection is there, and that a database may say nothing while it is read."""
_LOGGER = "dpsql"
_BOTH_WAYS = 2
"""SHUT_RDWR: nothing is sent any more, and nothing read."""


@cache
def sqlalchemy() -> ModuleType:
    """Import SQLAlchemy.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import sqlalchemy  # noqa: PLC0415  an extra
    except ImportError as missing:
        raise ConfigError(
            f"engine: kind copy needs {missing.name or 'SQLAlchemy'}, which can't be imported", hint=_EXTRA
        ) from None
    # On its finest level it logs rows; and of a connection that was lost what its driver said.
    # These loggers end in the names that `pool_of` gives: other users of SQLAlchemy in the process keep theirs.
    logging.getLogger(f"sqlalchemy.engine.Engine.{_LOGGER}").setLevel(logging.CRITICAL)
    logging.getLogger(f"sqlalchemy.pool.impl.NullPool.{_LOGGER}").setLevel(logging.CRITICAL)
    return sqlalchemy


@cache
def reflection() -> Any:
    """Import what asks catalogues."""
    sqlalchemy()
    from sqlalchemy import inspect  # noqa: PLC0415

    return inspect


def pool_of(address: str) -> Any:
    """Return SQLAlchemy's `Engine` for a URL, with the driver and the settings that dpsql wants; it has not connected yet.

    Raises:
        ConfigError: the URL can't be read, or its driver is not installed.
        NoEngine: there is no such file.
    """
    sa = sqlalchemy()
    try:
        url = sa.make_url(address)
        backend = url.get_backend_name()
        if "+" not in url.drivername and backend in _DRIVERS:
            url = url.set(drivername=f"{url.drivername}+{_DRIVERS[backend]}")
        if backend == "sqlite":
            url = _read_only_file(url)
        settings = _settings(url)
        names = {"logging_name": _LOGGER, "pool_logging_name": _LOGGER}
        return sa.create_engine(url, poolclass=sa.pool.NullPool, hide_parameters=True, connect_args=settings, **names)
    except DpsqlError:
        raise
    except sa.exc.NoSuchModuleError:
        raise ConfigError(
            "engine.from: SQLAlchemy knows no such database or driver",
            hint="It begins with the database, and perhaps the driver: mysql+pymysql://. Some have a package of their own.",
        ) from None
    except ImportError as missing:
        raise ConfigError(
            f"engine.from needs the driver {missing.name}, which can't be imported", hint=_EXTRA
        ) from None
    except (sa.exc.ArgumentError, ValueError, TypeError):
        raise ConfigError(
            "engine.from can't be read as a URL",
            hint="In a password @ is written %40, / is %2F and : is %3A: mysql://reader:p%40ss@db.example.org/hospital.",
        ) from None


def _read_only_file(url: Any) -> Any:
    """Return SQLite's URL as one that makes no file and writes to none."""
    if not url.database or url.database == ":memory:":
        raise ConfigError("engine.from names no file", hint="sqlite:////var/lib/records.db, with four slashes.")
    if not Path(url.database).is_file():
        raise NoEngine(f"there is no SQLite file {url.database}")
    # SQLite makes an empty file of a name that is spelt wrong, unless it may only read.
    return url.set(database=f"file:{quote(url.database)}", query={"mode": "ro", "uri": "true"})


def _settings(url: Any) -> dict[str, object]:
    """Return what a driver is told beside the URL."""
    match url.get_driver_name():
        case "pymysql":
            # Of another character set what it lacks would come as question marks, and it would send a password as Latin-1.
            password = {} if url.password is None else {"password": str(url.password).encode()}
            return {"connect_timeout": _CONNECT, "read_timeout": _SILENT, "charset": "utf8mb4", **password}
        case "psycopg":
            return {"connect_timeout": _CONNECT, "client_encoding": "UTF8"}
        case "pysqlite":
            return {"check_same_thread": False}
        case _:
            return {}


@contextmanager
def quiet() -> Iterator[None]:
    """Let nothing be said of types that SQLAlchemy does not know: their columns are told by name elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def fixed_error(doing: str) -> Iterator[None]:
    """Tell what failed by its kind and its code: a driver's own words may quote a value.

    Raises:
        ConfigError: something did.
    """
    try:
        yield
    except (DpsqlError, duckdb.Error):  # what DuckDB says is told by its kind elsewhere
        raise
    except Exception as failed:  # noqa: BLE001  drivers raise what they like
        raise ConfigError(f"engine: {doing}: {cause(failed)}") from None


def cause(failed: BaseException) -> str:
    """Return a failure's kind, and the database's own code for it: `OperationalError 1045`."""
    own = getattr(failed, "orig", None) or failed
    if getattr(failed, "connection_invalidated", False):
        return f"the connection was lost ({_named(own)})"
    return _named(own)


def _named(own: BaseException) -> str:
    number = own.args[0] if own.args and isinstance(own.args[0], int) else None
    code = number or getattr(own, "sqlstate", None) or getattr(own, "sqlite_errorname", None)
    named = _WORDS.get(str(code), "")
    return f"{type(own).__name__}{'' if code is None else f' {code}'}{named and f', {named}'}"


_WORDS = {
    "1044": "the account may not use the database",
    "1045": "the account or its password is not right",
    "1049": "there is no such database",
    "1142": "the account may not read it",
    "1143": "the account may not read a column",
    "1146": "there is no such table",
    "2003": "the server can't be reached",
    "2006": "the server went away",
    "2013": "the server went away",
    "28P01": "the account or its password is not right",
    "3D000": "there is no such database",
    "42501": "the account may not read it",
    "SQLITE_BUSY": "somebody is writing",
    "SQLITE_CANTOPEN": "the file can't be opened",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_NOTADB": "the file is no database of SQLite's",
}
"""What the codes mean that are met most."""


def interrupt(connection: Any) -> None:
    """Stop what another thread reads on a driver's connection; that thread gets an error of the driver's."""
    # PyMySQL can't be told to stop from another thread: its socket is shut, so that the thread that reads gets an
    # error.
    if (plug := getattr(connection, "_sock", None)) is not None:
        with suppress(OSError):  # it has ended by itself
            plug.shutdown(_BOTH_WAYS)
        return
    # What a driver has of these, the gentlest first: SQLite interrupts, psycopg asks the server to cancel.
    for stop in ("interrupt", "cancel_safe", "cancel", "close"):
        if (call := getattr(connection, stop, None)) is not None:
            call()
            return
