"""Made-up statements and tables of the wide world: joins through any comparison, keys of any type, values that look alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from hypothesis import strategies as st

from dpsql.privacy.features.lattice import MOST_POINTS
from tests.support.fix_wide import FINE, KEYS, LARGE, plain
from tests.support.records import Cell, Row

UNITS: Mapping[str, str] = {"visits": "person", "members": "member", "payers": "payer"}
_COMPARED: Mapping[str, Sequence[str]] = {
    "big": ["v.place", "v.place", "fav", "v.big", "v.num", "v.dbl", "fav::double precision", "iv"],
    "num": ["v.num", "v.place", "v.big", "fav", "v.dbl", "fav * 1.0"],
    "dbl": ["v.dbl", "v.num", "g", "iv", "round(g)"],
    "txt": ["v.txt", "coalesce(v.txt, 'a')"],
    "moment": ["v.moment", "v.day"],
    "day": ["v.day"],
    "flag": ["v.flag", "iv > 1"],
}
_PUBLIC = ("key", "num", "share", "dbl", "moment", "day", "flag", "big", "label")
_COMPUTED = (
    "CASE WHEN {0}.num = 9007199254740993 THEN 0.1 WHEN {0}.flag THEN 0.100000000000000000001 ELSE 0.5 END",
    "coalesce({0}.num, {0}.share)",
    "{0}.num = 9007199254740992",
    "{0}.label IS NULL",
    "CASE WHEN {0}.flag THEN {0}.share ELSE {0}.dbl END",
)
_OWN = (
    "iv", "v.flag", "round(g)", "ceil(g)", "trunc(g)", "floor(g) * 2", "iv + 9007199254740992", "g >= 0", "v.dbl = 0",
    "CASE WHEN iv > 1 THEN 0.1 WHEN iv = 1 THEN 0.1000000000000000000001 ELSE g END",
    "CASE WHEN g > 0 THEN 1 WHEN g = 0 THEN 1.2 END", "coalesce(round(g), 0)",
)  # fmt: skip
_UNDECLARED = ("v.txt", "v.big", "v.moment", "v.day")
_WHERE = (
    "iv > 0",
    "g >= 0",
    "v.dbl = 0",
    "v.txt = 'a'",
    "v.flag IS NOT TRUE",
    "v.num > 1",
    "round(g) = 0",
    "v.big IS NULL",
)
_OF_PAYERS = (
    "v.payer IN (SELECT w.payer FROM payers w WHERE w.iv > 0)",
    "v.payer NOT IN (SELECT w.payer FROM payers w WHERE w.iv > 1)",
    "EXISTS (SELECT 1 FROM payers w WHERE w.payer = v.payer AND w.iv > v.iv)",
    "NOT EXISTS (SELECT 1 FROM payers w WHERE v.payer = w.payer AND w.flag)",
)
"""Conditions by which decimals, that double precision may take for one another, name the same individual."""
_TWICE = "(SELECT * FROM payers UNION ALL SELECT * FROM payers)"
_DISTINCT = ("v.dbl", "v.num", "v.txt", "iv", "v.moment", "round(g)", "v.big", "v.flag")


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement over one of the protected tables, and who asks."""

    sql: str
    table: str
    user: str
    fixed: bool
    """Whether how many rows come out is public: no key is found out, and nothing reads a released number."""


@cache
def _aggregates(unit: str) -> st.SearchStrategy[str]:
    sums = [
        "count(*)",
        "count(*)",
        "sum(iv)",
        "avg(iv)",
        "sum(g)",
        "stddev(g)",
        "count(g)",
        "count(*) FILTER (WHERE g > 0)",
    ]
    orders = ["median(iv)", "max(iv)", "min(g)", "percentile_cont(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY g)"]
    distinct = [f"count(DISTINCT {x})" for x in (*_DISTINCT, unit)]
    return st.sampled_from([*sums, *orders, *distinct])


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """Return statements, most of which are not refused."""
    table = draw(st.sampled_from(["visits", "visits", "members", "payers"]))
    user = draw(st.sampled_from(["ana", "eve"]))
    scanned = draw(st.sampled_from([table, table, _TWICE])) if table == "payers" else table
    joins, aliases = [f"FROM {scanned} v"], []
    for alias in draw(st.sampled_from(["", "p", "p", "pq"])):
        kind = draw(st.sampled_from(list(_COMPARED)))
        other = draw(st.sampled_from(_COMPARED[kind]))
        joins.append(f"{draw(st.sampled_from(['JOIN', 'LEFT JOIN']))} by_{kind} {alias} ON {alias}.key = {other}")
        aliases.append(alias)
    keys = [st.sampled_from(_OWN)]
    keys += [st.sampled_from([f"{a}.{name}" for name in _PUBLIC]) for a in aliases for _ in range(2)]
    keys += [st.sampled_from([text.format(a) for text in _COMPUTED]) for a in aliases]
    keys += [st.sampled_from(_UNDECLARED)] if user == "eve" else []
    by = draw(st.lists(st.one_of(keys), max_size=2, unique=True))
    conditions = [*_WHERE, *_OF_PAYERS, *_OF_PAYERS] if scanned == "payers" else _WHERE
    where = draw(st.one_of(st.just(""), st.just(""), st.sampled_from(conditions).map(" WHERE {}".format)))
    source = f"{' '.join(joins)}{where}"
    if by and draw(st.integers(0, 7)) == 0:
        return Asked(f"SELECT DISTINCT {', '.join(by)} {source}", table, user, user == "ana")
    outputs = [*by, *draw(st.lists(_aggregates(UNITS[table]), min_size=1, max_size=2))]
    grouping = f" GROUP BY {', '.join(str(i + 1) for i in range(len(by)))}" if by else ""
    reads = draw(st.sampled_from(["", "", "", " HAVING count(*) > 1", " ORDER BY count(*) LIMIT 2"]))
    return Asked(f"SELECT {', '.join(outputs)} {source}{grouping}{reads}", table, user, not reads and user == "ana")


_CELLS: Mapping[str, Sequence[Cell]] = {
    "place": KEYS["big"],
    "fav": [*KEYS["big"], -(2**62)],
    "big": [*KEYS["big"], None, -LARGE - 1, 2**63 - 1, -(2**63)],
    "num": [*KEYS["num"], Decimal(0), None, Decimal("1.0")],
    "dbl": [*KEYS["dbl"], -0.0, float("nan"), float("inf"), float("-inf"), None],
    "txt": [*KEYS["txt"], None],
    "moment": [*KEYS["moment"], None],
    "day": [*KEYS["day"], None],
    "flag": [True, False, None],
    "iv": [0, 1, 2, 3, -5, 2**31 - 1, None],
    "g": [
        -0.25,
        0.25,
        1 + 2.0**-10,
        -1 - 2.0**-10,
        1 + 1 / MOST_POINTS,
        -1 - 1 / MOST_POINTS,
        -0.0,
        0.0,
        0.5,
        1.0,
        -1.0,
        float("nan"),
        float("inf"),
        None,
        float(FINE),
    ],
}


def tables(table: str) -> st.SearchStrategy[list[Row]]:
    """Return small tables: of each unit one row where the engine allows no more, else up to twice as many as it may have."""
    if table == "members":
        names = st.lists(st.integers(1, 6), max_size=6, unique=True)
    else:
        large = [LARGE, LARGE, LARGE + 1] if table == "payers" else []
        names = st.lists(st.sampled_from([1, 1, 2, 2, 3, None, *large]), max_size=9)
    cells = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in _CELLS.items()})
    scales = st.sampled_from([Decimal(1), Decimal("0.1"), Decimal("0.01")])

    def named(name: int | None, scale: Decimal) -> Cell:
        return Decimal(name).quantize(scale) if table == "payers" and name is not None else name

    def row(name: int | None) -> st.SearchStrategy[Row]:
        return st.builds(lambda c, s: plain(UNITS[table], named(name, s)) | c, cells, scales)

    return names.flatmap(lambda every: st.tuples(*map(row, every))).map(list)
