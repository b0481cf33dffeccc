"""Synthetic databases as temporary views of their own session with the Spark server, over rows that the session brings."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from dpsql.engines.spark.client import SparkConnection, SparkUnsettledError, client
from dpsql.engines.spark.settings import answered_within, safe_cause
from dpsql.errors import QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.trial.cells import MadeUpCell
from dpsql.trial.engine import (
    PATIENCE,
    OptimizerLevel,
    TableNames,
    TrialEngineFailed,
    database_variants,
    public_texts,
    rows_at,
    staged_columns,
)
from dpsql.trial.subject import TrialSubject

_STAGED, _PUBLIC = "dpsql_staged", "dpsql_public"
_SPAN = "interval day to second"
_DAYS = re.compile(r"(-?)(\d+) days(?: -?(\d+):(\d\d):(\d\d)(?:\.(\d{6}))?)?")


class SparkTrialEngine:
    """A `TrialEngine` in a session without a table of the cluster's."""

    at_once: ClassVar[int] = 1
    in_process: ClassVar[bool] = False

    def __init__(self, subject: TrialSubject, connect: Callable[[], SparkConnection]) -> None:
        """Make the places.

        Raises:
            TrialEngineFailed: the server does not.
        """
        self._subject = subject
        places = {name: f"_{number}" for number, name in enumerate(subject.policy.tables)}
        # Views are known by a place and a number, w0_1_3, since a name of the cluster's may have dots, slashes or a
        # version in it.
        own, public = ({}, {})  # type: tuple[dict[str, str], dict[str, str]]
        for name, table in subject.policy.tables.items():
            if table.public:
                public[subject.named(name)] = f"{_PUBLIC}{places[name]}"
            else:
                own[subject.named(name)] = places[name]
        self.names = TableNames(own, public)
        try:
            with answered_within(PATIENCE):
                self._connection = connect()
                self._make(places)
        except (client().error, SparkUnsettledError, ValueError) as error:
            raise TrialEngineFailed(f"the synthetic databases can't be made: {safe_cause(error)}") from None

    @property
    def alive(self) -> bool:
        """Return whether the session is still there."""
        try:
            with answered_within(PATIENCE):
                self._connection.check()
        except (client().error, SparkUnsettledError, ValueError):
            return False
        return True

    def run(
        self, sql: str, cancellation: Cancellation, seconds: float, optimized: OptimizerLevel = OptimizerLevel.AS_SERVED
    ) -> Sequence[EngineRow]:
        """Return what a statement answers over the tables of a place; Spark always optimizes."""
        del optimized
        try:
            with answered_within(seconds):
                columns = [column.to_pylist() for column in self._connection.bind(sql).toArrow().columns]
        except (client().error, ValueError) as error:
            if cancellation.requested:
                raise QueryCanceled from None
            raise TrialEngineFailed(str(error)) from None
        return list(zip(*columns, strict=True))

    def _make(self, numbers: Mapping[str, str]) -> None:
        subject = self._subject
        for table, columns, cells in public_texts(subject.policy, subject.public):
            self._stage(subject.types[table], columns, cells)
            casts = ", ".join(f"{_cast(quote_name(c), t)} AS {quote_name(c)}" for c, t in subject.types[table].items())
            self._view(f"{_PUBLIC}{numbers[table]}", f"SELECT {casts} FROM {_STAGED}")  # noqa: S608
        for place in database_variants(subject.records):
            records = subject.records[place.world]
            for name, made in records.tables.items():
                self._stage(subject.types[name], *staged_columns(records, name))
                owned = place.kind in made.owners
                rows = rows_at(place, subject.types[name], _STAGED, _cast, owned=owned)
                self._view(f"{place.name}{numbers[name]}", rows)

    def _stage(self, types: Mapping[str, str], columns: Sequence[str], cells: Sequence[Sequence[MadeUpCell]]) -> None:
        """Bring rows along as texts, but for spans: Sail reads no text as one."""
        import pyarrow as pa  # noqa: PLC0415  (Spark's client brings it along)

        made = {
            name: pa.array(map(_micros, column), pa.duration("us"))
            if types.get(name) == _SPAN
            else pa.array(column, pa.string())
            for name, column in zip(columns, cells, strict=True)
        }
        # A view keeps what it was made of, so that the next table may be staged under the same name.
        self._connection.session.createDataFrame(pa.table(made)).createOrReplaceTempView(_STAGED)

    def _view(self, name: str, select: str) -> None:
        self._connection.bind(select).createOrReplaceTempView(name)


def _micros(cell: MadeUpCell) -> int | None:
    """Return how long a span is, in microseconds; None of what has months, or is none."""
    match = _DAYS.fullmatch(cell or "")
    if match is None:
        return None
    days, hours, minutes, seconds, rest = (int(part or 0) for part in match.groups()[1:])
    micros = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 10**6 + rest
    return -micros if match[1] else micros


def _cast(text: str, type_: str) -> str:
    return text if type_ == _SPAN else f"try_cast({text} AS {type_})"
