"""Made-up FROM clauses over the shop: joins, constants, subqueries that pass rows through or make rows of single units."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.support.shop_draft import Writer
from tests.support.shop_rows import LOOKED_UP, NUMBERS, TABLES, Col, Kind, Rows

_MOST_JOINED = 3
_WRONG = 0.04
"""The share of what may not be answered: joins of different units, some rows of all, places among everybody's."""


def rows(w: Writer, depth: int = 2) -> Rows:
    """Return rows to be aggregated."""
    makers: list[tuple[float, Callable[[Writer, int], Rows]]] = [
        (0.18, lambda w, _: w.scan()), (0.2, joined), (0.17, per_unit), (0.08, windowed), (0.09, united), (0.12, passed),
    ]  # fmt: skip
    if not depth:
        makers = makers[:1]
    weights = [weight for weight, _ in makers]
    base = w.draw.choices([make for _, make in makers], weights)[0](w, depth)
    if w.chance(0.25):
        base = looked_up(w, base)
    if w.chance(0.13):
        base = beside_constants(w, base)
    return base


def joined(w: Writer, depth: int) -> Rows:
    """Return rows of several relations, joined on what names the unit or one of its rows."""
    w.note("join of protected tables")
    base = w.scan() if w.chance(0.7) else rows(w, depth - 1)
    for _ in range(w.draw.randint(1, _MOST_JOINED - 1)):
        base = _attached(w, base, depth)
    return base


def _attached(w: Writer, base: Rows, depth: int) -> Rows:
    """Return rows with those of another relation that has a name in common."""
    means = {name.means for name in base.names}
    tables = [table for table, columns in TABLES.items() if means & {column.means for column in columns}]
    other = per_unit(w, depth - 1) if w.chance(0.2) and "unit" in means else None
    if other is None:
        if not tables:
            return base
        other = w.scan(w.draw.choice(tables))
    pairs = [(a, b) for a in base.names for b in other.names if a.means == b.means != "nothing"]
    if not pairs:
        return base
    a, b = w.draw.choice(pairs)
    on, columns = f"{a.text} = {b.text}", (*base.columns, *other.columns)
    if w.chance(_WRONG) and (numbers := (base.of(Kind.WHOLE), other.of(Kind.WHOLE))) and all(numbers):
        on = f"{numbers[0][0].text} = {numbers[1][0].text}"
    roll = w.draw.random()
    if roll < 0.3 and other.plain and not other.where:
        w.note("LEFT JOIN of protected tables")
        on += f" AND {w.condition(other)}" if w.chance(0.3) else ""
        kept = tuple(c for c in other.columns if c.kind is not Kind.NAME)  # of a row that is missing they name nobody
        return Rows(f"{base.text} LEFT JOIN {other.text} ON {on}", (*base.columns, *kept), base.where, plain=False)
    where = (*base.where, *other.where)
    if roll < 0.36 and base.plain and other.plain and not base.where:
        w.note("RIGHT JOIN")
        kept = tuple(c for c in base.columns if c.kind is not Kind.NAME)
        return Rows(f"{base.text} RIGHT JOIN {other.text} ON {on}", (*other.columns, *kept), where, plain=False)
    if roll < 0.45:
        return Rows(f"{base.text} CROSS JOIN {other.text}", columns, (*where, on), plain=False)
    on += f" AND {w.condition(other)}" if w.chance(0.15) else ""
    return Rows(f"{base.text} JOIN {other.text} ON {on}", columns, where, plain=False)


def looked_up(w: Writer, base: Rows) -> Rows:
    """Return rows with what public tables say of a key, perhaps by way of another."""
    for number in range(w.draw.choice((1, 1, 2))):
        keys = [c for c in base.of(Kind.KEY) if c.means]
        if not keys:
            return base
        a, p = w.draw.choice(keys), w.alias("p")
        table, columns = LOOKED_UP[a.means]
        w.note("several public tables" if number else "public table")
        source = f"{table} AS {p}"
        if w.chance(0.25):
            w.note("public subquery")
            source = f"(SELECT {a.means}, max({columns[0].text}) AS {columns[0].text} FROM {table} GROUP BY 1) AS {p}"
            columns = columns[:1]
        new = tuple(replace(c, text=f"{p}.{c.text}") for c in columns)
        word = w.draw.choice(("JOIN", "JOIN", "LEFT JOIN"))
        text = f"{base.text} {word} {source} ON {p}.{a.means} = {a.text}"
        if word == "JOIN" and base.plain and not base.where and w.chance(0.3):
            text = f"{source} JOIN {base.text} ON {p}.{a.means} = {a.text}"
        base = replace(base, text=text, columns=(*base.columns, *new), plain=False)
    return base


def beside_constants(w: Writer, base: Rows) -> Rows:
    """Return rows beside constants: VALUES, an array, a series, a CTE."""
    numbers = base.of(Kind.WHOLE)
    if not numbers:
        return base
    x, v = w.draw.choice(numbers).text, w.alias("v")
    bands = "VALUES (0, 2, 'low'), (2, 9, 'high')"
    label = Col(f"{v}.label", Kind.LABEL, ("'low'", "'high'"))
    match w.draw.randrange(4):
        case 0:
            w.note("VALUES")
            source, on, new = f"({bands}) AS {v} (lo, hi, label)", f"{x} >= {v}.lo AND {x} < {v}.hi", (label,)
        case 1:
            w.note("unnest")
            new = (Col(f"{v}.n", Kind.KEY, ("1", "3")),)
            source, on = f"unnest(ARRAY[1, 2, 3]) AS {v} (n)", f"{v}.n = {x}"
        case 2:
            w.note("generate_series")
            new = (Col(f"{v}.n", Kind.KEY, ("1", "3")),)
            source, on = f"generate_series(0, 4) AS {v} (n)", f"{v}.n = {x}"
        case _:
            w.note("CTE of constants")
            new, on = (label,), f"{x} >= {v}.lo AND {x} < {v}.hi"
            source = v
            w.ctes.append(v)
            w.later(v, lambda _: f"SELECT * FROM ({bands}) AS b (lo, hi, label)")
    word = w.draw.choice(("JOIN", "JOIN", "LEFT JOIN"))
    return replace(base, text=f"{base.text} {word} {source} ON {on}", columns=(*base.columns, *new), plain=False)


def _derived(w: Writer, s: str, text: Callable[[set[str]], str], columns: Sequence[Col], *, plain: bool) -> Rows:
    """Return the rows of a subquery, or of a CTE."""
    marked = w.later(s, text)
    if w.chance(0.3):
        w.note("CTE")
        w.ctes.append(s)
        return Rows(s, tuple(columns), plain=plain)
    return Rows(f"({marked}) AS {s}", tuple(columns), plain=plain)


def _outputs(columns: Sequence[Col], s: str) -> tuple[dict[str, str], list[Col]]:
    """Return expressions by the names that they get, and the columns outside."""
    names = {f"c{i}": column for i, column in enumerate(columns)}
    return {n: c.text for n, c in names.items()}, [replace(c, text=f"{s}.{n}") for n, c in names.items()]


def _selected(outputs: dict[str, str], read: set[str], first: str) -> str:
    """Return a SELECT list of what is read, and always of the first, which names the rows."""
    return ", ".join(f"{text} AS {name}" for name, text in outputs.items() if name in read | {first})


def passed(w: Writer, depth: int) -> Rows:
    """Return rows that pass through a subquery."""
    w.note("rows that pass through")
    inner = w.maybe_filtered(rows(w, depth - 1), 0.6)
    s = w.alias("s")
    outputs, outside = _outputs(inner.columns, s)
    if numbers := inner.of(Kind.WHOLE):
        x = w.draw.choice(numbers)
        outputs["twice"] = f"{x.text} * 2"
        outside.append(Col(f"{s}.twice", Kind.WHOLE, ("1", "2", "6")))
    word, limit = ("DISTINCT " if w.chance(_WRONG) else ""), (" LIMIT 3" if w.chance(_WRONG) else "")

    def text(read: set[str]) -> str:
        return f"SELECT {word}{_selected(outputs, read, 'c0')} {inner.text_where}{limit}"

    return _derived(w, s, text, outside, plain=False)


_OF_UNITS = (
    "sum({})",
    "min({})",
    "max({})",
    "avg({})",
    "count(DISTINCT {})",
    "count({})",
    "median({})",
    "stddev_pop({})",
)


def per_unit(w: Writer, depth: int) -> Rows:
    """Return a row for each unit, perhaps for each of its keys."""
    inner = rows(w, min(depth - 1, 1)) if depth > 1 else w.scan()
    units = [name for name in inner.names if name.means == "unit"]
    while not units:
        inner = w.scan()
        units = [name for name in inner.names if name.means == "unit"]
    inner, s = w.maybe_filtered(inner, 0.4), w.alias("s")
    w.note("rows of single units")
    unit, numbers = w.draw.choice(units), inner.of(*NUMBERS)
    columns = [Col(f"{s}.u", Kind.NAME, means="unit")]
    select = [f"{unit.text} AS u"]
    if w.chance(0.3) and (by := w.key(inner)) is not None:
        w.note("per unit and key")
        select.append(f"{by} AS k")
        same = next((c for c in inner.columns if c.text == by), Col("", Kind.NAME, means="nothing"))
        columns.append(replace(same, text=f"{s}.k"))
    grouped = ", ".join(str(i + 1) for i, _ in enumerate(select))
    if w.chance(0.15):
        w.note("DISTINCT units")
        return _derived(w, s, lambda _: f"SELECT DISTINCT {', '.join(select)} {inner.text_where}", columns, plain=True)
    select.append("count(*) AS n")
    columns.append(Col(f"{s}.n", Kind.WHOLE, ("1", "2", "3")))
    if numbers:
        x = w.draw.choice(numbers)
        call = w.draw.choice(_OF_UNITS).format(x.text)
        select.append(f"{call} AS x")
        whole = "count" in call or (x.kind in {Kind.WHOLE, Kind.KEY} and call[:3] in {"sum", "min", "max"})
        columns.append(
            Col(f"{s}.x", Kind.WHOLE, ("1", "2", "5")) if whole else Col(f"{s}.x", Kind.FLOAT, ("0.7", "2.6"))
        )
    having = ""
    if w.chance(0.35):
        w.note("HAVING of units")
        last = select[-1].split(" AS ")[0]
        having = f" HAVING {w.draw.choice(('count(*) > 1', 'count(*) BETWEEN 1 AND 2', f'{last} > 1.1'))}"

    def text(read: set[str]) -> str:
        shown = [
            column for column in select if "x" in read or not column.endswith(" AS x")
        ]  # of what nobody reads no value is missing
        return f"SELECT {', '.join(shown)} {inner.text_where} GROUP BY {grouped}{having}"

    return _derived(w, s, text, columns, plain=True)


def windowed(w: Writer, depth: int) -> Rows:
    """Return rows with their places among those of their unit, in an order that only rows alike in all columns share."""
    w.note("window")
    inner = w.scan(w.draw.choice(("orders", "calls"))) if depth < 2 or w.chance(0.6) else joined(w, 1)
    units = [name for name in inner.names if name.means == "unit"]
    kept = inner.of(Kind.WHOLE, Kind.KEY, Kind.DECIMAL, Kind.MOMENT, Kind.ZONED)
    if not units or not kept:
        return inner
    inner, s, kept = w.maybe_filtered(inner, 0.3), w.alias("s"), w.draw.sample(kept, min(len(kept), 2))
    outputs, columns = _outputs(kept, s)
    first, *rest = w.draw.sample(kept, len(kept))
    how = [f"{c.text}{w.draw.choice(('', ' DESC', ' NULLS FIRST'))}" for c in (first, *rest)]
    order, x = ", ".join(how), kept[0]
    calls = ["row_number()", "rank()", "dense_rank()", "ntile(2)", "count(*)"]
    if rest and w.chance(0.4):
        w.note("ties")
        x, calls = rest[0], ["row_number()"]
        order = f"{how[0]} /*, {x.text} */"  # rows that tie are ordered by all that is named, as if it stood here
    call = w.draw.choice((*calls, f"lag({x.text})", f"lead({x.text}, 2)"))
    by = kept[0] if w.chance(_WRONG) else units[0]
    over = f"PARTITION BY {by.text}" + ("" if call == "count(*)" else f" ORDER BY {order}")
    if not w.has["ties"]:
        call, over = _aggregated(w, call, over, x)
    kind = x.kind if x.text in call and not call.startswith("count") else Kind.WHOLE
    columns = [
        Col(f"{s}.u", Kind.NAME, means="unit"),
        *columns,
        Col(f"{s}.w", kind, x.values if kind is x.kind else ("1", "2")),
    ]
    select = ", ".join(
        [f"{units[0].text} AS u", *(f"{text} AS {n}" for n, text in outputs.items()), f"{call} OVER ({over}) AS w"]
    )
    return _derived(w, s, lambda _: f"SELECT {select} {inner.text_where}", columns, plain=False)


_FRAMES = ("", "", " ROWS 1 PRECEDING", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")


def _aggregated(w: Writer, call: str, over: str, x: Col) -> tuple[str, str]:
    """Return half of the windows as what the unit's rows around a row come to; what else is drawn stays as it was."""
    draw = random.Random(f"{call} {over}")  # noqa: S311  (statements)
    if x.kind is Kind.KEY or draw.random() < 0.5:
        return call, over
    w.note("aggregate of a window")
    calls = ["first_value", "last_value", "min", "max", "count", *(["sum"] if x.kind is Kind.WHOLE else [])]
    frame = draw.choice(_FRAMES) if " ORDER BY " in over else ""
    return f"{draw.choice(calls)}({x.text})", over + frame


def united(w: Writer, depth: int) -> Rows:
    """Return the rows of two relations, one below the other."""
    parts = [w.maybe_filtered(w.scan() if w.chance(0.7) else rows(w, depth - 1), 0.4) for _ in range(2)]
    s = w.alias("s")
    means = [{name.means for name in part.names} for part in parts]
    both = (means[0] & means[1]) - {"nothing"}
    same = "unit" if "unit" in both else w.draw.choice(sorted(both)) if both else ""
    if not same:  # a name that is text has no place under one that is a number
        return parts[0]
    w.note("UNION ALL")
    named = [next(n for n in part.names if n.means == same).text for part in parts]
    outputs = [{"u": name} for name in named]
    columns = [Col(f"{s}.u", Kind.NAME, means="unit" if same == "unit" else "nothing")]
    if w.chance(0.6):
        for output, what in zip(outputs, ("'one'", "'other'"), strict=True):
            output["what"] = what
        columns.append(Col(f"{s}.what", Kind.LABEL, ("'one'", "'other'")))
    for kind in (Kind.WHOLE, Kind.LABEL, Kind.FLAG):
        of_kind = [part.of(kind) for part in parts]
        if all(of_kind):
            pair = [w.draw.choice(some) for some in of_kind]
            for output, column in zip(outputs, pair, strict=True):
                output[f"c{kind.name}"] = column.text
            columns.append(replace(pair[0], text=f"{s}.c{kind.name}"))

    def text(read: set[str]) -> str:
        selects = (f"SELECT {_selected(o, read, 'u')} {p.text_where}" for o, p in zip(outputs, parts, strict=True))
        return " UNION ALL ".join(selects)

    return _derived(w, s, text, columns, plain=False)
