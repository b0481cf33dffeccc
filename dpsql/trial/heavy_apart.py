"""Heavy units' rows, weighed apart from all rows in full: that none is missed, and that no unit has more than its share."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.trial.column_bounds import NotProvedError, without_cast, without_parens
from dpsql.trial.marks import HeavyMarks
from dpsql.trial.statement_parts import (
    FULL_WEIGHT,
    RowsRead,
    grouped_by,
    is_by_first,
    is_column,
    is_member,
    projected,
    see_that_it_is_plain,
    weight_of,
)
from dpsql.trial.summed import RowNorm, Summed, is_text

_LONG = 2**62
_SUMMED = f"CAST(least(sum({{size}}), {_LONG}) AS BIGINT)"
_MEAN = "CAST(sum({size}) // count(*) AS BIGINT) + 1"


@dataclass(frozen=True, slots=True)
class HeavyApart:
    """Heavy units' rows, weighed apart."""

    ctes: Mapping[str, exp.Select]
    rows: RowsRead
    sums: Mapping[str, Summed]
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
            see_that_it_is_plain(select)
        see_that_it_is_plain(self.select, joins=True)
        listed = self.marks.above(parts.args["from_"].this, self._needed)
        self._see_that_the_same_is_summed(parts, weights)
        by_v = {name for name, weight in self._weighed() if weight == "v"}
        inner = inner_of(weights)
        most, least, number = weight_of(projected(inner)["w"])
        if not any(is_text(number, text) for text in ("n", "CAST(SUM(n) AS BIGINT)")) and not (
            is_text(number, f"CAST(least(sum(n), {_LONG}) AS BIGINT)")
        ):
            raise NotProvedError
        counted = is_text(projected(parts)["n"], "count(*)")
        norm = 1 if counted else self._largest_size(projected(parts)["n"], set(self.sums), _SUMMED)
        if most != least * FULL_WEIGHT or least % norm or least // norm < listed:
            raise NotProvedError
        if by_v:
            self._see_second_weight(weights, inner, parts, by_v)
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
        see_that_it_is_plain(self.select, joins=True)
        (join,) = self.select.args.get("joins") or [exp.Join()]
        less = f"SELECT hu, w - {FULL_WEIGHT}{self.marks.overlap()} AS w FROM h"  # noqa: S608  # only compared
        if join.side or not is_text(join.args.get("on"), "u = hu") or not is_text(_unnamed(join.this), less):
            raise NotProvedError
        most, least, number = weight_of(projected(weights)["w"])
        counted = exp.Subquery(this=_of_first(weights))
        listed = {
            self.marks.above(self.select.args["from_"].this, self._needed),
            self.marks.above(counted, ()),
        }
        grouped = is_by_first(weights, "hu") and [key.sql() for key in grouped_by(self.select)] == [*self.keys]
        if not grouped or not is_text(number, "count(*)") or most != least * FULL_WEIGHT or least < max(listed):
            raise NotProvedError
        added = projected(self.select)
        if list(added) != [*self.keys, *self.sums] or not all(is_column(added[key], key) for key in self.keys):
            raise NotProvedError
        for name, summed in self.sums.items():
            if Summed.of(added[name], self.rows.columns) != replace(summed, weight="w"):
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

    def _see_that_the_same_is_summed(self, parts: exp.Select, weights: exp.Select) -> None:
        """See that what is added is of the same rows, columns and groups, each once, and weighed by all the unit's rows."""
        own, columns, inner = projected(parts), self.rows.columns, inner_of(weights)
        if any(Summed.of(own[name], columns) != summed for name, summed in self.sums.items()):
            raise NotProvedError
        added = list(projected(self.select).items())[: len(self.keys)]
        by = [without_parens(node).sql() for node in grouped_by(parts)]
        if by[0] != without_parens(own["u"]).sql() or by[0] not in ("u", "u | 0") or len(by) != 1 + len(self.keys):
            raise NotProvedError
        for key, (name, column) in zip(self.keys, added, strict=True):
            if name != key or not is_column(column, key) or not is_column(own.get(key), key) or key not in by:
                raise NotProvedError
        if len(by) > 1 and not (
            is_by_first(inner) and is_text(projected(inner)["u" if "u" in projected(inner) else "hu"], "u")
        ):
            raise NotProvedError
        self._see_what_is_joined(weights)

    def _see_what_is_joined(self, weights: exp.Select) -> None:
        """See that the sums of each unit's rows are passed on as they are, once, and nothing else is."""
        for select in (weights, inner_of(weights)):
            if any(not is_column(column, name) for name, column in projected(select).items() if name in self.sums):
                raise NotProvedError
        passed = is_member(inner_of(weights).args["from_"].this, "p") and is_column(projected(weights)["hu"], "u")
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

    def _see_second_weight(
        self, weights: exp.Select, inner: exp.Select, parts: exp.Select, by_v: Collection[str]
    ) -> None:
        """See that sums weigh no more than keeps them below what the count may move, in each group."""
        most = self._largest_size(projected(parts)["c"], by_v, _MEAN)
        over_all = "max(c)" if len(grouped_by(parts)) > 1 else "c"
        own = [
            f"greatest(w, CAST(least((CAST(w AS BIGINT) * {most} {sign} c), {FULL_WEIGHT}) AS {type_}))"
            for sign, type_ in (("//", "INTEGER"), ("/", "BIGINT"))
        ]
        weight, in_duckdb, in_postgres = projected(weights)["v"], *own
        if not is_text(projected(inner)["c"], over_all) or not (
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
