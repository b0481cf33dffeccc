"""Made-up statements over the shop in words that are read as others: LATERAL, NATURAL JOIN, public rows first, lists."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.support.shop_draft import Writer
from tests.support.shop_expressions import Call
from tests.support.shop_rows import LOOKED_UP, TABLES, Col, Kind, Rows

KEYS = (Kind.LABEL, Kind.KEY)
_ORDERED = (Kind.WHOLE, Kind.KEY, Kind.DECIMAL, Kind.MOMENT, Kind.ZONED)


@dataclass(frozen=True, slots=True)
class Text:
    """A whole statement: the group keys, the aggregates behind them, and what stands before and behind these."""

    by: Sequence[str]
    calls: Sequence[Call]
    rest: str
    sql: str = ""
    """The statement where it is none of this form."""


def first_rows(w: Writer) -> Rows:
    """Return the first row of each unit, in an order that only rows alike in all columns share."""
    w.note("first rows of units")
    inner = w.maybe_filtered(w.scan(w.draw.choice(("orders", "calls"))), 0.3)
    unit, s = inner.names[0], w.alias("s")
    kept = w.draw.sample(inner.of(*_ORDERED), min(2, len(inner.of(*_ORDERED))))
    how = ", ".join(f"{c.text}{w.draw.choice(('', ' DESC', ' NULLS FIRST'))}" for c in kept)
    outputs = ", ".join([f"{unit.text} AS u", *(f"{c.text} AS c{i}" for i, c in enumerate(kept))])
    text = f"SELECT DISTINCT ON ({unit.text}) {outputs} {inner.text_where} ORDER BY {unit.text}, {how}"
    columns = (Col(f"{s}.u", Kind.NAME, means="unit"), *(replace(c, text=f"{s}.c{i}") for i, c in enumerate(kept)))
    return Rows(f"({text}) AS {s}", columns, plain=False)


def in_other_words(w: Writer, base: Rows) -> Rows:
    """Return rows of which one thing or two are said in such words; of a cross join no condition may say anything."""
    for make in w.draw.sample((beside_the_units, by_pairs, among_keys, naturally), 2):
        base = make(w, base)
    return beside_all(w, base) if w.chance(0.3) else base


def beside_the_units(w: Writer, base: Rows) -> Rows:
    """Return rows beside what LATERAL finds of the same unit."""
    units = [name for name in base.names if name.means == "unit"]
    if not units:
        return base
    w.note("LATERAL")
    inner, s, unit = w.scan(w.draw.choice(("orders", "calls"))), w.alias("s"), w.draw.choice(units)
    y = inner.of(Kind.WHOLE)[0]
    inner = w.maybe_filtered(inner, 0.3).filtered(f"{inner.names[0].text} = {unit.text}")
    call = w.draw.choice(("count(*)", "count(*)", f"sum({y.text})", f"max({y.text})", ""))
    if not call:
        w.note("first rows of units")
    text = f"SELECT {call or y.text} AS n {inner.text_where}{'' if call else f' ORDER BY {y.text} LIMIT 1'}"
    word = w.draw.choice((", LATERAL", "CROSS JOIN LATERAL", "JOIN LATERAL"))
    beside = f"{base.text}{'' if word[0] == ',' else ' '}{word} ({text}) AS {s}{' ON TRUE' if word[0] == 'J' else ''}"
    made = replace(base, text=beside, columns=(*base.columns, Col(f"{s}.n", Kind.WHOLE, ("0", "1", "2"))), plain=False)
    return made.filtered(f"{s}.n >= 1") if w.chance(0.3) else made


def by_pairs(w: Writer, base: Rows) -> Rows:
    """Return rows that have the largest or the least value of their unit's."""
    units = {c.text for columns in TABLES.values() for c in columns if c.means == "unit"}
    tables = {t: c for c in base.names for t, name in [c.text.split(".")] if t[0] == "t" and name in units}
    pairs = [(tables[x.text.split(".")[0]], x) for x in base.of(Kind.WHOLE) if x.text.split(".")[0] in tables]
    if not pairs:
        return base
    unit, x = w.draw.choice(pairs)
    table = next(t for t, columns in TABLES.items() if any(c.text == unit.text.split(".")[1] for c in columns))
    if all(c.text != x.text.split(".")[1] for c in TABLES[table]):  # a view's own
        return base
    inner = w.maybe_filtered(w.scan(table), 0.3)
    w.note("pairs with a unit")
    u, y = (f"{inner.columns[0].text.split('.')[0]}.{c.text.split('.')[1]}" for c in (unit, x))
    call = w.draw.choice((f"max({y})", f"min({y})"))
    return base.filtered(f"({unit.text}, {x.text}) IN (SELECT {u}, {call} {inner.text_where} GROUP BY {u})")


def among_keys(w: Writer, base: Rows) -> Rows:
    """Return rows whose key is in a list that is made of others."""
    keys = base.of(Kind.KEY)
    if not keys:
        return base
    w.note("lists of keys")
    word = w.draw.choice(("UNION", "UNION", "INTERSECT", "EXCEPT"))
    return base.filtered(f"{w.draw.choice(keys).text} IN ({_of_keys(w, Kind.KEY)} {word} {_of_keys(w, Kind.KEY)})")


def _with(kind: Kind) -> Sequence[str]:
    """Return the tables that have a column of a kind."""
    return [table for table, columns in TABLES.items() if any(c.kind is kind for c in columns)]


def _of_keys(w: Writer, kind: Kind) -> str:
    """Return the values of a key that have rows: all that are declared would be listed without a condition."""
    if kind is Kind.KEY and w.chance(0.25):
        p = w.alias("p")
        return f"SELECT {p}.nation FROM nations AS {p} WHERE {p}.nation > {w.draw.randrange(2)}"
    base = w.maybe_filtered(w.scan(w.draw.choice(_with(kind))), 0.4)
    return f"SELECT {w.draw.choice(base.of(kind)).text} {base.text_where} GROUP BY 1 HAVING count(*) > 0"


def naturally(w: Writer, base: Rows) -> Rows:
    """Return a table's rows that have a column in common with constants."""
    labels = base.of(Kind.LABEL, Kind.KEY)
    if not (base.plain and labels):
        return base
    w.note("NATURAL JOIN")
    x, s = w.draw.choice(labels), w.alias("s")
    some = ", ".join(f"({value}, {n})" for n, value in enumerate(w.draw.sample(x.values, 2)))
    text = f"{base.text} NATURAL JOIN (VALUES {some}) AS {s} ({x.text.split('.')[1]}, place)"
    return replace(base, text=text, columns=(*base.columns, Col(f"{s}.place", Kind.WHOLE, ("0", "1"))), plain=False)


def beside_all(w: Writer, base: Rows) -> Rows:
    """Return rows each beside all of a public table's."""
    w.note("CROSS JOIN of public rows")
    p = w.alias("p")
    (_, (table, columns)) = w.draw.choice(list(LOOKED_UP.items()))
    word = w.draw.choice((" CROSS JOIN", " CROSS JOIN", " JOIN"))
    text = f"{base.text}{word} {table} AS {p}{' ON TRUE' if word == ' JOIN' else ''}"
    return replace(base, text=text, columns=(*base.columns, *(replace(c, text=f"{p}.{c.text}") for c in columns)))


def public_first(w: Writer) -> Text:
    """Return a statement about public rows, and what they find of a protected table."""
    w.note("public rows first")
    inner = w.scan(w.draw.choice(("customers", "items")))
    key, p = inner.of(Kind.KEY)[0], w.alias("p")
    table, columns = LOOKED_UP[key.means]
    by = w.draw.choice(
        ([f"{p}.{columns[0].text}"], [f"{p}.{key.means}"], [f"{p}.{key.means}", f"{p}.{columns[0].text}"])
    )
    numbers = w.draw.sample(inner.of(Kind.WHOLE, Kind.DECIMAL, Kind.FLOAT, Kind.KEY), 2)
    calls = [Call(f"count({numbers[0].text})"), Call(f"{w.draw.choice(('sum', 'avg', 'count'))}({numbers[1].text})")]
    on = f"{key.text} = {p}.{key.means}" + (f" AND {w.condition(inner)}" if w.chance(0.4) else "")
    where = f" WHERE {p}.{key.means} <> 1" if w.chance(0.3) else ""
    return Text(by, calls, f"FROM {table} AS {p} LEFT JOIN {inner.text} ON {on}{where}")


def beside_groups(w: Writer) -> Text:
    """Return a statement about groups, and what a subquery says of their key."""
    w.note("subquery beside groups")
    table = w.draw.choice(("customers", "orders", "items", "notes"))
    outer = w.maybe_filtered(w.scan(table), 0.4)
    key = w.draw.choice(outer.of(*KEYS, Kind.FLAG))
    inner = w.maybe_filtered(w.scan(table), 0.4)
    same = f"{inner.columns[0].text.split('.')[0]}.{key.text.split('.')[1]}"
    numbers = [f"{name}({c.text})" for c in inner.of(Kind.WHOLE) for name in ("sum", "avg")]
    call = w.draw.choice(("count(*)", *numbers))
    inner = inner.filtered(f"{same} = {key.text}")
    calls = [Call("count(*)"), Call(f"(SELECT {call} {inner.text_where})")]
    return Text([key.text], calls, f"{outer.text_where} GROUP BY 1 HAVING count(*) > 0")


def lists(w: Writer) -> Text:
    """Return a statement that puts lists of keys together."""
    w.note("lists of keys")
    kind = w.draw.choice(KEYS)
    word = w.draw.choice(("UNION", "INTERSECT", "EXCEPT"))
    base = w.maybe_filtered(w.scan(w.draw.choice(_with(kind))), 0.4)
    first = f"SELECT {w.draw.choice(base.of(kind)).text} {base.text_where}"
    counted = "" if word == "UNION" else " GROUP BY 1 HAVING count(*) > 0"
    return Text((), (), "", f"{first}{counted} {word} {_of_keys(w, kind)}")


WHOLE: Sequence[Callable[[Writer], Text]] = (public_first, beside_groups, lists)
"""Statements that are made as a whole."""
