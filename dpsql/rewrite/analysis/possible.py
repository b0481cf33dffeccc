"""The groups that can have rows, once the answers to inner queries are there; the others are not shown.

It follows from released values and the policy alone; what was measured, and what it cost, was decided without them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.model import Value
from dpsql.rewrite.analysis.bounds import evaluable, evaluate, keeps
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.functions.logical import equation
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.expr import Expr, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.relation import Join, Relation

Shown = tuple[Cell, ...]
_Row = Mapping[Ref, Value | None]


def possible(keys: Sequence[Expr], relation: Relation, declared: DeclaredFacts) -> Callable[[Shown], bool]:
    """Return whether a group can have rows, by the values that are shown for its keys."""
    # FROM trips AS t JOIN (SELECT zone FROM trips GROUP BY 1 ORDER BY count(*) DESC LIMIT 3) AS top ON t.zone = top.zone
    # GROUP BY t.zone: of all declared zones the three are shown that were released. The others have no rows, but noise.
    joins = [_Answer.of(place, relation) for place, source in enumerate(relation.sources) if _is_list(source.table)]
    allowed = [(i, {_norm(c) for c in cells}) for i, k in enumerate(keys) for cells in _cells(k, joins, declared)]
    alone = _single(relation)
    told = [
        conjunct
        for conjunct in conjuncts(relation.where)
        if set(refs(conjunct)) & set(alone) and set(refs(conjunct)) <= {*alone, *keys}
    ]
    equated = [(join, [(i, x) for i, k in enumerate(keys) for x, v in join.equations if k == v]) for join in joins]

    def can_have_rows(group: Shown) -> bool:
        if any(_norm(group[i]) not in cells for i, cells in allowed):
            return False
        row = {**alone, **{key: cell for key, cell in zip(keys, group, strict=True) if isinstance(key, Ref)}}
        return all(keeps(condition, row) for condition in told) and all(
            join.finds({x: group[i] for i, x in pairs}) for join, pairs in equated if pairs
        )

    return can_have_rows


def _is_list(table: object) -> bool:
    return isinstance(table, ConstantTable) and table.awaited and not table.single


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer that was joined: its rows, with those of answers that have one row."""

    table: ConstantTable
    join: Join
    columns: Mapping[str, Ref]
    equations: Sequence[tuple[Ref, Expr]]
    """Its columns, and what of private rows each has to be equal to."""
    conditions: Sequence[Expr]
    single: _Row

    @classmethod
    def of(cls, place: int, relation: Relation) -> "_Answer":
        """Return what a relation joins at a place."""
        source = relation.sources[place]
        assert isinstance(source.table, ConstantTable)
        on = source.on if source.join is Join.LEFT else both(source.on, relation.where)
        sides = [pair for part in conjuncts(on) for pair in _both_ways(equation(part))]
        equations = [(a, b) for a, b in sides if isinstance(a, Ref) and a.source == place and not _of(b, place)]
        seen = refs(relation.where, source.on, *relation.columns.values(), *(a for a, _ in equations))
        columns = {ref.name: ref for ref in seen if ref.source == place}
        return cls(source.table, source.join, columns, equations, conjuncts(relation.where), _single(relation))

    def rows(self) -> Iterator[_Row]:
        """Yield its rows."""
        by_column = self.table.by_column
        names = [name for name in by_column if name in self.columns]
        for place, _ in enumerate(self.table.rows):
            yield {self.columns[name]: by_column[name][place] for name in names}

    def joined_rows(self, wanted: Mapping[Ref, Cell]) -> Iterator[_Row]:
        """Yield the rows that a private row with these values finds; for LEFT JOIN, where there is none, NULLs."""
        rows = [row for row in self.rows() if all(_equal(row[ref], cell) for ref, cell in wanted.items())]
        # A LEFT JOIN that finds no row goes on with NULLs, which a condition behind it may keep or not.
        missing: list[_Row] = [dict.fromkeys(self.columns.values())] if self.join is Join.LEFT else []
        for row in rows or missing:
            yield {**self.single, **row}

    def finds(self, wanted: Mapping[Ref, Cell]) -> bool:
        """Return whether such a private row can count."""
        sides = {x: wanted[ref] for ref, x in self.equations if ref in wanted and isinstance(x, Ref)}
        return any(self._keeps({**row, **sides}) for row in self.joined_rows(wanted))

    def _keeps(self, row: _Row) -> bool:
        return all(keeps(condition, row) for condition in self.conditions)

    def values(self, key: Expr, of: Ref, ref: Ref, cells: Collection[Cell]) -> Iterator[Cell]:
        """Yield what a key of an answer and of a column can be; `ref` is the answer's column that is equal to `of`."""
        for cell in cells:
            for row in self.joined_rows({ref: cell}):
                if self._keeps({**row, of: cell}):
                    yield evaluate(key, {**row, of: cell})


def _cells(key: Expr, joins: Sequence[_Answer], declared: DeclaredFacts) -> Iterator[Collection[Cell]]:
    """Yield the values that a key can have by each answer which, with one column that has few values, decides it."""
    for join in joins:
        theirs = set(join.columns.values())
        for ref, of in join.equations:
            # GROUP BY top.part, where top is found by t.zone: each zone that t can have is tried, and which part it finds.
            own = set(refs(key)) - theirs - set(join.single)
            if not isinstance(of, Ref) or of.source or own != {of} or not set(refs(key)) & theirs or not evaluable(key):
                continue
            column_facts = declared.facts_of(of)
            if column_facts.values is not None:
                nulls: tuple[Cell, ...] = (None,) if column_facts.nullable else ()
                yield set(join.values(key, of, ref, (*column_facts.values, *nulls)))


def _single(relation: Relation) -> _Row:
    """Return the values of answers that have one row."""
    row: dict[Ref, Value | None] = {}
    for ref in refs(relation.where):
        table = relation.sources[ref.source].table
        if isinstance(table, ConstantTable) and table.single:
            (row[ref],) = table.by_column[ref.name]
    return row


def _both_ways(sides: tuple[Expr, Expr] | None) -> Sequence[tuple[Expr, Expr]]:
    return () if sides is None else (sides, sides[::-1])


def _of(expr: Expr, place: int) -> bool:
    return any(ref.source >= place for ref in refs(expr))


def _equal(cell: Cell, other: Cell) -> bool:
    return cell is not None and _norm(cell) == _norm(other)


def _norm(cell: Cell) -> object:
    """Return a value as engines compare it."""
    return float(cell) if isinstance(cell, Fraction) else cell
