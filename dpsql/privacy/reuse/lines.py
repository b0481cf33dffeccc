"""Released groups as parts of wanted ones, and the groups in which a condition holds of every row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.narrowing import narrowed
from dpsql.rewrite.analysis.told.cells import GroupCells
from dpsql.rewrite.analysis.told.same_rows import AmongRows
from dpsql.rewrite.functions.domains import Cell
from dpsql.rewrite.functions.normal_form import normal_form
from dpsql.rewrite.ir.expr import Expr, both, refs
from dpsql.rewrite.ir.relation import Join

Lines = tuple[tuple[int, ...], ...]
"""For each group that is wanted, the places of released ones that it is made of."""
Conditions = frozenset[Expr]


@dataclass(frozen=True, slots=True)
class GroupLines:
    """The facts about how a measurement's rows are among another's."""

    among: AmongRows
    cells: GroupCells
    places: Sequence[int | None]
    """For each released group, which wanted one its rows are in; None for none."""
    number: int
    """The wanted groups."""

    @classmethod
    def of(
        cls, among: AmongRows, wanted: Sums | Histogram, told: Sums | Histogram, declared: Declared
    ) -> "GroupLines | None":
        """Build from how rows are among others; None where groups do not tell in which wanted ones their rows are."""
        keys = tuple(key.expr for key in told.groups.keys)
        env = narrowed(refs(*keys), both(*among.told), declared)
        if env is None or len(told.groups.shown) != len(told.groups.grouped):
            return None
        cells = GroupCells(keys, told.groups.shown, env, declared, among.lookups)
        columns = []
        for key in wanted.groups.keys:
            values = cells.of(among.renamed(key.expr))
            if values is None:
                return None
            columns.append(values)
        place = _places(wanted.groups.shown)
        if place is None:
            return None
        shown = zip(*columns, strict=True) if columns else [()] * len(told.groups.shown)
        return cls(among, cells, [place.get(key) for key in shown], len(wanted.groups.shown))

    def conditions(self, *more: Expr) -> Conditions:
        """Return what holds of wanted rows, and more, and is not said by the release's own rows."""
        renamed = normal_form(*map(self.among.renamed, more))
        return (self.among.every | renamed) - self.among.told

    def of_rows(self, conditions: Conditions) -> tuple[Lines, Conditions] | None:
        """Return the groups in whose rows conditions hold, by wanted group, and the conditions that groups do not decide."""
        kept, left = [True] * len(self.places), set[Expr]()
        items = [lookup for lookup in self.among.lookups if lookup.adds and lookup.join is not Join.LEFT]
        for item in items:
            values = self.cells.of(item)
            if values is None:
                return None
            kept = [k and v is True for k, v in zip(kept, values, strict=True)]
        for condition in conditions:
            values = self.cells.of(condition)
            if values is None:
                left.add(condition)
            else:
                kept = [k and v is True for k, v in zip(kept, values, strict=True)]
        lines: list[list[int]] = [[] for _ in range(self.number)]
        for place, (group, keep) in enumerate(zip(self.places, kept, strict=True)):
            if keep and group is not None:
                lines[group].append(place)
        return tuple(map(tuple, lines)), frozenset(left)


def _places(groups: Sequence[tuple[Cell, ...]]) -> Mapping[tuple[Cell, ...], int] | None:
    """Return the place of each group by its keys; None where two look the same."""
    place_of = {group: place for place, group in enumerate(groups)}
    return place_of if len(place_of) == len(groups) else None
