"""Heavy units' rows, weighed apart from all rows in full: that none is missed, and that no unit has more than its share."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpsql.trial.statement_parts import (
    FULL_WEIGHT,
    RowsRead,
    conditions_of,
    every_condition,
    grouped_by,
    is_by_first,
    is_column,
    listed_above,
    names_in,
    projected,
    see_that_it_is_plain,
    weight_of,
)
from dpsql.trial.summed import NotProvedError, Summed, is_text, without_parens


@dataclass(frozen=True, slots=True)
class HeavyApart:
    """Heavy units' rows, weighed apart."""

    ctes: Mapping[str, exp.Select]
    rows: RowsRead
    sums: Mapping[str, Summed]
    select: exp.Select
    """What is added for them."""
    keys: Sequence[str]
    read: Callable[[exp.Expr], RowsRead]
    """Reads the rows of a subquery."""

    def mass(self) -> tuple[Fraction, Collection[str] | None]:
        """Return how many rows' worth a unit has, and which sums weigh v, None if there is no such weight.

        Raises:
            NotProvedError: it can't be seen.
        """
        heavy, parts, weights = (self.ctes.get(name) for name in ("heavy", "p", "h"))
        if heavy is None or parts is None or weights is None:
            raise NotProvedError
        for one in (parts, weights, inner_of(weights)):
            see_that_it_is_plain(one)
        see_that_it_is_plain(self.select, joins=True)
        self._see_that_none_is_missed(heavy, parts)
        self._see_that_the_same_is_summed(parts, inner_of(weights))
        by_v = {name for name, weight in self._weighed() if weight == "v"}
        inner = inner_of(weights)
        most, least, number = weight_of(projected(inner)["w"])
        if not any(is_text(number, one) for one in ("n", "CAST(SUM(n) AS BIGINT)")):
            raise NotProvedError
        norm = 1 if is_text(projected(parts)["n"], "count(*)") else self._norm(parts)
        if most != least * FULL_WEIGHT or least % norm or least // norm < listed_above(heavy):
            raise NotProvedError
        if by_v:
            self._see_second_weight(weights, inner, parts, by_v)
        return Fraction(most, norm), by_v or None

    def _norm(self, parts: exp.Select) -> int:
        """Return the most of a column whose values are added up in the place of rows, where nothing else is summed.

        With Σ at least what the unit's values add up to, w·Σ ≤ M·S: in rows of the most, S, that is M.
        """
        if any(len(one.columns) != 1 for one in self.sums.values()):
            raise NotProvedError
        columns = {one.columns[0] for one in self.sums.values()}
        if len(columns) != 1:
            raise NotProvedError
        (column,) = columns
        bounds = self.rows.columns[column]
        text = f"CAST(LEAST(SUM(COALESCE(CAST({column} AS BIGINT), {bounds.high})), 4611686018427387904) AS BIGINT)"
        if bounds.low < 0 or not is_text(projected(parts)["n"], text):
            raise NotProvedError
        return bounds.high

    def _see_that_none_is_missed(self, heavy: exp.Select, parts: exp.Select) -> None:
        """See that a unit with more rows than count is listed, and that all its rows, and no others, are weighed apart."""
        below = parts.args["from_"].this
        inner = below.this
        marks = [one for one in every_condition(inner) if one.find(exp.Select)]
        if len(marks) != 1 or not isinstance(marks[0], exp.In):
            raise NotProvedError
        mark, listed = marks[0], marks[0].args.get("query")
        if listed is None or not is_text(without_parens(listed), "SELECT u FROM heavy"):
            raise NotProvedError
        plain = below.copy()
        next(one for one in every_condition(plain.this) if one.find(exp.Select)).replace(exp.true())
        rows = self.read(plain)
        needed = {*self.keys, *(name for one in self.sums.values() for name in one.columns)}
        if not rows.same_rows(self.rows) or any(rows.definitions[n] != self.rows.definitions[n] for n in needed):
            raise NotProvedError
        of = projected(heavy)["u"]
        if mark.this.sql() != of.sql() or {one.sql() for one in of.find_all(exp.Column)} != {self.rows.unit}:
            raise NotProvedError
        tables = " ".join(one.sql() for one in (heavy.args["from_"], *(heavy.args.get("joins") or ())))
        if tables != self.rows.text or not conditions_of(heavy) <= self.rows.conditions or not is_by_first(heavy):
            raise NotProvedError

    def _see_that_the_same_is_summed(self, parts: exp.Select, inner: exp.Select) -> None:
        """See that what is added is of the same rows, columns and groups, each once, and weighed by all the unit's rows."""
        own, columns = projected(parts), self.rows.columns
        if any(Summed.of(own[name], columns) != summed for name, summed in self.sums.items()):
            raise NotProvedError
        added = list(projected(self.select).items())[: len(self.keys)]
        by = [without_parens(one).sql() for one in grouped_by(parts)]
        if by[:1] != [without_parens(own["u"]).sql()] or by[0] not in ("u", "u | 0"):
            raise NotProvedError
        for key, (name, one) in zip(self.keys, added, strict=True):
            if name != key or not is_column(one, key) or not is_column(own.get(key), key) or key not in by:
                raise NotProvedError
        if len(by) > 1 and not (
            is_by_first(inner) and is_text(projected(inner)["u" if "u" in projected(inner) else "hu"], "u")
        ):
            raise NotProvedError
        sources = [self.select.args["from_"].this, *(join.this for join in self.select.args.get("joins") or ())]
        names = [one.name for one in sources]
        joined = [join.args.get("on") for join in self.select.args.get("joins") or () if not join.side]
        if names != ["h"] and not (names == ["p", "h"] and len(joined) == 1 and is_text(joined[0], "u = hu")):
            raise NotProvedError

    def _weighed(self) -> Iterator[tuple[str, str]]:
        """Yield which weight each sum has in what is added: of (w − W)·s it is w."""
        added = [one for one in self.select.expressions if without_parens(one).find(exp.Sub)]
        for name, one in zip(self.sums, added, strict=True):
            product = without_parens(one.unalias())
            for weight in ("w", "v"):
                if (
                    isinstance(product, exp.Mul)
                    and is_text(product.this, f"({weight} - {FULL_WEIGHT})")
                    and names_in(product.expression) == {name}
                ):
                    yield name, weight
                    break
            else:
                raise NotProvedError

    def _see_second_weight(
        self, weights: exp.Select, inner: exp.Select, parts: exp.Select, by_v: Collection[str]
    ) -> None:
        """See that sums weigh no more than keeps them below what the count may move, in each group."""
        columns = {term for name in by_v for term in self.sums[name].columns}
        if len(columns) != 1 or any(len(self.sums[name].columns) != 1 for name in by_v):
            raise NotProvedError
        (column,) = columns
        most = self.rows.columns[column].high
        if self.rows.columns[column].low < 0:
            raise NotProvedError
        above = f"CAST(SUM(COALESCE(CAST({column} AS BIGINT), {most})) // COUNT(*) AS BIGINT) + 1"
        over_all = "MAX(c)" if len(grouped_by(parts)) > 1 else "c"
        if not is_text(projected(parts)["c"], above) or not is_text(projected(inner)["c"], over_all):
            raise NotProvedError
        own = f"GREATEST(w, CAST(LEAST((CAST(w AS BIGINT) * {most} // c), {FULL_WEIGHT}) AS INTEGER))"
        if not is_text(projected(weights)["v"], own):
            raise NotProvedError


def inner_of(weights: exp.Select) -> exp.Select:
    """Return the SELECT that computes w: that of the weights, or what it is made of."""
    source = weights.args["from_"].this
    return source.this if isinstance(source, exp.Subquery) else weights
