"""No name of a column changes what is measured: neither the engine's own words, nor names that our own texts give."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from dpsql.policy.model import Policy
from dpsql.rewrite.emit.emitter import quote_name
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Exact, Measured, key_searches, measurements
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World, running
from tests.support.memory import Memory
from tests.support.prepared import Prepared
from tests.support.records import Row
from tests.support.samples import slow, spread
from tests.support.served import Filled, Served
from tests.support.shapes import ATTAINED, FOUND, NARROWED, OTHERS, UNITS

OURS = "u n k0 b x w hu g v s0 f0 heavy bits c p i l r h m".split()
"""Names that our texts give: a GROUP BY of PostgreSQL's takes a column of such a name, and not what it is given to."""
WORDS = [
    *("select", "from", "group", "order", "user", "true", "null", "rowid", "count", "dpsql 1", "units0", "rides"),
    *("ü", "日本", "a b", 'a"b', "a'b", "%s", "--", "x" * 63),
]
MOST = 3
_TEXTS = re.compile(r"('(?:[^']|'')*')")


def _renamed(sql: str, names: Mapping[str, str]) -> str:
    """Return a statement about the columns by other names; what it calls its own outputs stays."""
    column = re.compile(rf"(?<!AS )\b({'|'.join(names)})\b(?!\()")
    parts = _TEXTS.split(sql)
    return "".join(p if p.startswith("'") else column.sub(lambda of: quote_name(names[of[0]]), p) for p in parts)


def _with_names(policy: Policy, names: Mapping[str, str]) -> Policy:
    rides = policy.tables["rides"]
    columns = {names[name]: replace(column, name=names[name]) for name, column in rides.columns.items()}
    units = {kind: replace(unit, column=names[unit.column]) for kind, unit in rides.units.items()}
    renamed = replace(rides, columns=columns, units=units)
    return replace(policy, tables={**policy.tables, "rides": renamed}, views={})


def _shapes(names: Sequence[str], of: int) -> Iterator[tuple[str, str]]:
    """Yield statements with roles, where they give no such name themselves."""
    every = [
        *((sql, "owner") for sql in (*ATTAINED, *UNITS, *NARROWED, *OTHERS)),
        *((sql, "explorer") for sql in FOUND),
    ]
    own = set(names) - {"count", "rides", *"select from group order true null".split()}
    yield from (
        (sql, role) for sql, role in every if spread(sql, of) == 0 and not own & set(re.findall(r"\w+", sql.lower()))
    )


def _exact(sql: str, role: str, world: World, engine: Filled) -> Sequence[Exact]:
    policy = with_rows(world.policy, "rides", "passenger", MOST)
    parts = [*measurements(sql, policy, world, engine, role)]
    parts += key_searches(sql, policy, world, engine, role) if role == "explorer" else []
    return [Measured.of(part, engine, world).exact() for part in parts]


def _engines(world: World, name: str) -> Mapping[str, Filled]:
    return {"duckdb": Memory(world.policy), "snapshot": Prepared(world.policy), "postgres": Served(world, name)}


@pytest.mark.parametrize("of", [4, pytest.param(1, marks=slow)], ids=["some", "all"])
@pytest.mark.parametrize("new", [OURS, WORDS], ids=["ours", "words"])
def test_names_of_columns_change_nothing(new: Sequence[str], of: int, policy: Policy, world: World) -> None:
    """The same rows in a table whose columns have other names are the same sums, buckets and keys, on every engine."""
    rides = policy.tables["rides"]
    names = dict(zip(rides.columns, new, strict=True))
    usual = _engines(world, "usual_names")
    rows: list[Row] = [row for filled in databases(rides, "rider", MOST, "names") for row in filled]
    tried = list(_shapes(new, of))
    assert len(tried) > 80 // of
    with running(_with_names(policy, names)) as other:
        for name, engine in _engines(other, "other_names").items():
            usual[name].fill("rides", rows)
            engine.fill("rides", [{names[column]: cell for column, cell in row.items()} for row in rows])
            for sql, role in tried:
                renamed = _renamed(sql, names)
                assert _exact(renamed, role, other, engine) == _exact(sql, role, world, usual[name]), renamed
            engine.close()
    for engine in usual.values():
        engine.close()
