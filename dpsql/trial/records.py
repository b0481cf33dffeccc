"""Synthetic databases of a policy: units with no rows and with more than twice as many as count, rows of nobody, and dirt.

Nothing of them comes from records: they follow from the policy, from the rows of its public tables, and from which columns
the engine keeps unique.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from random import Random
from uuid import UUID

from dpsql.policy.model import Column, Policy, Reference, SqlType, Table, UniqueKey, UnitBound
from dpsql.rewrite.analysis.declared_facts import PublicRows
from dpsql.rewrite.ir.literal import format_value
from dpsql.trial.cells import CellPool, MadeUpCell, Style, unit_names

MOST_TRIED_ROWS = 32
"""Where more rows of a unit count, so many do in a trial."""
_NOBODYS, _FURTHER = 3, 6
_DIRTY = (0.1, 0.2)
_STYLES = ((Style.ABOVE, Style.ALIKE, Style.DIVERSE), (Style.DIVERSE, Style.ABOVE, Style.BELOW))
"""Of the units without which a database is looked at, which are the first."""
_PUBLIC = 12
"""How many values of a public column other columns may have."""
_KEYS = 400
"""Of how many keys of a public table the made-up rows point to some."""
MadeUpUnit = int | None


@dataclass(frozen=True, slots=True)
class MadeUpTable:
    """The rows of one table, and for each unit kind whose they are."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[MadeUpCell]]
    owners: Mapping[str, Sequence[MadeUpUnit]]
    """By unit kind, for each row; None: nobody's."""

    def rows_of(self, kind: str | None, unit: MadeUpUnit) -> Sequence[Sequence[MadeUpCell]]:
        """Return the rows of a unit of some kind."""
        owners = self.owners.get(kind or "", ())
        return [row for row, owner in zip(self.rows, owners, strict=False) if owner == unit]


# A reference that leads nowhere makes a row of nobody: one database has keys that are not there, the other has NULL.
_NOWHERE = (("99", "-1"), (None,))
"""References to no row, by database."""
REMOVED = (0, 1, 2)
"""The units without which each database is looked at."""


@dataclass(frozen=True, slots=True)
class MadeUpRecords:
    """One synthetic database."""

    kind: str
    """The unit kind for whose individuals its rows are made."""
    tables: Mapping[str, MadeUpTable]


def made_up_records(
    policy: Policy, public: PublicRows, unique: Mapping[str, frozenset[UniqueKey]]
) -> list[MadeUpRecords]:
    """Return some databases; `unique` says of each protected table which columns tell rows apart."""
    kinds = sorted({kind for table in policy.tables.values() for kind in table.units})
    return [
        MadeUpRecords(kind, _Maker(policy, public, unique, kind, world).tables())
        for kind in kinds
        for world in range(len(_STYLES))
    ]


def rows_of_each_unit(most: int, world: int) -> tuple[int, ...]:
    """Return how many rows each unit has where `most` count; those that are removed have one row, C, and more."""
    # What goes wrong with contribution bounds goes wrong at their edges: a unit with no row, one, C, C + 1, more than
    # 2C. The first three numbers are those of the units that are taken away (`REMOVED`).
    c = min(most, MOST_TRIED_ROWS)
    return ((c, 1, 2 * c + 3, c + 1, 2, 0), (2 * c + 1, c + 1, 4 * c + 3, 0, 1, 3))[world]


@dataclass(slots=True)
class _Maker:
    """Makes the tables of one database, each behind those that it points to."""

    policy: Policy
    public: PublicRows
    unique: Mapping[str, frozenset[UniqueKey]]
    kind: str
    world: int
    made: dict[str, MadeUpTable] = field(default_factory=dict)

    def tables(self) -> Mapping[str, MadeUpTable]:
        """Make them all."""
        for table in self.policy.tables.values():
            self._make(table, ())
        return self.made

    def _make(self, table: Table, above: tuple[str, ...]) -> None:
        # Tables may point to each other in a circle: then the first of them that is made has references to nothing.
        if table.public or table.name in self.made or table.name in above:
            return
        for target in (*(r.table for r in _references(table)), *table.references):
            self._make(self.policy.tables[target], (*above, table.name))
        # Random, and the same after each restart: a form that has passed is not tried on other people, and one that has
        # failed fails again in the same way, so that its reason can be looked for.
        self.made[table.name] = self._filled(table, Random(f"{self.kind} {self.world} {table.name}"))  # noqa: S311  (synthetic records)

    def _filled(self, table: Table, draw: Random) -> MadeUpTable:
        numbers = {kind: list(self._numbered(table, kind, draw)) for kind in table.units}
        size = max(map(len, numbers.values()), default=rows_of_each_unit(1, self.world)[0] + 8)
        # A table of two kinds of units has as many rows as the kind that needs more: for the other kind the rest is
        # nobody's, or a further unit's, which is never taken away.
        owners: dict[str, Sequence[MadeUpUnit]] = {
            kind: _padded(own, size, (None, _FURTHER) if self._has_nobodys(table.units[kind]) else (_FURTHER,))
            for kind, own in numbers.items()
        }
        first = owners.get(self.kind, next(iter(owners.values()), [None] * size))
        cells = {
            name: self._column(column, first, draw, nulls=place % 2 == self.world)
            for place, (name, column) in enumerate(table.columns.items())
        }
        # One column may say whose a row is for two kinds: a visit's patient, and the household through the patient. What
        # is written last counts, so it is that of the kind whose individuals are taken away.
        for kind in sorted(table.units, key=lambda kind: kind == self.kind):
            self._name_units(table, kind, cells, owners, draw)
        self._point(table, cells, draw)
        for key in self._keys(table):
            self._tell_apart(table, key, cells)
        kept = self._kept(table, cells)
        names = tuple(table.columns)
        rows = [tuple(cells[name][n] for name in names) for n in kept]
        return MadeUpTable(names, rows, {kind: [own[n] for n in kept] for kind, own in owners.items()})

    def _numbered(self, table: Table, kind: str, draw: Random) -> Sequence[MadeUpUnit]:
        """Return whose the rows of a table are to be."""
        bound = table.units[kind]
        numbers = rows_of_each_unit(bound.max_rows, self.world)
        if frozenset(bound.columns) in self._keys(table):
            numbers = (1,) * len(numbers)
        units: list[MadeUpUnit] = [unit for unit, number in enumerate(numbers) for _ in range(number)]
        units += [None] * (_NOBODYS if self._has_nobodys(bound) else 0)
        # Rows of one unit side by side would hide that a statement depends on their order.
        draw.shuffle(units)
        return units

    def _has_nobodys(self, bound: UnitBound) -> bool:
        """Return whether rows of nobody are there; where units are named, in the first database only.

        Engines treat columns in which nothing is missing in another way, so that each is to be met with and without NULL.
        """
        return self.world == 0 or bound.through is not None

    def _column(self, column: Column, owners: Sequence[MadeUpUnit], draw: Random, *, nulls: bool) -> list[MadeUpCell]:
        """Return cells of a column in rows of some owners."""
        cells = CellPool.of(column, self._pointed_to(column), self._found_elsewhere(column), draw, nulls=nulls)
        styles, share = _STYLES[self.world], _DIRTY[self.world]
        seen, number = Counter[MadeUpUnit](), Counter(owners)
        several = max(number.values(), default=0) > 1
        made_up_cells: list[MadeUpCell] = []
        for owner in owners:
            style = styles[owner] if owner is not None and owner < len(styles) else Style.ALIKE
            # Dirt in the only row of an individual would keep it out of joins, and nobody would see it removed.
            dirt = 0.0 if several and number[owner] == 1 else share
            made_up_cells.append(cells.cell(len(styles) if owner is None else owner, seen[owner], style, draw, dirt))
            seen[owner] += 1
        return made_up_cells

    def _found_elsewhere(self, column: Column) -> Sequence[MadeUpCell]:
        """Return what stands in public tables and may be compared with a column that does not point there."""
        if column.values is not None or column.references is not None:
            return ()
        made_up_cells: dict[MadeUpCell, None] = {}
        for table in self.policy.tables.values():
            for other in table.columns.values() if table.public else ():
                if other.type.is_text == column.type.is_text and other.type.is_number == column.type.is_number:
                    some = self.public[table.name][other.name][:_PUBLIC]
                    made_up_cells |= {format_value(value, other.type): None for value in some if value is not None}
        return [*made_up_cells]

    def _pointed_to(self, column: Column) -> Sequence[MadeUpCell]:
        target = column.references
        if target is None or target.further:
            return ()
        if target.public:
            target_column = self.policy.tables[target.table].columns[target.column]
            keys = self.public.get(target.table, {}).get(target.column, ())[:_KEYS]
            return [format_value(key, target_column.type) for key in keys if key is not None]
        return [cell for cell in self._cells(target.table, target.column) if cell is not None]

    def _cells(self, table: str, column: str) -> Sequence[MadeUpCell]:
        made = self.made.get(table)
        return () if made is None else [row[made.columns.index(column)] for row in made.rows]

    def _name_units(
        self,
        table: Table,
        kind: str,
        cells: dict[str, list[MadeUpCell]],
        owners: dict[str, Sequence[MadeUpUnit]],
        draw: Random,
    ) -> None:
        """Write its owner into each row, or a reference to it; a unit with nothing there to point to has no row."""
        bound = table.units[kind]
        if bound.through is None:
            names = unit_names(table.columns[bound.column], sparse=self.world == 0)
            cells[bound.column] = [
                None if unit is None else draw.choice(names[unit % len(names)]) for unit in owners[kind]
            ]
            return
        made = self.made.get(bound.through.table)
        theirs: dict[MadeUpUnit, list[tuple[MadeUpCell, ...]]] = {}
        if made is not None:
            places = [made.columns.index(name) for name in bound.through.columns]
            for row, owner in zip(made.rows, made.owners[kind], strict=True):
                theirs.setdefault(owner, []).append(tuple(row[place] for place in places))
        own: list[MadeUpUnit] = []
        for n, unit in enumerate(owners[kind]):
            own_keys = theirs.get(unit)
            key = draw.choice(own_keys) if own_keys else tuple(draw.choice(_NOWHERE[self.world]) for _ in bound.columns)
            # A key to nowhere may be somebody's after all, by chance: then the row is theirs, or it would go unnoticed
            # when they go.
            own.append(unit if own_keys else next((o for o, keys in theirs.items() if key in keys), None))
            for name, cell in zip(bound.columns, key, strict=True):
                cells[name][n] = cell
        owners[kind] = own

    def _point(self, table: Table, cells: dict[str, list[MadeUpCell]], draw: Random) -> None:
        """Let several columns together point to keys of other tables, in most rows."""
        units = {name for bound in table.units.values() for name in bound.columns}
        for target, columns in table.references.items():
            made = self.made.get(target)
            if made is None or not made.rows or units & columns.keys():
                continue
            for n in range(len(next(iter(cells.values())))):
                row = draw.choice(made.rows)
                if draw.random() > _DIRTY[self.world]:
                    for mine, theirs in columns.items():
                        cells[mine][n] = row[made.columns.index(theirs)]

    def _keys(self, table: Table) -> frozenset[UniqueKey]:
        """Return which columns tell rows apart: as the engine keeps them, as declared, and what others point to."""
        to = frozenset(
            frozenset(reference.columns)
            for other in self.policy.tables.values()
            for reference in _references(other)
            if reference.table == table.name
        )
        return self.unique.get(table.name, frozenset()) | table.keys | to

    def _tell_apart(self, table: Table, key: UniqueKey, cells: dict[str, list[MadeUpCell]]) -> None:
        """Give a column of a key that says nothing of units a value of its own in each row, if it may have so many."""
        naming = {name for bound in table.units.values() for name in bound.columns}
        for name in sorted(key - naming):
            column, size = table.columns.get(name), len(cells[name])
            if column is None or column.references is not None or column.values is not None:
                continue
            if column.bounds is not None and column.bounds.width < size:
                continue
            first = 1 if column.bounds is None else int(column.bounds.low)
            if column.type is SqlType.UUID:
                cells[name] = [str(UUID(int=n)) for n in range(size)]
            elif column.type.is_integer or column.type is SqlType.TEXT:
                cells[name] = [str(first + n) for n in range(size)]
            else:
                continue
            return

    def _kept(self, table: Table, cells: Mapping[str, Sequence[MadeUpCell]]) -> list[int]:
        """Return the places of the rows that are left where keys tell all of them apart."""
        seen: Counter[tuple[UniqueKey, tuple[MadeUpCell, ...]]] = Counter()
        kept: list[int] = []
        keys = [key for key in self._keys(table) if key <= cells.keys()]
        for n in range(len(next(iter(cells.values()), []))):
            keyed = [(key, tuple(cells[name][n] for name in sorted(key))) for key in keys]
            # As constraints do it: rows with NULL in a key are equal to none, and may be many.
            complete = [pair for pair in keyed if None not in pair[1]]
            if not any(seen[pair] for pair in complete):
                seen.update(complete)
                kept.append(n)
        return kept


def _padded(owners: Sequence[MadeUpUnit], size: int, others: Sequence[MadeUpUnit]) -> list[MadeUpUnit]:
    """Return owners for so many rows: `others` have those that are too many."""
    return [*owners, *islice(cycle(others), size - len(owners))]


def _references(table: Table) -> Iterator[Reference]:
    """Yield where a table's columns point to, and what says whose its rows are."""
    yield from (column.references for column in table.columns.values() if column.references is not None)
    yield from (bound.through for bound in table.units.values() if bound.through is not None)
