"""Heavy units' rows, weighed apart from all rows in full: that none is missed, and that no unit has more than its share."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import sqlglot
from sqlglot import exp

from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import HeavyRows
from dpsql.trial.row_contribution import (
    FULL_WEIGHT,
    NotProvedError,
    RowNorm,
    RowsRead,
    Summand,
    conditions_of,
    every_condition,
    grouped_by,
    having_threshold,
    is_by_first,
    is_column,
    is_member,
    is_text,
    require_plain_select,
    select_columns,
    tables_of,
    weight_of,
    without_cast,
    without_parens,
)

# Whether one SELECT has all rows of another, which reads more columns and leaves out more rows.
#
#     SELECT s0."unit" AS u FROM (SELECT s0."rider" AS "unit" FROM rides AS s0) AS s0
#   has all of SELECT s0."unit" AS u … FROM (SELECT s0."rider" AS "unit", s0."fare" AS "fare" FROM rides AS s0 WHERE …) AS s0
#
# Claim: what is in the second is in the first, as often. Proof, from inside out: both read the same tables, joined by the
# same conditions; the first asks nothing that the second does not ask, of columns that are computed alike. Rows that are
# joined by LEFT JOIN, or grouped, counted or told apart, are read in the very same words: with more rows there could be
# others. A window leaves no row out, and what it computes is not asked for.

_OF_ROWS = frozenset({"expressions", "from_", "joins", "where"})


def has_all_rows(first: exp.Select, from_: str, conditions: frozenset[str]) -> bool:
    """Return whether a SELECT has all rows of FROM with its joins, a text, and conditions."""
    asked = conditions_of(first) - {"TRUE"}
    one, other = (sqlglot.parse_one(text) for text in (first.sql(), f"SELECT 1 {from_}"))
    if not isinstance(one, exp.Select) or not isinstance(other, exp.Select):
        return False
    return asked <= conditions and _reads_all(one, other, _columns_in(one))


def _reads_all(first: exp.Select, second: exp.Select, used: Collection[tuple[str, str]]) -> bool:
    """Return whether the FROM of a SELECT has all rows of that of another, with these columns alike."""
    joins, others = first.args.get("joins") or [], second.args.get("joins") or []
    if len(joins) != len(others):
        return False
    for join, other in zip(joins, others, strict=True):
        plain, same = join.copy(), other.copy()
        for each in (plain, same):
            each.set("this", exp.to_table("t"))
        if plain != same or (join.side and join.this != other.this):
            return False
    used = {*used, *((column.table, column.name) for join in joins for column in join.find_all(exp.Column))}
    pairs = [(first.args["from_"].this, second.args["from_"].this)]
    pairs += [(join.this, other.this) for join, other in zip(joins, others, strict=True)]
    return all(
        _has_all(mine, theirs, {name for table, name in used if table in ("", mine.alias)}) for mine, theirs in pairs
    )


def _has_all(first: exp.Expr, second: exp.Expr, used: Collection[str]) -> bool:
    """Return whether an element of FROM has all rows of another."""
    if first == second:
        return True
    if not isinstance(first, exp.Subquery) or not isinstance(second, exp.Subquery) or first.alias != second.alias:
        return False
    return _is_all(first.this, second.this, used)


def _is_all(first: exp.Expr, second: exp.Expr, used: Collection[str]) -> bool:
    """Return whether a query has all rows of another, with the columns in use computed alike."""
    first, second = without_parens(first), without_parens(second)
    if isinstance(first, exp.Union) and isinstance(second, exp.Union):
        whole = {name for union in (first, second) for name, part in union.args.items() if part}
        return (
            whole <= {"this", "expression", "distinct"}
            and not any(u.args.get("distinct") for u in (first, second))
            and (_is_all(first.left, second.left, used) and _is_all(first.right, second.right, used))
        )
    if not isinstance(first, exp.Select) or not isinstance(second, exp.Select):
        return False
    given = {name for select in (first, second) for name, part in select.args.items() if part}
    if (
        any(_makes_rows(output) for select in (first, second) for output in select.expressions)
        or given - _OF_ROWS
        or not conditions_of(first) - {"TRUE"} <= conditions_of(second)
    ):
        return False
    own, theirs = select_columns(first), select_columns(second)
    starred = {alias for select in (own, theirs) for alias in select if alias == "*"}
    below = _columns_in(first, outputs=False)
    for name in used:
        mine, other = own.get(name), theirs.get(name)
        if mine is None and other is None and starred:
            below |= {(first.args["from_"].this.alias, name)}
            continue
        if mine is None or mine != other or mine.find(exp.Window):
            return False
        below |= {(column.table, column.name) for column in mine.find_all(exp.Column)}
    return _reads_all(first, second, below)


def _makes_rows(output: exp.Expr) -> bool:
    """Return whether an output makes one row of several, or several of one."""
    several = output.find(exp.ExplodingGenerateSeries, exp.Explode, exp.GenerateSeries, exp.UDTF) is not None
    calls = output.find_all(exp.AggFunc)
    return several or any(
        call.find_ancestor(exp.Window, exp.Select) is output.find_ancestor(exp.Select) for call in calls
    )


def _columns_in(select: exp.Select, *, outputs: bool = True) -> set[tuple[str, str]]:
    """Return the columns, with their tables, in a SELECT's own conditions, and in its outputs."""
    where = select.args.get("where")
    parts = [*(select.expressions if outputs else ()), *([] if where is None else [where])]
    return {(column.table, column.name) for part in parts for column in part.find_all(exp.Column)}


# How heavy units are told from others: that all with more than so many rows are marked, with all their rows.
#
#   a list:   WITH heavy AS (SELECT u // 2 AS u FROM … GROUP BY 1 HAVING count(*) > 9) … WHERE u // 2 IN (SELECT u FROM heavy)
#     bits:     WITH heavy AS (SELECT … AS bits …) … WHERE get_bit((SELECT bits FROM heavy), (hashint8(u) & 2047)::bigint) = 1
#     kept:     … FROM kept."trips by passenger_id" AS s0 WHERE s0."dpsql 3" > 20
#
# Claim for the bits: the bit of each unit that is listed is set. In a word of 32 bits, which `int4send` writes from the
# highest byte on, `get_bit` reads place p as the bit p # 24 of the number: its byte is p / 8 from the left, and in it the bit
# is p % 8 from the right. Each unit is in one half of the list, with all its rows: they have one hash.
#
# Claim for what is kept, by what the engine promises (`rewrite.emit.kept_columns`): those are all rows of the units with
# more than so many, with the number of these units' rows in the whole table. Where no join makes several rows of one, no
# unit has more.

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
        of = select_columns(self.heavy)["u"]
        if mark.this != of or {column.sql() for column in of.find_all(exp.Column)} != {self.rows.unit}:
            raise NotProvedError
        self._require_rows(self.heavy)
        return having_threshold(self.heavy)

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
        if len(halved) != 1 or not is_text(select_columns(inner)["u"], self.rows.unit, "postgres"):
            raise NotProvedError
        above = having_threshold(half)
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
        self._require_rows(rows, grouped=False)
        return above

    def _require_rows(self, listed: exp.Select, *, grouped: bool = True) -> None:
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
        count = f"s0.{quote_name(own.count)}"
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
        units[0].replace(_parsed(f"s0.{quote_name(kept.unit)}"))
        return more


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="duckdb")


def _reads(tree: exp.Expr, name: str) -> bool:
    return any(table.name == name for table in tree.find_all(exp.Table))


def _is_of(tree: exp.Expr | str, name: str) -> bool:
    """Return whether a column of this name is in a part of a statement."""
    if isinstance(tree, str):
        return quote_name(name) in tree
    return any(column.name == name for column in tree.find_all(exp.Column))


_LONG = 2**62
_SUMMED = f"CAST(least(sum({{size}}), {_LONG}) AS BIGINT)"
_MEAN = "CAST(sum({size}) // count(*) AS BIGINT) + 1"


@dataclass(frozen=True, slots=True)
class HeavyApart:
    """Heavy units' rows, weighed apart."""

    ctes: Mapping[str, exp.Select]
    rows: RowsRead
    sums: Mapping[str, Summand]
    select: exp.Select
    """The rows that are added for them."""
    keys: Sequence[str]
    norm: RowNorm
    marks: HeavyMarks

    def moved(self) -> Fraction:
        """Return how far a unit moves all groups together.

        Raises:
            NotProvedError: it can't be seen.
        """
        parts, weights = self.ctes.get("p"), self.ctes.get("h")
        if weights is None or set(self.ctes) - {"heavy", "p", "h"}:
            raise NotProvedError
        if parts is None:
            return self._row_by_row(weights) * self.norm.largest(())
        for select in (parts, weights, inner_of(weights)):
            require_plain_select(select)
        require_plain_select(self.select, joins=True)
        listed = self.marks.above(parts.args["from_"].this, self._needed)
        self._require_same_sums(parts, weights)
        by_v = {name for name, weight in self._weighed() if weight == "v"}
        inner = inner_of(weights)
        most, least, number = weight_of(select_columns(inner)["w"])
        if not any(is_text(number, text) for text in ("n", "CAST(SUM(n) AS BIGINT)")) and not (
            is_text(number, f"CAST(least(sum(n), {_LONG}) AS BIGINT)")
        ):
            raise NotProvedError
        counted = is_text(select_columns(parts)["n"], "count(*)")
        norm = 1 if counted else self._largest_size(select_columns(parts)["n"], set(self.sums), _SUMMED)
        if most != least * FULL_WEIGHT or least % norm or least // norm < listed:
            raise NotProvedError
        if by_v:
            self._require_second_weight(weights, inner, parts, by_v)
        return Fraction(most, norm) * self.norm.largest(by_v)

    @property
    def _needed(self) -> Collection[str]:
        """Return the columns that are read of rows: groups, what is summed, and what decides whether it is."""
        return {
            *self.keys,
            *(column for summed in self.sums.values() for column in (*summed.columns, *summed.decided_by)),
        }

    def _row_by_row(self, weights: exp.Select) -> Fraction:
        """Return how many rows' worth a unit has where heavy units' rows are weighed one by one.

        WITH h AS (SELECT … AS hu, CAST(M // greatest(count(*), C) AS …) AS w FROM … GROUP BY 1) …
        SELECT k0, sum(w * f0) AS s0 FROM (…) AS r JOIN (SELECT hu, w - W AS w FROM h) AS h ON u = hu GROUP BY k0
        """
        require_plain_select(self.select, joins=True)
        (join,) = self.select.args.get("joins") or [exp.Join()]
        less = f"SELECT hu, w - {FULL_WEIGHT}{self.marks.overlap()} AS w FROM h"  # noqa: S608  # only compared
        if join.side or not is_text(join.args.get("on"), "u = hu") or not is_text(_unnamed(join.this), less):
            raise NotProvedError
        most, least, number = weight_of(select_columns(weights)["w"])
        counted = exp.Subquery(this=_of_first(weights))
        listed = {
            self.marks.above(self.select.args["from_"].this, self._needed),
            self.marks.above(counted, ()),
        }
        grouped = is_by_first(weights, "hu") and [key.sql() for key in grouped_by(self.select)] == [*self.keys]
        if not grouped or not is_text(number, "count(*)") or most != least * FULL_WEIGHT or least < max(listed):
            raise NotProvedError
        added = select_columns(self.select)
        if list(added) != [*self.keys, *self.sums] or not all(is_column(added[key], key) for key in self.keys):
            raise NotProvedError
        for name, summed in self.sums.items():
            if Summand.of(added[name], self.rows.columns) != replace(summed, weight="w"):
                raise NotProvedError
        return Fraction(most)

    def _largest_size(self, text: exp.Expr, sums: Collection[str], form: str) -> int:
        """Return S, up to which the sizes go that are added up instead of rows: the largest |f − z| of a row's columns.

        With ρ = |f − z| ≤ S, or the largest of several, S for NULL, what a row adds to the coordinates of these sums is at
        most ρ / S of the most. Proof: where a column is NULL, ρ = S. Else they are nothing at z, and linear from there; with
        all columns S / ρ times as far from their z, each is still between its ends, and all coordinates are as much larger.
        """
        columns = sorted(
            {column for name in sums for column in self.sums[name].columns}, key=lambda name: (len(name), name)
        )
        bounds = [self.rows.columns[column] for column in columns]
        if not columns or any(len(self.sums[name].columns) > 1 for name in sums) or not all(b.is_known for b in bounds):
            raise NotProvedError
        ends = [(int(bound.low), int(bound.high)) for bound in bounds]
        for most in {ends[0][1], ends[0][1] // 2}:
            if any(low < 0 or (high != most and (low, high) != (0, 2 * most)) for low, high in ends):
                continue
            centers = {column: 0 if high == most else most for column, (_, high) in zip(columns, ends, strict=True)}
            numbers = {column: f"CAST({column} AS BIGINT)" for column in columns}
            sizes = [f"coalesce({n if not centers[c] else f'abs({n} - {most})'}, {most})" for c, n in numbers.items()]
            size = sizes[0] if len(sizes) == 1 else f"greatest({', '.join(sizes)})"
            if any(is_text(text, own.format(size=size), language) for own, language in _forms(form)):
                if not self.norm.is_nothing_at(centers, sums):
                    raise NotProvedError
                return most
        raise NotProvedError

    def _require_same_sums(self, parts: exp.Select, weights: exp.Select) -> None:
        """See that what is added is of the same rows, columns and groups, each once, and weighed by all the unit's rows."""
        own, columns, inner = select_columns(parts), self.rows.columns, inner_of(weights)
        if any(Summand.of(own[name], columns) != summed for name, summed in self.sums.items()):
            raise NotProvedError
        added = list(select_columns(self.select).items())[: len(self.keys)]
        by = [without_parens(node).sql() for node in grouped_by(parts)]
        if by[0] != without_parens(own["u"]).sql() or by[0] not in ("u", "u | 0") or len(by) != 1 + len(self.keys):
            raise NotProvedError
        for key, (name, column) in zip(self.keys, added, strict=True):
            if name != key or not is_column(column, key) or not is_column(own.get(key), key) or key not in by:
                raise NotProvedError
        if len(by) > 1 and not (
            is_by_first(inner) and is_text(select_columns(inner)["u" if "u" in select_columns(inner) else "hu"], "u")
        ):
            raise NotProvedError
        self._require_unit_joins(weights)

    def _require_unit_joins(self, weights: exp.Select) -> None:
        """See that the sums of each unit's rows are passed on as they are, once, and nothing else is."""
        for select in (weights, inner_of(weights)):
            if any(not is_column(column, name) for name, column in select_columns(select).items() if name in self.sums):
                raise NotProvedError
        passed = is_member(inner_of(weights).args["from_"].this, "p") and is_column(select_columns(weights)["hu"], "u")
        if not passed or len(self.select.expressions) != len(self.keys) + len(self.sums) or grouped_by(self.select):
            raise NotProvedError
        sources = [self.select.args["from_"].this, *(join.this for join in self.select.args.get("joins") or ())]
        names = [name for source in sources for name in ("p", "h") if is_member(source, name)]
        joined = [join.args.get("on") for join in self.select.args.get("joins") or () if not join.side]
        both = names == ["p", "h"] and len(joined) == 1 and is_text(joined[0], "u = hu")
        if len(names) != len(sources) or not (names == ["h"] or both):
            raise NotProvedError

    def _weighed(self) -> Iterator[tuple[str, str]]:
        """Yield which weight each sum has in what is added: of (w − W)·s it is w."""
        added = [output for output in self.select.expressions if without_parens(output.unalias()).find(exp.Sub)]
        for name, difference in zip(self.sums, added, strict=True):
            product = without_parens(difference.unalias())
            for weight in ("w", "v"):
                if (
                    isinstance(product, exp.Mul)
                    and is_text(product.this, f"({weight} - {FULL_WEIGHT}{self.marks.overlap()})")
                    and is_column(without_cast(product.expression), name)
                ):
                    yield name, weight
                    break
            else:
                raise NotProvedError

    def _require_second_weight(
        self, weights: exp.Select, inner: exp.Select, parts: exp.Select, by_v: Collection[str]
    ) -> None:
        """See that sums weigh no more than keeps them below what the count may move, in each group."""
        most = self._largest_size(select_columns(parts)["c"], by_v, _MEAN)
        over_all = "max(c)" if len(grouped_by(parts)) > 1 else "c"
        own = [
            f"greatest(w, CAST(least((CAST(w AS BIGINT) * {most} {sign} c), {FULL_WEIGHT}) AS {type_}))"
            for sign, type_ in (("//", "INTEGER"), ("/", "BIGINT"))
        ]
        weight, in_duckdb, in_postgres = select_columns(weights)["v"], *own
        if not is_text(select_columns(inner)["c"], over_all) or not (
            is_text(weight, in_duckdb) or is_text(weight, in_postgres, "postgres")
        ):
            raise NotProvedError


def _forms(form: str) -> Iterator[tuple[str, str]]:
    """Yield a form as each engine has it."""
    yield form, "duckdb"
    if form == _MEAN:
        yield "CAST(div(sum({size}), count(*)) AS BIGINT) + 1", "postgres"


def _unnamed(tree: exp.Expr) -> exp.Expr:
    """Return a subquery without its name."""
    return tree.this if isinstance(tree, exp.Subquery) else tree


def _of_first(weights: exp.Select) -> exp.Select:
    """Return the rows that weights are made of, with their units alone."""
    plain = weights.copy()
    plain.set("group", None)
    plain.set("expressions", [exp.alias_(plain.expressions[0].unalias(), "u")])
    return plain


def inner_of(weights: exp.Select) -> exp.Select:
    """Return the SELECT that computes w: that of the weights, or what it is made of."""
    source = weights.args["from_"].this
    return source.this if isinstance(source, exp.Subquery) else weights
