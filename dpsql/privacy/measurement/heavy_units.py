"""Sums of all rows in full, corrected for the heavy units: those with more rows than count in full.

Claim: the integers are those of mass scaling (see `contribution`), Σ_rows w·φ, w being the weight of the row's unit.
Proof: with W the weight of a row of a unit that keeps to its bound, Σ w·φ = W·Σ φ + Σ (w − W)·φ, and in the second sum only
rows of units with w ≠ W differ from 0. Such a unit has more than C rows: with n ≤ C of them ⌊W·C / max(n, C)⌋ = W, and
where norms ρ ≤ S are weighed, Σρ ≤ n·S ≤ C·S and w = W again; what weighs at least w and at most W is W, too. So it is enough
to add up the second sum over the rows of some set of units that holds all with more than C rows, in which w is computed from
*all* measured rows of each unit: those of a unit are in the set together or not at all, for it is a set of units.

The rows that mark the heavy units may count more rows than are measured (conditions left out), which can only mark
more of them, and may mark others besides (several units share a mark): neither changes an integer. It must stand in
the very statement that reads the rows, so that one snapshot is marked and measured; a mark that was kept could not
know of rows that have come since.

Of rows that never change, a snapshot's, marks may be kept beside them (`rewrite.emit.kept`): numbers in all rows of
the units with more than some n ≤ C rows in the whole table, for every statement. Where each row of the table is in one
measured row at most (`Owners.once`: conditions leave rows out, and joins along unique keys add none), a unit has no
more measured rows than rows in the table. So one with more than C is marked, with all its rows, which is all that the
proof asks of a mark. The same holds of rows that are kept apart, of files that are watched while they are open: from
them, read in place of the unit's table, the second sum's rows come. They say how many rows their unit has, so that
those for any C ≥ n are told. Where they are most rows, the first sum may be over the others alone, W·Σ φ over rows of
units with at most C, and the second Σ w·φ.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dpsql.frozen import quickly_made
from dpsql.privacy.measurement.contribution import Bound, Form
from dpsql.privacy.measurement.rounding import USUAL_ROWS
from dpsql.rewrite.emit.columns import identity, quoted
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.kept import HeavyRows
from dpsql.rewrite.emit.source import from_where
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.ir.relation import Relation

_FEWEST_SLOTS, _MOST_SLOTS = 2**10, 2**20
_FEWER = 4
"""Where so many times as many rows count as those have whose units are kept, few of these units are heavy."""
_SLOTS = 8
"""How many marks there are for each heavy unit that there can be, where as many rows are as the policy expects."""


@quickly_made
@dataclass(frozen=True, slots=True)
class HeavySum:
    """A sum over rows, and the column of the weights that belong to it."""

    text: str
    """Without the weights."""
    weight: str
    weighed: str
    """With them."""


@dataclass(frozen=True, slots=True)
class Marked:
    """How heavy units are told from others."""

    table: str | None
    """The member of WITH that marks them; None where the engine keeps the marks."""
    condition: str
    """That a row's unit is marked; where the statement marks them, its name is `u`."""
    unit: str = ""
    """The column that tells marked units apart, if there is a shorter one."""
    instead: str = ""
    """The table that their rows are read from in place of the one that names them, if they are kept apart."""
    in_full: str = ""
    """The table of what is summed in full, if that is another one."""
    no_more: str = ""
    """The condition for its rows."""
    overlap: str = ""
    """How often heavy units' rows are in that, if it is not once."""
    others: str = ""
    """The table of the rows of all other units, if they are kept apart, too."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """The values of each row, with names: `read` is made of columns, and `named` of that; without `read` all of columns."""

    named: Sequence[str]
    read: Sequence[str] = ()

    def read_twice(self, sums: Sequence[str]) -> bool:
        """Return whether some value `f0` … stands several times in the sums: engines compute it each time."""
        names = [name for text in sums for name in re.findall(r"\bf\d+\b", text)]
        return len(names) > len(set(names))


@dataclass(frozen=True, slots=True)
class UnitNumbers:
    """How many rows, or of what else, units have."""

    select: str
    """The SELECT of units and their numbers."""
    others: str
    """How many units there are besides, of which each has one row at most; nothing where all are in the SELECT."""


def marked(
    relation: Relation, where: Expr, rows: str, bound: Bound, emitter: Emitter, *, normed: bool
) -> Marked | None:
    """Return what marks the heavy units of `rows`; None to weigh every row.

    Of one table, rows that lack a value in a column which is summed or grouped by may be counted, too.
    """
    if bound.form is not Form.REWEIGHT:
        return None
    if bound.once and (kept := _kept(relation, bound, emitter)):
        return kept
    alone = len(relation.sources) == 1
    counted = from_where(replace(relation, needed=()), where, [], bound.unit, emitter) if alone else rows
    heavy = _SLOTS * (relation.expected_rows or USUAL_ROWS) // bound.rows
    slots = min(max(1 << heavy.bit_length(), _FEWEST_SLOTS), _MOST_SLOTS)
    unit = identity(bound.unit, emitter.dialect)
    if counted == rows:
        unit, counted = "u", "FROM r"
    marks = emitter.dialect.maybe_heavy(
        unit, bound.unit.type, counted, most=bound.rows, slots=slots, normed=normed, alone=alone
    )
    return None if marks is None else Marked(*marks)


def _kept(relation: Relation, bound: Bound, emitter: Emitter) -> Marked | None:
    """Return what the engine keeps of the units with more than C rows, if that is some."""
    place, name, kept = bound.unit.source, bound.unit.name, emitter.kept(bound.unit.table)
    if (mark := kept.heavy.get(name)) and mark.rows <= bound.rows:
        number = f"s{place}.{quoted(mark.column)}"
        return Marked(None, f"{number} IS NOT NULL", number)
    if (heavy := _rows_apart(relation, bound, emitter)) and heavy.rows <= bound.rows:
        count = f"s{place}.{quoted(heavy.count)}"
        number = f"s{place}.{quoted(heavy.number if bound.rows < _FEWER * heavy.rows else heavy.spread)}"
        more, no_more = f"{count} > {bound.rows}", f"{count} <= {bound.rows}"
        return Marked(None, more, number, heavy.table, heavy.in_full, no_more, heavy.overlap)
    return None


def _rows_apart(relation: Relation, bound: Bound, emitter: Emitter) -> HeavyRows | None:
    """Return the rows of units that are kept apart of the table whose rows name the unit."""
    unit = bound.unit
    kept = emitter.kept(unit.table).heavy_rows.get(unit.name)
    return kept if bound.once and relation.sources[unit.source].made is None else None


def of_several_rows(relation: Relation, bound: Bound, emitter: Emitter) -> Marked | None:
    """Return all rows of the units that have more than one in the whole table, if the engine keeps them apart."""
    kept = _rows_apart(relation, bound, emitter)
    if kept is None or kept.rows != 1:
        return None
    return Marked(None, "TRUE", f"s{bound.unit.source}.{quoted(kept.number)}", kept.table, others=kept.others)


def in_full(
    rows: str, names: Sequence[str], sums: Sequence[HeavySum], weight: int, widest: Callable[[str], str]
) -> str:
    """Return the SELECT of the sums by `names` in which every row weighs the same; without a limit of 64 bits."""
    parts = [f"{weight} * {widest(part.text)} AS s{i}" for i, part in enumerate(sums)]
    grouping = f" GROUP BY {', '.join(names)}" if names else ""
    return f"SELECT {', '.join([*names, *parts])} FROM {rows}{grouping}"


def correction(
    units: str, names: Sequence[str], sums: Sequence[HeavySum], weight: str, widest: Callable[[str], str]
) -> str:
    """Return the SELECT of what each unit's sums `s0` … are to weigh less, by `names`."""
    parts = [f"({part.weight} - {weight}) * {widest(f's{i}')}" for i, part in enumerate(sums)]
    return f"SELECT {', '.join([*names, *parts])} FROM {units}"


def correction_of_rows(rows: str, names: Sequence[str], sums: Sequence[HeavySum], weight: str) -> str:
    """Return the same SELECT over rows one by one, by each unit's weight in `h`.

    Where marks are kept no unit has to be found, and this takes a quarter of the time that sums by unit and key take.
    """
    parts = [f"{part.weighed} AS s{i}" for i, part in enumerate(sums)]
    grouping = f" GROUP BY {', '.join(names)}" if names else ""
    weights = [f"{name} - {weight} AS {name}" for name in sorted({part.weight for part in sums})]
    less = f"(SELECT hu, {', '.join(weights)} FROM h) AS h"
    return f"SELECT {', '.join([*names, *parts])} FROM {rows} JOIN {less} ON u = hu{grouping}"
