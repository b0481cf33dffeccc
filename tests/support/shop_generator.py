"""Made-up statements over the shop: each number is a statement, always the same."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.support.shop_draft import Writer
from tests.support.shop_expressions import Call, aggregate
from tests.support.shop_rows import LOOKED_UP, NUMBERS, TABLES, VIEWS, Col, Kind, Rows
from tests.support.shop_words import WHOLE as WHOLE_STATEMENTS
from tests.support.shop_words import Text, first_rows, in_other_words
from tests.support.shop_writer import rows

_WORDED = 0.25
"""The share of statements that say something in words that are read as others."""


@dataclass(frozen=True, slots=True)
class Written:
    """A statement, who asks, and what is in it."""

    sql: str
    user: str
    keys: int
    """How many of its columns are group keys, which come first."""
    exact: tuple[bool, ...]
    """Of each aggregate whether what it says is exact but for its noise."""
    has: frozenset[str]


FEATURES = (
    "join of protected tables", "LEFT JOIN of protected tables", "RIGHT JOIN", "public table", "several public tables",
    "public subquery", "VALUES", "unnest", "generate_series", "CTE of constants", "CTE", "rows that pass through",
    "rows of single units", "per unit and key", "DISTINCT units", "HAVING of units", "histogram of units", "window", "ties",
    "aggregate of a window",
    "UNION ALL", "EXISTS", "NOT EXISTS", "IN units", "NOT IN units", "public rows exist", "IN public rows", "DISTINCT",
    "sum of DISTINCT", "FILTER", "interval", "order statistic", "text without values", "key by arithmetic",
    "key by a function", "arithmetic in a condition", "above an answer", "top groups", "joined with an answer", "others",
    "share of a total", "found keys", "HAVING", "IN units with HAVING", "EXISTS under OR", "aggregate of the same unit",
    "aggregate of the same group", "look into a public table", "view", "GROUPING SETS", "timestamp with a zone",
    "time of the day", "interval that is stored", "enumeration", "char(n)", "UUID", "LATERAL", "NATURAL JOIN",
    "CROSS JOIN of public rows", "public rows first", "subquery beside groups", "lists of keys", "first rows of units",
    "pairs with a unit", "text of a time", "columns compared",
)  # fmt: skip
"""What a statement may have."""
STAGES = frozenset({"above an answer", "aggregate of the same group", "top groups", "joined with an answer", "others"})
"""Those by which an answer decides about rows."""
_SCANNED: Mapping[str, Sequence[Col]] = {**TABLES, **{name: view.columns for name, view in VIEWS.items()}}
_PLAIN = re.compile(r"t\d+\.\w+")
"""A column of a table."""


def written(number: int) -> Written:
    """Return the statement of a number."""
    w, words = (Writer(random.Random(f"{what} {number}")) for what in ("shop", "words"))  # noqa: S311  (statements)
    worded = words.chance(_WORDED)
    if worded and words.chance(0.25):
        return _whole(words, words.draw.choice(WHOLE_STATEMENTS)(words))
    base = first_rows(w) if worded and words.chance(0.15) else rows(w)
    for share, condition in ((0.35, None), (0.26, exists), (0.18, public_exists), (0.11, above), (0.18, correlated)):
        if w.chance(share):
            base = base.filtered(w.condition(base)) if condition is None else condition(w, base)
    if w.chance(0.22):
        base = beside_an_answer(w, base)
    base = _perhaps_compared(base, Writer(random.Random(f"compared {number}")), w)  # noqa: S311  (statements)
    return _asked(w, in_other_words(w, base) if worded else base, worded=worded)


_COLUMN = re.compile(r"\w+\.\w+")
_COMPARED = (Kind.WHOLE, Kind.KEY), (Kind.LABEL, Kind.TEXT), (Kind.MOMENT,)


def _perhaps_compared(base: Rows, other: Writer, w: Writer) -> Rows:
    """Return those of which two columns compare, seldom: of one table, or of a row and what stands beside it."""
    columns = [column for column in base.of(*other.draw.choice(_COMPARED)) if _COLUMN.fullmatch(column.text)]
    if len(columns) < 2 or not other.chance(0.25):
        return base
    w.note("columns compared")
    a, b = other.draw.sample(columns, 2)
    operator = other.draw.choice(
        ("=", "<>") if a.kind in {Kind.LABEL, Kind.TEXT} else ("=", "<>", "<", "<=", ">", ">=")
    )
    left = other.draw.choice((a.text, f"coalesce({a.text}, {b.text})"))
    return base.filtered(f"{left} {operator} {b.text}")


def _whole(w: Writer, text: Text) -> Written:
    """Return a statement that was made as a whole."""
    if text.sql:
        return Written(text.sql, "ana", 1, (), frozenset(w.has))
    outputs = ", ".join([*text.by, *(call.text for call in text.calls)])
    grouped = "" if " GROUP BY 1" in text.rest else f" GROUP BY {', '.join(str(i + 1) for i, _ in enumerate(text.by))}"
    exact = tuple(call.exact for call in text.calls)
    return Written(f"SELECT {outputs} {text.rest}{grouped}", "ana", len(text.by), exact, frozenset(w.has))


def _asked(w: Writer, base: Rows, *, worded: bool) -> Written:
    user = "eve" if w.chance(0.16) else "ana"
    by = _keys(w, base, user)
    if worded and (moments := base.of(Kind.MOMENT)) and user == "ana":
        w.note("text of a time")
        text = w.draw.choice(("left({}::text, 10)", "substring({}::text, 1, 13)", "left({}::text, 7)"))
        by = [*by[:1], text.format(w.draw.choice(moments).text)]
    made = "rows of single units" in w.has or "UNION ALL" in w.has
    calls = [aggregate(base, w.draw, w.note, made=made) for _ in range(w.draw.choice((1, 1, 2, 3)))]
    if by and w.chance(0.08):
        w.note("share of a total")
        other = w.scan()
        calls.append(Call(f"round(100.0 * count(*) / nullif((SELECT count(*) FROM {other.text}), 0), 2)"))
    calls = list({call.text: call for call in (*calls, Call("count(*)"))}.values())
    sets = _sets(w, by, calls) if user == "ana" and "WITH " not in "".join(by) else ""
    shown = [*by, f"grouping({', '.join(by)})"] if sets else by
    outputs = ", ".join([*shown, *(call.text for call in calls)])
    grouped = sets or (f" GROUP BY {', '.join(str(i + 1) for i, _ in enumerate(by))}" if by else "")
    if by and w.chance(0.1):
        w.note("HAVING")
        grouped += " HAVING count(*) > 1"
    sql = w.completed(f"SELECT {outputs} {base.text_where}{grouped}")
    return Written(sql, user, len(shown), tuple(call.exact for call in calls), frozenset(w.has))


def _sets(w: Writer, by: Sequence[str], calls: Sequence[Call]) -> str:
    """Return GROUP BY with several sets of the keys, where the aggregates add up; seldom, else nothing."""
    if not by or any("DISTINCT" in call.text or not call.exact for call in calls) or not w.chance(0.2):
        return ""
    w.note("GROUPING SETS")
    numbers = [str(i + 1) for i, _ in enumerate(by)]
    some = ", ".join(numbers)
    sets = (f"ROLLUP ({some})", f"CUBE ({some})", f"GROUPING SETS (({some}), ())", f"GROUPING SETS ({some})")
    return f" GROUP BY {w.draw.choice(sets)}"


def _keys(w: Writer, base: Rows, user: str) -> list[str]:
    made = [key for key in (w.key(base) for _ in range(w.draw.choice((0, 1, 1, 1, 2)))) if key is not None]
    looked = [c for c in base.of(Kind.KEY) if c.means]
    if looked and w.chance(0.15):
        w.note("look into a public table")
        a, p = w.draw.choice(looked), w.alias("p")
        table, columns = LOOKED_UP[a.means]
        made.append(f"(SELECT {p}.{columns[0].text} FROM {table} AS {p} WHERE {p}.{a.means} = {a.text})")
    by = list(dict.fromkeys(made))
    if any(text.endswith((".n", ".x")) and text.startswith("s") for text in by):
        w.note("histogram of units")
    texts = base.of(Kind.TEXT, Kind.NUMBER, Kind.UUID, Kind.CLOCK)
    if user == "eve" and texts:
        w.note("found keys")
        by = [*by[:1], w.draw.choice(texts).text]
    return by


def exists(w: Writer, base: Rows) -> Rows:
    """Return those for which there are rows of the same unit, or none."""
    names = [name for name in base.names if name.means != "nothing"]
    if not names:
        return base
    mine = w.draw.choice(names)
    tables = [table for table, columns in TABLES.items() if any(c.means == mine.means for c in columns)]
    other = w.scan(w.draw.choice(tables))
    name = next(name.text for name in other.names if name.means == mine.means)
    other = w.maybe_filtered(other, 0.6)
    kind = w.draw.choice(("EXISTS", "NOT EXISTS", "IN units", "NOT IN units"))
    w.note(kind)
    if "IN" in kind:
        word = "NOT IN" if "NOT" in kind else w.draw.choice(("IN", "= ANY"))
        having = ""
        if kind == "IN units" and mine.means == "unit" and w.chance(0.7):
            w.note("IN units with HAVING")
            word, having = "IN", f" GROUP BY {name} HAVING count(*) > 1"
        return base.filtered(_perhaps_beside(w, base, f"{mine.text} {word} (SELECT {name} {other.text_where}{having})"))
    inside = other.filtered(f"{name} = {mine.text}")
    if w.chance(0.2) and (same := [c for c in base.of(*NUMBERS) if c.text.startswith("t")]):
        inside = inside.filtered(f"{w.draw.choice(same).text} >= {w.draw.choice(inside.of(*NUMBERS) or same).text}")
    return base.filtered(_perhaps_beside(w, base, f"{kind} (SELECT 1 {inside.text_where})"))


def _perhaps_beside(w: Writer, base: Rows, condition: str) -> str:
    """Return a condition, now and then as one side of another."""
    if w.chance(0.7):
        return condition
    w.note("EXISTS under OR")
    other = w.condition(base)
    return w.draw.choice((f"({other} OR {condition})", f"NOT ({other} AND {condition})"))


def correlated(w: Writer, base: Rows) -> Rows:
    """Return those by an aggregate of the same unit's rows, or of the rows of the same group; or by what a key finds."""
    numbers = base.of(Kind.WHOLE)
    names = [name for name in base.names if name.means not in {"nothing", "item"} and _PLAIN.fullmatch(name.text)]
    keys = [c for c in base.of(Kind.LABEL, Kind.KEY, Kind.FLAG) if _PLAIN.fullmatch(c.text)]
    ties = [*names, *keys, *keys] if w.chance(0.6) else names
    if not numbers or not ties:
        return base
    mine = w.draw.choice(ties)
    own, column = mine.kind is Kind.NAME, mine.text.split(".")[1]
    tables = [
        t for t, columns in TABLES.items() if any(c.means == mine.means if own else c.text == column for c in columns)
    ]
    tables = [t for t in tables if any(c.kind is Kind.WHOLE for c in TABLES[t])]
    if not tables:
        return base
    w.note("aggregate of the same unit" if own else "aggregate of the same group")
    inner = w.scan(w.draw.choice(tables))
    tied = next(c for c in inner.columns if (c.means == mine.means if own else c.text.endswith(f".{column}")))
    y = inner.of(Kind.WHOLE)[0].text
    call = w.draw.choice(
        (f"avg({y}) + 0.37", f"max({y})", f"min({y})", "count(*)", f"sum({y})")
        if own
        else (f"avg({y}) + 0.37", "count(*) + 0.37")
    )
    inner = w.maybe_filtered(inner, 0.4).filtered(f"{tied.text} = {mine.text}")
    return base.filtered(
        f"{w.draw.choice(numbers).text} {w.draw.choice(('<', '>', '>='))} (SELECT {call} {inner.text_where})"
    )


def public_exists(w: Writer, base: Rows) -> Rows:
    """Return those for which a public table has rows, or none."""
    keys = [c for c in base.of(Kind.KEY) if c.means]
    if not keys:
        return base
    a, p = w.draw.choice(keys), w.alias("p")
    table, value = {"nation": ("nations", "'Peru'"), "part": ("parts", "'a'")}[a.means]
    column = {"nation": "name", "part": "kind"}[a.means]
    if w.chance(0.5):
        w.note("IN public rows")
        word = w.draw.choice(("IN", "NOT IN"))
        return base.filtered(f"{a.text} {word} (SELECT {p}.{a.means} FROM {table} AS {p} WHERE {p}.{column} = {value})")
    w.note("public rows exist")
    word = w.draw.choice(("EXISTS", "NOT EXISTS"))
    inside = f"SELECT 1 FROM {table} AS {p} WHERE {p}.{a.means} = {a.text} AND {p}.{column} <> {value}"
    return base.filtered(f"{word} ({inside})")


def above(w: Writer, base: Rows) -> Rows:
    """Return those above an answer; it is between two numbers that can be."""
    numbers = base.of(Kind.WHOLE)
    if not numbers:
        return base
    w.note("above an answer")
    inner = w.maybe_filtered(_simple(w, Kind.WHOLE), 0.3)
    x, y = w.draw.choice(numbers).text, w.draw.choice(inner.of(Kind.WHOLE)).text
    return base.filtered(f"{x} {w.draw.choice('<>')} (SELECT avg({y}) + 0.37 {inner.text_where})")


def _simple(w: Writer, kind: Kind) -> Rows:
    """Return the rows of a table that has a column of a kind."""
    while True:
        base = w.scan()
        if base.of(kind):
            return base


def beside_an_answer(w: Writer, base: Rows) -> Rows:
    """Return rows that an answer's rows choose, or stand beside."""
    pairs = [c for c in base.of(Kind.LABEL, Kind.KEY) if _PLAIN.fullmatch(c.text)]
    if not pairs:
        return base
    mine = w.draw.choice(pairs)
    column = mine.text.split(".")[1]
    inner = w.scan(next(t for t, columns in _SCANNED.items() if any(c.text == column for c in columns)))
    theirs = next(c for c in inner.columns if c.text.endswith(f".{column}"))
    of_group = f"{inner.text_where} GROUP BY 1 HAVING count(*) > 0"
    top = f"{of_group} ORDER BY count(*) DESC, 1 LIMIT 2"
    s, roll = w.alias("a"), w.draw.random()
    if roll < 0.4:
        w.note("top groups")
        word = w.draw.choice(("IN", "IN", "NOT IN"))
        return base.filtered(f"{mine.text} {word} (SELECT {theirs.text} {top})")
    if roll < 0.65:
        w.note("joined with an answer")
        source = f"(SELECT {theirs.text} AS k, count(*) + 0.37 AS m {of_group}) AS {s}"
        base = replace(base, text=f"{base.text} JOIN {source} ON {s}.k = {mine.text}", plain=False)
        numbers = base.of(Kind.WHOLE)
        return base.filtered(f"{w.draw.choice(numbers).text} < {s}.m") if numbers and w.chance(0.6) else base
    w.note("others")
    source = f"(SELECT {theirs.text} AS k {top}) AS {s}"
    other = "'Others'" if mine.kind is Kind.LABEL else "-1"
    shown = Col(f"CASE WHEN {s}.k IS NOT NULL THEN {mine.text} ELSE {other} END", mine.kind, mine.values)
    text, rest = f"{base.text} LEFT JOIN {source} ON {s}.k = {mine.text}", base.of(Kind.WHOLE, Kind.DECIMAL)
    return Rows(text, (*rest, shown, shown), base.where, plain=False)
