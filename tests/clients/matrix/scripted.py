"""The steps in Python, for drivers that ask in the manner of the DB-API; a driver's script has what is its own."""

import datetime as dt
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.clients.matrix.told import (
    ARRAY,
    COLUMNS,
    GROUPED,
    IN,
    ROWS,
    SLOW,
    TABLES,
    TYPES,
    WHERE,
    WORDS,
    NoSuchThing,
    Partly,
    code,
    stopping,
    tell,
)

VALUES: Mapping[str, object] = {
    "boolean": True,
    "smallint": 1,
    "integer": 2,
    "bigint": 100,
    "real": 20.5,
    "double precision": 20.5,
    "numeric": Decimal("20.5"),
    "text": "cash",
    "varchar": "cash",
    "date": dt.date(2019, 3, 8),
    "timestamp": dt.datetime(2019, 3, 8),  # noqa: DTZ001  (that is the type)
    "timestamptz": dt.datetime(2019, 3, 8, tzinfo=dt.UTC),
    "interval": dt.timedelta(days=7),
    "time": dt.time(12, 30),
    "uuid": uuid.UUID("0e37df36-f698-11e6-8dd4-cb9ced3df976"),
    "bytea": b"\x00\x01\x02\xff",
    "jsonb": '{"a": [1, null]}',
    "integer[]": [1, 2],
}
"""The values in Python's own types; JSON as text."""


class Steps:
    """What each step does unless a driver has another way; `ask` is the driver's."""

    own: Mapping[str, object] = {}
    """Values of types for which the driver wants something else than Python's own."""

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        """Return the rows of a statement."""
        raise NotImplementedError

    def sqlstate(self, failed: Any) -> object:
        """Return the SQLSTATE of what the driver raised."""
        return failed.sqlstate

    def connect(self) -> object:
        """Say who and where."""
        return list(self.ask(WHERE)[0])

    def tls(self) -> object:
        """Return `bound` after a question over a connection that was checked and bound."""
        raise NotImplementedError

    def tables(self) -> object:
        """Return the tables' names."""
        return [row[0] for row in self.ask(TABLES)]

    def columns(self) -> object:
        """Return the names of a table's columns."""
        return [row[0] for row in self.ask(COLUMNS)]

    def grouped(self) -> object:
        """Return the trips by payment."""
        return [list(row) for row in self.ask(GROUPED)]

    def lists(self) -> object:
        """Return counts by a list and by an array."""
        return [self.ask(IN, 1, 2)[0][0], self.ask(ARRAY, [1, 2])[0][0]]

    def types(self) -> object:
        """Return counts with each type's value, and with NULL."""
        values = {**VALUES, **self.own}
        return {name: [self.ask(sql, value)[0][0] for value in (values[name], None)] for name, sql, _ in TYPES}

    def refusal(self) -> object:
        """Return the SQLSTATE of a refusal, after a question that is answered."""
        refused = code(lambda: self.ask(ROWS), self.sqlstate)
        self.ask(GROUPED)
        return refused

    def cursor(self) -> object:
        """Return the trips by payment, fetched by two."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop what runs, from another thread."""
        raise NotImplementedError

    def cancel(self) -> object:
        """Return the SQLSTATE of a statement that was stopped."""
        with stopping(self.stop):
            return code(lambda: self.ask(SLOW), self.sqlstate)

    def timeout(self) -> object:
        """Return the SQLSTATE of a statement that takes too long."""
        self.ask("SELECT set_config('statement_timeout', '300ms', false)")
        stopped = code(lambda: self.ask(SLOW), self.sqlstate)
        self.ask("SELECT set_config('statement_timeout', '0', false)")
        return stopped

    def encode(self, name: str) -> None:
        """Make this the client's encoding."""
        raise NotImplementedError

    def encodings(self) -> object:
        """Return the words that came back."""
        words = {}
        for name, statement in WORDS.items():
            self.encode(name)
            words[name] = self.ask(statement)[0][0]
        self.encode("UTF8")
        return words

    def tell(self) -> None:
        """Take the steps in turn, and print a line for each."""
        steps: dict[str, Callable[[], object]] = {
            "connect": self.connect, "TLS": self.tls, "tables": self.tables, "columns": self.columns,
            "grouped": self.grouped, "lists": self.lists, "types": self.types, "refusal": self.refusal,
            "cursor": self.cursor, "cancel": self.cancel, "timeout": self.timeout, "encodings": self.encodings,
        }  # fmt: skip
        for name, ask in steps.items():
            tell(name, ask)


def none(reason: str) -> Callable[..., Any]:
    """Return a step that the driver does not have."""

    def step(*_: object) -> Any:
        raise NoSuchThing(reason)

    return step


def only_utf8(reason: str) -> Callable[[Steps], object]:
    """Return the step of encodings for a driver that has UTF-8 alone."""

    def step(self: Steps) -> object:
        return Partly({"UTF8": self.ask(WORDS["UTF8"])[0][0]}, reason)

    return step
