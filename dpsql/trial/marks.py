"""How heavy units are told from others: that all with more than so many rows are marked, with all their rows.

    a list:   WITH heavy AS (SELECT u // 2 AS u FROM … GROUP BY 1 HAVING count(*) > 9) … WHERE u // 2 IN (SELECT u FROM heavy)
    bits:     WITH heavy AS (SELECT … AS bits …) … WHERE get_bit((SELECT bits FROM heavy), (hashint8(u) & 2047)::bigint) = 1
    kept:     … FROM kept."trips by passenger_id" AS s0 WHERE s0."dpsql 3" > 20

Claim for the bits: the bit of each unit that is listed is set. In a word of 32 bits, which `int4send` writes from the highest
byte on, `get_bit` reads place p as the bit p # 24 of the number: its byte is p / 8 from the left, and in it the bit is p % 8
from the right. Each unit is in one half of the list, with all its rows: they have one hash.

Claim for what is kept, by what the engine promises (`rewrite.emit.kept`): those are all rows of the units with more than so
many, with the number of these units' rows in the whole table. Where no join makes several rows of one, no unit has more.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from dpsql.rewrite.emit.columns import quoted
from dpsql.rewrite.emit.kept import HeavyRows
from dpsql.trial.column_bounds import NotProvedError
from dpsql.trial.contained_rows import has_all_rows
from dpsql.trial.statement_parts import (
    RowsRead,
    conditions_of,
    every_condition,
    is_by_first,
    listed_above,
    projected,
    tables_of,
)
from dpsql.trial.summed import is_text

_NOT_IN_HALVES = ("limit", "offset", "distinct", "group", "having", "qualify", "laterals", "sample")


@dataclass(frozen=True, slots=True)
class KeptUnits:
    """Rows of heavy units that an engine keeps apart, and the column that names the units."""

    rows: HeavyRows
    unit: str


@dataclass(frozen=True, slots=True)
class HeavyMarks:
    """The marks of one statement."""

    heavy: exp.Select | None
    """The member of WITH that marks units, if there is one."""
    rows: RowsRead
    """The rows that are summed in full."""
    read: Callable[[exp.Expr], RowsRead]
    """Reads the rows of a subquery."""
    kept: Mapping[str, KeptUnits]
    """The engine's kept units, by the name of the rows in full."""

    def above(self, heavy_rows: exp.Expr, needed: Collection[str]) -> int:
        """Return k: of units with more than k rows all rows are these, and no others', with the same columns.

        Raises:
            NotProvedError: it can't be seen.
        """
        plain = heavy_rows.copy()
        if self.heavy is None:
            above = self._kept(plain)
        else:
            marks = [condition for condition in every_condition(plain.this) if _reads(condition, "heavy")]
            if len(marks) != 1:
                raise NotProvedError
            above = self._listed(marks[0]) if isinstance(marks[0], exp.In) else self._in_bits(marks[0])
            marks[0].replace(exp.true())
        rows = self.read(plain)
        if not rows.same_rows(self.rows) or any(rows.definitions[n] != self.rows.definitions[n] for n in needed):
            raise NotProvedError
        return above

    def overlap(self) -> str:
        """Return how often heavy units' rows are among those in full, as a factor of a text."""
        kept = self._of_rows()
        return f" * {kept.rows.overlap}" if self.heavy is None and kept is not None else ""

    def _listed(self, mark: exp.In) -> int:
        """Return k of a list of units, or of what is the same for the rows of a unit."""
        listed = mark.args.get("query")
        if listed is None or not is_text(listed, "SELECT u FROM heavy") or self.heavy is None:
            raise NotProvedError
        of = projected(self.heavy)["u"]
        if mark.this != of or {column.sql() for column in of.find_all(exp.Column)} != {self.rows.unit}:
            raise NotProvedError
        self._see_rows(self.heavy)
        return listed_above(self.heavy)

    def _in_bits(self, mark: exp.Expr) -> int:
        """Return k of a list of units in two halves, each of which sets a bit."""
        places = list(mark.find_all(exp.BitwiseAnd))
        lists = [subquery for subquery in (self.heavy or exp.Select()).find_all(exp.Subquery) if subquery.alias == "l"]
        if len(places) != 1 or len(lists) != 1 or not places[0].expression.is_int or self.heavy is None:
            raise NotProvedError
        hashed, most = places[0].this.sql("postgres"), int(places[0].expression.name)
        if {column.sql() for column in places[0].this.find_all(exp.Column)} != {self.rows.unit} or most % 32 != 31:
            raise NotProvedError
        bit, whole = self.heavy.copy(), _parsed(self.rows.unit)
        next(subquery for subquery in bit.find_all(exp.Subquery) if subquery.alias == "l").replace(exp.to_table("l"))
        of_u = places[0].this.transform(lambda node: exp.column("u") if node == whole else node).sql("postgres")
        words = f"SELECT ({of_u} & {most}) >> 5 AS i, bit_or(1 << (({of_u} & 31) # 24)) AS b FROM l GROUP BY 1"  # noqa: S608  # only compared
        made = (
            "SELECT string_agg(int4send(coalesce(b, 0)), ''::bytea ORDER BY i) AS bits"  # noqa: S608  # only compared
            f" FROM generate_series(0, {most // 32}) AS i LEFT JOIN ({words}) AS x USING (i)"
        )
        test = f"get_bit((SELECT bits FROM heavy), ({hashed} & {most})::bigint) = 1"  # noqa: S608  # only compared
        if not is_text(bit, made, "postgres") or not is_text(mark, test, "postgres"):
            raise NotProvedError
        halves = lists[0].this
        if not isinstance(halves, exp.Union) or halves.args.get("distinct"):
            raise NotProvedError
        values = {
            self._half(half, f"{hashed} {which}") for half, which in ((halves.left, "< 0"), (halves.right, ">= 0"))
        }
        if len(values) != 1:
            raise NotProvedError
        return values.pop()

    def _half(self, half: exp.Expr, which: str) -> int:
        """Return k of the units in one half of the list: those of which a condition holds that is of the unit alone."""
        inner = half.args["from_"].this.this if isinstance(half, exp.Select) else None
        if not isinstance(half, exp.Select) or not isinstance(inner, exp.Select):
            raise NotProvedError
        halved = [condition for condition in every_condition(inner) if is_text(condition, which, "postgres")]
        if len(halved) != 1 or not is_text(projected(inner)["u"], self.rows.unit, "postgres"):
            raise NotProvedError
        above = listed_above(half)
        plain = half.copy()
        plain.set("having", None)
        plain.set("from_", exp.From(this=exp.to_table("a")))
        if not is_text(plain, "SELECT u FROM a GROUP BY u", "postgres"):
            raise NotProvedError
        if any(inner.args.get(part) for part in _NOT_IN_HALVES):
            raise NotProvedError
        rows = inner.copy()
        next(condition for condition in every_condition(rows) if is_text(condition, which, "postgres")).replace(
            exp.true()
        )
        self._see_rows(rows, grouped=False)
        return above

    def _see_rows(self, listed: exp.Select, *, grouped: bool = True) -> None:
        """See that rows are counted for the list that hold all those that are summed."""
        tables = tables_of(listed)
        more = conditions_of(listed) - {"TRUE"}
        if not more <= self.rows.conditions or (grouped and not is_by_first(listed)):
            raise NotProvedError
        if tables != self.rows.text and not has_all_rows(listed, self.rows.text, self.rows.conditions):
            raise NotProvedError

    def _of_rows(self) -> KeptUnits | None:
        return next(
            (kept for name, kept in self.kept.items() if f"{self.rows.text} ".startswith(f"FROM {name} AS s0 ")), None
        )

    def _kept(self, heavy_rows: exp.Expr) -> int:
        """Return k of rows that are kept apart; make of them those in full, in place."""
        kept = self._of_rows()
        if kept is None or not self.rows.once:
            raise NotProvedError
        own, names = kept.rows, (kept.rows.number, kept.rows.spread, kept.rows.count)
        conditions = [condition for condition in every_condition(heavy_rows.this) if _is_of(condition, own.count)]
        if len(conditions) != 1 or not isinstance(conditions[0], exp.GT) or not conditions[0].expression.is_int:
            raise NotProvedError
        more = int(conditions[0].expression.name)
        count = f"s0.{quoted(own.count)}"
        if more < own.rows or not is_text(conditions[0], f"{count} > {more}"):
            raise NotProvedError
        if sum(_is_of(text, name) for text in self.rows.definitions.values() for name in names):
            raise NotProvedError
        conditions[0].replace(_parsed(f"{count} <= {more}"))
        tables = [kept_table for kept_table in heavy_rows.find_all(exp.Table) if kept_table.alias == "s0"]
        if [kept_table.sql() for kept_table in tables] != [f"{own.table} AS s0"]:
            raise NotProvedError
        for table in tables:
            table.replace(exp.alias_(_parsed(f"SELECT 1 FROM {own.in_full}").args["from_"].this, "s0", table=True))  # noqa: S608  # only compared
        units = [column for column in heavy_rows.find_all(exp.Column) if column.name in (own.number, own.spread)]
        if len(units) != 1:
            raise NotProvedError
        units[0].replace(_parsed(f"s0.{quoted(kept.unit)}"))
        return more


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="duckdb")


def _reads(tree: exp.Expr, name: str) -> bool:
    return any(table.name == name for table in tree.find_all(exp.Table))


def _is_of(tree: exp.Expr | str, name: str) -> bool:
    """Return whether a column of this name is in a part of a statement."""
    if isinstance(tree, str):
        return quoted(name) in tree
    return any(column.name == name for column in tree.find_all(exp.Column))
