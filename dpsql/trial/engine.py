"""Where statements are tried: synthetic databases side by side in one engine, each with and without some units.

A statement is the very text that the records' engine would be asked, but for the names of tables.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Protocol

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.analysis.declared_facts import PublicRows
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.ir.literal import format_value
from dpsql.trial.cells import MadeUpCell
from dpsql.trial.records import REMOVED, MadeUpRecords
from dpsql.trial.subject import TrialSubject

PATIENCE = 10.0
"""Seconds that one statement may take on a few hundred rows."""


class TrialEngineFailed(DpsqlError, sqlstate="58000"):
    """The engine of a trial failed; it holds no records, so that its message may be read by the operator."""


class TrialEngineLate(TrialEngineFailed, sqlstate="58000"):
    """It takes too long: no text of an engine's, in which a client's may stand, says so."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("it takes too long")


class OptimizerLevel(Enum):
    """How far a statement is optimized, so that the mistakes of an optimizer are seen."""

    AS_SERVED = auto()
    """As records are asked."""
    JOINS_ALONE = auto()
    """Joins are put in order, and rows left out where they are read, but nothing else."""
    NOT = auto()
    """As little as can be: a join of five tables may look at all combinations of their rows."""


class TrialEngine(Protocol):
    """Synthetic databases in an engine of the records' kind."""

    at_once: ClassVar[int]
    """How many statements it is asked at once."""
    in_process: ClassVar[bool]
    """Whether this very process works on statements, so that its processor time is theirs."""

    @property
    def names(self) -> "TableNames":
        """Return what stands for the engine's names in a place."""

    @property
    def alive(self) -> bool:
        """Return whether it still answers; else it has to be made again."""

    def run(
        self, sql: str, cancellation: Cancellation, seconds: float, optimized: OptimizerLevel = OptimizerLevel.AS_SERVED
    ) -> Sequence[EngineRow]:
        """Return what a statement answers over the tables of a place, within so many seconds.

        Raises:
            TrialEngineFailed: the engine does not take it, or fails.
            QueryCanceled: somebody cancelled, or it takes too long.
        """


@dataclass(frozen=True, slots=True)
class DatabaseVariant:
    """One synthetic database in full, or without somebody's rows."""

    name: str
    world: int
    kind: str
    """The unit kind for which it is made."""
    unit: int | None = None
    """The unit that is missing; None: the rows of nobody are, and the others stand in another order, unless it is
    `whole`."""
    whole: bool = False


def database_variants(records: Sequence[MadeUpRecords]) -> list[DatabaseVariant]:
    """Return all places: each database in full, and without each of some units; the first also without nobody's rows."""
    places: list[DatabaseVariant] = []
    for world, record in enumerate(records):
        places.append(DatabaseVariant(f"w{world}", world, record.kind, whole=True))
        if not any(place.kind == record.kind and place.unit is not None for place in places):
            places.append(DatabaseVariant(f"w{world}_nobody", world, record.kind))
        places += [DatabaseVariant(f"w{world}_{unit}", world, record.kind, unit) for unit in REMOVED]
    return places


@dataclass(frozen=True, slots=True)
class TableNames:
    """The engine's names of tables, and what stands for them in a place."""

    tables: Mapping[str, str]
    """By the name as statements write it, what follows the place's own name."""
    public: Mapping[str, str]
    """Likewise of public tables, of which there is one copy."""
    prefix: str = ""
    """The prefix of the names of places."""

    def split(self, sql: str) -> "VariantText":
        """Return a statement in pieces between the names."""
        names = {**self.tables, **self.public}
        if not names:
            return VariantText((sql,), (), self)
        # The longest name first: of "trips" and "trips_2024" the shorter one stands at the beginning of both.
        pieces = re.split("(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + ")", sql)
        return VariantText(tuple(pieces[::2]), tuple(pieces[1::2]), self)


@dataclass(frozen=True, slots=True)
class VariantText:
    """A statement in pieces."""

    between: Sequence[str]
    names: Sequence[str]
    of: TableNames

    def at(self, place: str) -> str:
        """Return the statement over a place's tables."""
        tables, public = self.of.tables, self.of.public
        own = (public[name] if name in public else f"{self.of.prefix}{place}{tables[name]}" for name in self.names)
        return "".join((self.between[0], *(text for pair in zip(own, self.between[1:], strict=True) for text in pair)))


def names_of(subject: TrialSubject, shared: str, further: Mapping[str, str] = {}, *, prefix: str = "") -> TableNames:
    """Return what stands for an engine's names of tables, those of public ones in the schema `shared`."""
    policy, named = subject.policy, subject.named
    own = {named(name): f".{quote_name(name)}" for name, table in policy.tables.items() if not table.public}
    public = {named(name): f"{shared}.{quote_name(name)}" for name, table in policy.tables.items() if table.public}
    return TableNames({**own, **further}, public, prefix)


Cast = Callable[[str, str], str]
"""Returns a text's expression cast to an engine's type: NULL where it is none."""


def staged_columns(records: MadeUpRecords, table: str) -> tuple[list[str], list[list[MadeUpCell]]]:
    """Return the columns of a table's rows as they are staged, with their numbers and owners, column by column."""
    made = records.tables[table]
    owners: dict[str, list[MadeUpCell]] = {
        f"unit {kind}": [None if o is None else str(o) for o in own] for kind, own in made.owners.items()
    }
    columns = [[row[n] for row in made.rows] for n in range(len(made.columns))]
    numbers: list[MadeUpCell] = [str(n).zfill(6) for n in range(len(made.rows))]
    return ["row number", *owners, *made.columns], [numbers, *owners.values(), *columns]


def rows_at(place: DatabaseVariant, types: Mapping[str, str], source: str, cast: Cast, *, owned: bool) -> str:
    """Return the SELECT of a table's rows in a place from where they are staged; `owned`: they have units of its kind."""
    columns = ", ".join(f"{cast(quote_name(name), type_)} AS {quote_name(name)}" for name, type_ in types.items())
    unit, where, order = quote_name(f"unit {place.kind}"), "", quote_name("row number")
    # Rows in another order, because an engine that sums doubles, or takes the first rows of a unit, would answer
    # otherwise. `row number` is written with zeros before it, since it is a text here.
    if place.unit is None and not place.whole:
        order = f"{order} DESC"
    if owned and not place.whole:
        where = f" WHERE {unit} IS NOT NULL" if place.unit is None else f" WHERE coalesce({unit}, '') <> '{place.unit}'"
    return f"SELECT {columns} FROM {source}{where} ORDER BY {order}"  # noqa: S608  # names and numbers of ours


def public_texts(policy: Policy, public: PublicRows) -> Iterator[tuple[str, list[str], list[list[MadeUpCell]]]]:
    """Yield the public tables with their rows column by column, as texts."""
    for table in policy.tables.values():
        if table.public:
            rows = public[table.name]
            cells = [
                [None if value is None else format_value(value, table.columns[name].type) for value in rows[name]]
                for name in table.columns
            ]
            yield table.name, list(table.columns), cells
