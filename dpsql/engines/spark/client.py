"""Spark's own thin client, which is imported when a configuration names Spark, and not before."""

import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dpsql.engines.base import NoEngine
from dpsql.engines.spark.settings import SPARK_SETTINGS, answered_within, error_class, not_ours, status_of
from dpsql.errors import ConfigError

_LEAST = 4
_FAREWELL = 10.0
"""Seconds for a server to hear that a session ends."""
_GONE = frozenset({"UNAVAILABLE", "CANCELLED", "ABORTED", "UNAUTHENTICATED", "DEADLINE_EXCEEDED"})
"""gRPC's names for a connection that is lost, or can't be made."""
_NAME = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True, slots=True)
class ClientParts:
    """The parts of the client that we use."""

    session: Any
    channel_to: Any
    error: type[Exception]
    proto: Any
    frame: Any
    relation: Any


class SparkUnsettledError(Exception):
    """A session does not have the settings that we asked for."""


@cache
def client() -> ClientParts:
    """Import the client.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        with warnings.catch_warnings(), _with_a_file():
            warnings.simplefilter("ignore")  # about versions of pandas, which we do not use
            from pyspark.errors import PySparkException  # noqa: PLC0415
            from pyspark.sql.connect import dataframe, plan, proto, session  # noqa: PLC0415

            from dpsql.engines.spark.channel import channel_to  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(
            f"engine: kind spark needs Spark's client, which can't be imported: {error.name or error}",
            hint="in a checkout of dpsql: pip install -e '.[spark]'",
        ) from None
    # It would log statements, and what it retries.
    logging.getLogger("pyspark").propagate = False
    return ClientParts(session.SparkSession, channel_to, PySparkException, proto, dataframe.DataFrame, plan.SQL)


@contextmanager
def _with_a_file() -> Iterator[None]:
    """Let the program have a file, if it is `python -c` or embedded: Spark would take it for tests of its own, and end it."""
    program = sys.modules["__main__"]
    if program.__spec__ is not None or hasattr(program, "__file__"):
        yield
        return
    program.__file__ = "-c"
    try:
        yield
    finally:
        del program.__file__


@dataclass(frozen=True, slots=True)
class SparkConnection:
    """A session at the server with our settings, for any number of threads; the address may hold a token."""

    session: Any = field(repr=False)

    @classmethod
    def of(cls, remote: str) -> "SparkConnection":
        """Open a session.

        Raises:
            SparkUnsettledError: it does not keep our settings.
            NoEngine: the server's version is too old.
            Exception: Spark's own, where it can't be reached.
        """
        spark = client()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = spark.session.Builder().channelBuilder(spark.channel_to(remote)).create()
        # A statement that is sent again is not the one that was paid for.
        made.client.set_retry_policies([])
        own = cls(made)
        try:
            own.settle()
        except BaseException:
            own.drop()
            raise
        return own

    def product(self) -> tuple[str, str]:
        """Return the server's name and version: what is not Spark calls itself Spark where it is asked by Spark's ways."""
        (version,) = self.bind("SELECT version()").toArrow().column(0).to_pylist()
        number = str(version).partition(" ")[0]
        return "Spark" if int(number.partition(".")[0]) >= _LEAST else "Sail", number

    def settle(self) -> None:
        """Make the settings, and see that they hold."""
        version = str(self.session.version)
        if int(version.partition(".")[0]) < _LEAST:
            raise NoEngine(f"the server is Spark {version}", hint=f"dpsql needs Spark {_LEAST} or later.")
        proto = client().proto
        pairs = [proto.KeyValue(key=name, value=value) for name, value in SPARK_SETTINGS.items()]
        # All at once, and without the warnings of the session's own way.
        self.session.client.config(proto.ConfigRequest.Operation(set=proto.ConfigRequest.Set(pairs=pairs)))
        self.check()

    def check(self) -> None:
        """See that the session has our settings, in one question.

        Raises:
            SparkUnsettledError: it has others.
        """
        other = not_ours(self.session.client.get_config_dict(*SPARK_SETTINGS))
        if other is not None:
            raise SparkUnsettledError(other)

    def bind(self, sql: str) -> Any:
        """Return a statement that the server has parsed and bound; no row is read."""
        # Between brackets the grammar has room for nothing but a query.
        query = f"SELECT * FROM ({with_backquotes(sql)}) AS answer"  # noqa: S608
        # It is handed over as a relation, not as a statement, which the server would parse and bind once more.
        frame = client().frame(client().relation(query), self.session)
        _ = frame.schema
        return frame

    def close(self) -> None:
        """Let go of the session; the client says nothing where the server is gone."""
        with answered_within(_FAREWELL):
            self.session.stop()

    def drop(self) -> None:
        """Close a connection that is lost, without asking the server."""
        self.session.client.close()


def is_gone(error: Exception) -> bool:
    """Return whether an error is the end of a connection or a session, or of the hope for one."""
    return status_of(error) in _GONE or error_class(error).startswith("INVALID_HANDLE")


def is_late(error: Exception) -> bool:
    """Return whether an error is the end of somebody's patience, and says nothing of the connection."""
    return status_of(error) == "DEADLINE_EXCEEDED"


def is_missing(error: Exception) -> bool:
    """Return whether an error says that there is no such table."""
    return any(
        what in f"{error_class(error)} {error}"
        for what in ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "No such file")
    )


def with_backquotes(sql: str) -> str:
    """Return a statement with names in backquotes; a literal of ours has no quotation mark in it."""
    return _NAME.sub(lambda match: "`" + match[1].replace('""', '"').replace("`", "``") + "`", sql)
