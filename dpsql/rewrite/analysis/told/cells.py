"""Facts about the rows of a group: the value that something has in all of them, where it has one.

day = 2024-03-05                   →  date_trunc('week', t) is 2024-03-04, t >= '2024-03-01' is true
zone = 132                         →  the borough of the zone is Queens, borough = 'Queens' is true
payment_type = 'cash'              →  payment_type IN ('cash', 'card') is true

Claim: engines find no other value in a row of the group. All values are tried that the columns can have of which the group's
keys are made, of times a moment in each unit that can be told apart, and nothing is computed that engines round.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dpsql.policy.model import Value
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.evaluate import evaluable
from dpsql.rewrite.analysis.occurring import can_be_tried, cases_of, tried_value
from dpsql.rewrite.analysis.told.lookups import FoundRow, Lookup
from dpsql.rewrite.functions.domains import Cell
from dpsql.rewrite.ir.expr import Const, Expr, Ref, refs
from dpsql.rewrite.ir.facts import Env
from dpsql.rewrite.ir.relation import Join

_MOST_CASES = 20_000
Item = Expr | Lookup
"""Things that have a value in each row: an expression, or whether a table has a matching row."""


class _Several(Exception):
    """One row would become several."""


@dataclass(frozen=True, slots=True)
class _Told:
    """The value of an item by some keys of a group."""

    keys: tuple[int, ...]
    values: Mapping[tuple[Cell, ...], Cell]


@dataclass(frozen=True, slots=True)
class GroupCells:
    """Groups by the values of their keys, and the facts about the columns of their rows."""

    keys: tuple[Expr, ...]
    groups: Sequence[tuple[Cell, ...]]
    env: Env
    """The facts about their columns."""
    declared: Declared
    """The facts about other columns."""
    lookups: tuple[Lookup, ...] = ()

    def of(self, item: Item) -> Sequence[Cell] | None:
        """Return the value that an item has in the rows of each group; None where it can have several, or is not known."""
        if isinstance(item, Const):
            return [item.value] * len(self.groups)
        if item in self.keys:
            place = self.keys.index(item)
            return [group[place] for group in self.groups]
        try:
            told = self._told(item)
        except _Several:
            return None
        if told is None:
            return None
        wanted = [tuple(group[i] for i in told.keys) for group in self.groups]
        return None if any(cells not in told.values for cells in wanted) else [told.values[cells] for cells in wanted]

    def _told(self, item: Item) -> _Told | None:
        """Return what an item is by the values of those keys that are made of its columns."""
        needed = self._needed(item)
        if needed is None:
            return None
        columns, lookups = needed
        places = tuple(i for i, key in enumerate(self.keys) if self._is_about(key, columns, lookups))
        if not places:
            return None
        exprs = [self.keys[i] for i in places]
        for key in exprs:  # what else keys are made of has to be tried as well
            needs = self._needed(key)
            if needs is None:
                return None
            columns, lookups = _merged(columns, needs[0]), _merged(lookups, needs[1])
        values: dict[tuple[Cell, ...], Cell] = {}
        cases = self._cases(columns, [*exprs, *([] if isinstance(item, Lookup) else [item])], lookups)
        if cases is None:
            return None
        for row in cases:
            cells, value = tuple(tried_value(key, row) for key in exprs), self._value(item, row)
            if values.setdefault(cells, value) != value:
                return None
        return _Told(places, values)

    def _value(self, item: Item, row: FoundRow) -> Cell:
        match item:
            case Lookup(join=Join.EXISTS | Join.NOT_EXISTS as join):
                return any(True for _ in item.joined_rows(row)) is (join is Join.EXISTS)
            case Lookup():
                count = len(list(item.joined_rows(row)))
                if count > 1:
                    raise _Several
                return count == 1
            case _:
                return tried_value(item, row) if set(refs(item)) <= row.keys() else None

    def _needed(self, item: Item) -> tuple[tuple[Ref, ...], tuple[Lookup, ...]] | None:
        """Return the columns of private rows from which an item follows, and the tables that it is read from, in order."""
        if isinstance(item, Lookup):
            if not item.is_known:
                return None
            read: tuple[Ref, ...] = item.finding
        else:
            read = refs(item)
        columns, lookups = dict[Ref, None](), tuple[Lookup, ...]()
        for ref in read:
            own = next((lookup for lookup in self.lookups if lookup.source == ref.source), None)
            if own is None and ref.public:
                return None
            if own is None:
                columns[ref] = None
                continue
            below = self._needed_by(own)
            if below is None:
                return None
            columns |= dict.fromkeys(below[0])
            lookups = _merged(lookups, below[1])
        return tuple(columns), lookups

    def _needed_by(self, own: Lookup) -> tuple[tuple[Ref, ...], tuple[Lookup, ...]] | None:
        if not own.is_known or any(ref.source >= own.source for ref in own.finding):
            return None
        needs = self._needed(own)
        return None if needs is None else (needs[0], _merged(needs[1], (own,)))

    def _is_about(self, key: Expr, columns: Sequence[Ref], lookups: Sequence[Lookup]) -> bool:
        sources = {lookup.source for lookup in lookups if not lookup.adds}
        return any(ref in columns or ref.source in sources for ref in refs(key))

    def _cases(
        self, columns: Sequence[Ref], exprs: Sequence[Expr], lookups: Sequence[Lookup]
    ) -> Iterator[FoundRow] | None:
        """Return rows of all kinds that these expressions can tell apart."""
        conditions = [*exprs, *(condition for lookup in lookups for condition in lookup.conditions)]
        alone = len(conditions) == len(columns) == 1 and isinstance(exprs[0], Ref)
        if not alone and not all(can_be_tried(condition) or _is_plain(condition) for condition in conditions):
            return None
        env = {**self.declared.env([ref for ref in columns if ref not in self.env]), **self.env}
        cases = [cases_of(ref, conditions, env) for ref in columns]
        listed = [case for case in cases if case is not None]
        if len(listed) < len(cases) or math.prod(map(len, listed)) > _MOST_CASES:
            return None
        return _found([dict(zip(columns, case, strict=True)) for case in itertools.product(*listed)], [*lookups])


def _is_plain(expr: Expr) -> bool:
    """Return whether an expression is a plain column, or compares such with constants."""
    return isinstance(expr, Ref) or (evaluable(expr) and all(ref.type.is_text for ref in refs(expr)))


def _merged(some: tuple, more: tuple) -> tuple:  # type: ignore[type-arg]
    return tuple(dict.fromkeys((*some, *more)))


def _found(rows: Sequence[FoundRow], lookups: Sequence[Lookup]) -> Iterator[FoundRow]:
    """Yield each row with the public rows that it finds; a row that has to find one and does not is none."""
    for row in rows:
        yield from _beside(row, lookups)


def _beside(row: FoundRow, lookups: Sequence[Lookup]) -> Iterator[FoundRow]:
    if not lookups:
        yield row
        return
    lookup, *others = lookups
    rows = list(lookup.joined_rows(row))
    if lookup.adds and len(rows) > 1 and lookup.join in {Join.INNER, Join.LEFT}:
        raise _Several
    missing: dict[Ref, Value | None] = dict.fromkeys(lookup.columns)
    if not rows and (lookup.join is Join.LEFT or lookup.adds):
        rows = [{**row, **missing}]  # that it has to have one is said by an item of its own
    for joined in rows:
        yield from _beside(joined, others)
