"""Made-up expressions over the shop's columns: conditions, group keys, aggregates."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.support.shop_rows import NUMBERS, Col, Kind, Rows

Draw = random.Random
Note = Callable[[str], None]
"""Writes down that a statement has something."""


def compared(column: Col, draw: Draw, note: Note) -> str:
    """Return a condition on a column."""
    x = column.text
    match column.kind:
        case Kind.FLAG:
            return draw.choice((x, f"NOT {x}", f"{x} IS NOT TRUE", f"{x} IS NULL", f"coalesce({x}, TRUE)"))
        case Kind.NAME:
            return f"{x} IS NOT NULL"
        case Kind.TEXT:
            note("text without values")
            texts = (
                f"{x} LIKE 'a%'",
                f"{x} ILIKE 'AB%'",
                f"length({x}) > 2",
                f"{x} ~ '^a'",
                f"{x} < 'b'",
                f"{x} IS NULL",
            )
            return draw.choice((*texts, f"{x} IN ('abc', 'zebra')", f"lower({x}) = 'abc'"))
        case Kind.MOMENT:
            return _about_moment(column, draw, note)
        case Kind.ZONED | Kind.CLOCK | Kind.SPAN | Kind.ENUM | Kind.CODE | Kind.UUID:
            return _about_rarer(column, draw, note)
        case Kind.LABEL:
            a, b = draw.sample(column.values, 2)
            labels = (f"{x} IN ({a}, {b})", f"{x} LIKE '%o%'", f"{x} IS NOT NULL", f"upper({x}) <> upper({a})")
            return draw.choice((f"{x} = {a}", f"{x} <> {a}", f"{x} = ANY (ARRAY[{a}, {b}])", *labels))
        case _:
            return _about_number(column, draw, note)


def _about_number(column: Col, draw: Draw, note: Note) -> str:
    x, (a, b) = column.text, (draw.choice(column.values), draw.choice(column.values))
    operator = draw.choice(("=", "<>", "<", "<=", ">", ">="))
    plain = (f"{x} {operator} {a}", f"{x} BETWEEN SYMMETRIC {a} AND {b}", f"{x} IS DISTINCT FROM {a}")
    if column.kind is Kind.NUMBER:
        return draw.choice((f"{x} = {a}", f"{x} IN ({a}, {b})", f"{x} IS NULL", f"{x} < {a}"))
    if column.kind in {Kind.WHOLE, Kind.KEY} and draw.random() < 0.3:
        note("arithmetic in a condition")
        whole = (f"{x} % 2 = 1", f"({x}, {x} + 1) IN (({a}, {a} + 1), ({b}, {b}))", f"{x} > ANY (ARRAY[{a}, {b}])")
        return draw.choice((*whole, f"abs({x} - {a}) < 2", f"({x} = {a} OR {x} > {b})", f"NOT ({x} * 2 > {b})"))
    return draw.choice(plain)


_CALLED = {
    Kind.ZONED: "timestamp with a zone", Kind.CLOCK: "time of the day", Kind.SPAN: "interval that is stored",
    Kind.ENUM: "enumeration", Kind.CODE: "char(n)", Kind.UUID: "UUID",
}  # fmt: skip
_ORDERED = frozenset({Kind.ZONED, Kind.CLOCK, Kind.SPAN, Kind.ENUM})


def _about_rarer(column: Col, draw: Draw, note: Note) -> str:
    note(_CALLED[column.kind])
    x, (a, b) = column.text, draw.sample(column.values, 2)
    if column.kind in _ORDERED and draw.random() < 0.5:
        return draw.choice((f"{x} < {a}", f"{x} >= {a}", f"{x} BETWEEN SYMMETRIC {a} AND {b}"))
    return draw.choice((f"{x} = {a}", f"{x} <> {a}", f"{x} IN ({a}, {b})", f"{x} IS NULL", f"{x} IS DISTINCT FROM {a}"))


def _about_moment(column: Col, draw: Draw, note: Note) -> str:
    x, a = column.text, draw.choice(column.values)
    if draw.random() < 0.6:
        note("interval")
        spans = (f"{x} + interval '1 day 2 hours' > {a}", f"{x} - timestamp '2019-03-01' < interval '36 hours'")
        overlap = f"({x}, interval '1 day') OVERLAPS (date '2019-03-02', date '2019-03-03')"
        return draw.choice((*spans, f"{x}::time < '06:00'", overlap))
    return draw.choice((f"{x} < {a}", f"{x} >= {a}", f"extract(hour FROM {x}) = 5", f"{x} IS NULL"))


_ROUND = {
    Kind.WHOLE: ("{0} % 3", "abs({0})", "floor({0} / 2)", "CASE WHEN {0} > 2 THEN 'high' WHEN {0} > 0 THEN 'low' END",
        "({0} / 2 * 2)::text || '-' || ({0} / 2 * 2 + 2)::text"),
    Kind.DECIMAL: (
        "floor({0} / 12.5) * 12.5", "floor(({0} - 1) / 10) * 10 + 1", "width_bucket({0}, 0, 50, 5)", "{0} > 12.5",
        "(floor({0} / 20) * 20)::text || '-' || (floor({0} / 20) * 20 + 20)::text",
    ),
    Kind.FLOAT: ("round({0} * 2) / 2", "floor({0} / 0.25) * 0.25", "{0} >= 1", "ceil({0})"),
    Kind.LABEL: ("upper({0})", "coalesce({0}, 'none')", "{0} || '!'", "left({0}, 1)", "{0} LIKE '%o%'"),
    Kind.FLAG: ("coalesce({0}, FALSE)", "{0} IS NULL", "CASE WHEN {0} THEN 'late' ELSE 'on time' END"),
    Kind.MOMENT: (
        "date_trunc('day', {0})", "extract(dow FROM {0})", "to_char({0}, 'MM') || '-' || to_char({0}, 'DD')",
        "date_trunc('week', {0})", "mod(extract(hour FROM {0})::int, 6)", "{0}::date",
    ),
    Kind.KEY: ("{0} + 1", "{0} = 1"),
    Kind.ZONED: ("date_trunc('day', {0})", "{0}::date", "extract(hour FROM {0})", "({0} AT TIME ZONE 'UTC')::date"),
    Kind.SPAN: ("{0} > interval '5 hours'", "{0} IS NULL"),
    Kind.ENUM: ("{0}::text", "{0} = 'low'", "CASE WHEN {0} < 'top' THEN 'lower' ELSE 'top' END"),
    Kind.CODE: ("{0}", "{0}::text", "{0} = 'ab'"),
}  # fmt: skip
"""Keys that are computed."""
_ITSELF = frozenset({Kind.WHOLE, Kind.KEY, Kind.LABEL, Kind.FLAG})


def key(column: Col, draw: Draw, note: Note) -> str:
    """Return a group key that a column makes."""
    if column.kind in _ITSELF and draw.random() < 0.6:
        return column.text
    note(_CALLED.get(column.kind, "key by arithmetic" if column.kind in NUMBERS else "key by a function"))
    return draw.choice(_ROUND[column.kind]).format(column.text)


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate, and whether what it says is exact."""

    text: str
    exact: bool = True


_MOMENTS: Mapping[bool, Sequence[str]] = {
    True: ("sum", "sum", "avg", "count"),
    False: ("sum", "avg", "var_pop", "stddev_samp", "count", "stddev_pop"),
}


def aggregate(rows: Rows, draw: Draw, note: Note, *, made: bool) -> Call:
    """Return an aggregate; of rows that are `made` few kinds."""
    numbers, roll = rows.of(*NUMBERS), draw.random()
    if roll < 0.3 or not numbers:
        return Call("count(*)")
    x = draw.choice(numbers)
    if roll < 0.55:
        return Call(f"{draw.choice(_MOMENTS[made])}({_argument(x, draw)}){_filter(rows, draw, note)}")
    if roll < 0.7:
        note("DISTINCT")
        name = draw.choice(("count", "count", "sum", "avg", "var_pop"))
        if name != "count":
            note("sum of DISTINCT")
            return Call(f"{name}(DISTINCT {x.text})")
        any_ = draw.choice([*(c for c in rows.columns if c.kind is not Kind.NAME), *rows.names[:1]])
        return Call(f"count(DISTINCT {any_.text})")
    if roll < 0.8:
        note("order statistic")
        name = draw.choice(("min({})", "max({})", "median({})", "percentile_cont(0.5) WITHIN GROUP (ORDER BY {})"))
        return Call(name.format(x.text), exact=False)
    return _rarer(rows, x, draw, note)


def _rarer(rows: Rows, x: Col, draw: Draw, note: Note) -> Call:
    moments, flags, labels = (rows.of(kind) for kind in (Kind.MOMENT, Kind.FLAG, Kind.LABEL))
    spans = rows.of(Kind.SPAN, Kind.CLOCK)
    if spans and draw.random() < 0.5:
        span = draw.choice(spans)
        note(_CALLED[span.kind])
        return Call(f"{draw.choice(('avg', 'sum'))}({span.text})")
    if moments and draw.random() < 0.7:
        note("interval")
        return Call(f"{draw.choice(('avg', 'sum'))}({moments[0].text} - timestamp '2019-03-01')")
    if flags and draw.random() < 0.5:
        return Call(f"sum({flags[0].text}::int)")
    if labels and draw.random() < 0.6:
        return Call(f"count({labels[0].text}){_filter(rows, draw, note)}")
    y = draw.choice(rows.of(*NUMBERS))
    return Call(
        draw.choice(
            (
                f"sum(CASE WHEN {compared(x, draw, note)} THEN {y.text} ELSE 0 END)",
                f"covar_pop({x.text}, {y.text})",
                f"sum(coalesce({x.text}, 1))",
                f"avg({x.text}) * 2 + count(*)",
            )
        )
    )


def _argument(x: Col, draw: Draw) -> str:
    texts = (f"abs({x.text})", f"{x.text} * 2 - 1", f"greatest({x.text}, 1)", f"nullif({x.text}, 0)")
    return draw.choice(texts) if draw.random() < 0.3 else x.text


def _filter(rows: Rows, draw: Draw, note: Note) -> str:
    if draw.random() < 0.75:
        return ""
    note("FILTER")
    return f" FILTER (WHERE {compared(draw.choice(rows.columns), draw, note)})"
