"""Databases that are neighbours, side by side as schemas of one engine, so that one statement can be asked of all of them.

Each world has rows as they are, in another order, without nobody's, and without each of some units. Beside it stand other
rows, of units that all have no more than they may; on PostgreSQL also as the analyst sees them: the clamped tables, written
from the declared meaning alone.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from dpsql.policy.model import Column, Policy, SqlType, Table
from dpsql.privacy.release.exact import EngineRow
from tests.support.fix_shop import PROTECTED, Owner, Shop, Tables, completed, made_up, owners, without
from tests.support.records import Row
from tests.support.served import Served
from tests.support.shop_rows import VIEWS

UNITS = (1, 2, 3)
WHOLE, SHUFFLED, NOBODYS, EMPTY, MODEST = "whole", "shuffled", "nobodys", "empty", "modest"
NEIGHBOURS = tuple(f"without_{unit}" for unit in UNITS)
VERSIONS = (WHOLE, SHUFFLED, NOBODYS, *NEIGHBOURS)
_PLACE = '"@@"'
"""Stands in a measurement for the schema that it reads."""


def named(shop: Shop) -> Callable[[str], str]:
    """Return how statements name tables, of which the protected ones stand in any of the schemas."""
    return lambda table: f'{_PLACE}."{table}"' if table in PROTECTED else shop.engine.named(table)


def asked_of(shop: Shop, sql: str, world: int, versions: Sequence[str]) -> list[Sequence[EngineRow]]:
    """Return what an engine answers in each of some versions of a world, by one statement."""
    if len(versions) == 1:
        return [shop.engine.measured(sql.replace(_PLACE, schema(world, versions[0])))]
    parts = (
        f"SELECT {i} AS version, * FROM ({sql.replace(_PLACE, schema(world, version))}) AS q{i}"
        for i, version in enumerate(versions)
    )
    answers: list[list[EngineRow]] = [[] for _ in versions]
    for version, *row in shop.engine.measured(" UNION ALL ".join(parts)):
        answers[int(version or 0)].append(row)
    return [*answers]


def schema(world: int, version: str) -> str:
    """Return the name of a schema."""
    return f'"w{world}_{version}"'


def versions(tables: Tables, seed: int) -> Iterator[tuple[str, Tables]]:
    """Yield a world's tables and what becomes of them."""
    draw = random.Random(seed)  # noqa: S311  (an order)
    yield WHOLE, tables
    yield SHUFFLED, {name: draw.sample(list(rows), len(rows)) for name, rows in tables.items()}
    yield NOBODYS, without(tables, None)
    for name, unit in zip(NEIGHBOURS, UNITS, strict=True):
        yield name, without(tables, unit)
    yield EMPTY, {}
    yield MODEST, modest(seed)


def a_world(seed: int) -> Tables:
    """Return made-up tables; in every fourth world one of them is empty, in every fifth a unit has most of the rows."""
    tables = dict(made_up(seed, size=5, most=5 if seed % 3 else 3))
    if seed % 4 == 3:
        tables[PROTECTED[seed // 4 % len(PROTECTED)]] = []
    if seed % 5 == 4:
        pairs = zip(tables["calls"], owners(tables)["calls"], strict=True)
        tables["calls"] = [*tables["calls"], *([row for row, unit in pairs if unit == 1] * 2)]
    return tables


def modest(seed: int) -> Tables:
    """Return tables where each unit has at most as many rows of each as count."""
    tables = made_up(seed, size=14, most=12)
    left: dict[str, list[Row]] = {}
    for name, whose in owners(tables).items():
        seen: Counter[Owner] = Counter()
        left[name] = []
        for row, unit in zip(tables[name], whose, strict=True):
            seen[unit] += 1
            if unit is None or seen[unit] <= _MOST[name]:
                left[name].append(row)
    return left


_MOST = {"customers": 1, "orders": 2, "items": 3, "notes": 2, "calls": 2, "lines": 2, "returns": 2}


def put(shop: Shop, world: int, seed: int) -> None:
    """Make the schemas of a world."""
    for version, tables in versions(a_world(seed), seed):
        name = schema(world, version)
        shop.engine.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        shop.engine.execute(f"CREATE SCHEMA {name}")
        for table in PROTECTED:
            shop.engine.fill(table, completed(shop.policy, table, tables.get(table, ())))
            shop.engine.execute(f"CREATE TABLE {name}.{table} AS SELECT * FROM {shop.engine.named(table)}")
    if isinstance(shop.engine, Served):
        _put_clamped(shop, world)
        for version in (*VERSIONS, EMPTY, MODEST):
            shop.engine.execute(f"GRANT USAGE ON SCHEMA {schema(world, version)} TO reader")
            shop.engine.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema(world, version)} TO reader")


def _put_clamped(shop: Shop, world: int) -> None:
    """Make the tables as the analyst sees them."""
    name, place = schema(world, "meant"), schema(world, MODEST)
    shop.engine.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
    shop.engine.execute(f"CREATE SCHEMA {name}")
    for table_name in PROTECTED:
        table = shop.policy.tables[table_name]
        columns = ", ".join(f"{seen(c)} AS {c.name}" for c in table.columns.values())
        rows = f"SELECT {columns} FROM {place}.{table_name} AS {table_name} WHERE {owned(table, shop.policy, place)}"
        shop.engine.execute(f"CREATE TABLE {name}.{table_name} AS {rows}")


def seen(column: Column) -> str:
    """Return how the analyst sees a column."""
    name = column.name
    if column.references is not None and column.references.public:
        keys = f"SELECT {column.references.column} FROM public.{column.references.table}"
        return f"CASE WHEN {name} IN ({keys}) THEN {name} END"
    if column.values is not None and column.type.is_text and column.type is not SqlType.ENUM:
        return f"CASE WHEN {name} IN ({', '.join(repr(value) for value in column.values)}) THEN {name} END"
    if column.bounds is None or column.type is SqlType.TIME:
        return name
    low, high = (_spelt(end, column) for end in (column.bounds.low, column.bounds.high))
    number = f"{name} <> 'NaN'" if column.type.is_float else f"{name} IS NOT NULL"
    return f"CASE WHEN {number} THEN least(greatest({name}, {low}), {high}) END"


def _spelt(end: Fraction | int, column: Column) -> str:
    if column.type is SqlType.TIMESTAMP:
        return f"timestamp '1970-01-01' + {int(end)} * interval '1 microsecond'"
    if column.type is SqlType.TIMESTAMPTZ:
        return f"timestamptz '1970-01-01Z' + {int(end)} * interval '1 microsecond'"
    if column.type is SqlType.INTERVAL:
        return f"{int(end)} * interval '1 microsecond'"
    return f"{end}::{column.declared}"


def owned(table: Table, policy: Policy, place: str = "public") -> str:
    """Return the condition that a row of a table is somebody's."""
    unit = table.units["customer"]
    if unit.through is None:
        return f"{table.name}.{unit.column} IS NOT NULL"
    target = policy.tables[unit.through.table]
    pairs = zip(unit.through.columns, unit.columns, strict=True)
    conditions = [
        *(f"{target.name}.{theirs} = {table.name}.{mine}" for theirs, mine in pairs),
        owned(target, policy, place),
    ]
    return f"EXISTS (SELECT 1 FROM {place}.{target.name} AS {target.name} WHERE {' AND '.join(conditions)})"


def _read(number: str, sql: str) -> set[str]:
    """Return which columns a statement reads of a scan."""
    return set(re.findall(rf"\bt{number}\.(\w+)", sql))


_VIEWED = re.compile(rf"\b({'|'.join(VIEWS)}) AS t(\d+)\b")
_SCANS = re.compile(rf"\b({'|'.join(PROTECTED)}) AS (t\d+)\b")


def meant(sql: str, policy: Policy, world: int) -> str:
    """Return a generated statement over the clamped tables; each scan sees the rows with a value in what is read of it.

    What stands in a comment is meant.
    """
    sql = re.sub(r"/\*(.*?)\*/", r"\1", sql)
    sql = _VIEWED.sub(lambda match: f"({VIEWS[match[1]].query(match[2], _read(match[2], sql))}) AS t{match[2]}", sql)

    def scan(match: re.Match[str]) -> str:
        table, alias = policy.tables[match[1]], match[2]
        read = _read(alias[1:], sql)
        needed = [f"{name} IS NOT NULL" for name in sorted(read) if not table.columns[name].nullable]
        rows = f"{schema(world, 'meant')}.{table.name}"
        return f"(SELECT * FROM {rows} WHERE {' AND '.join(needed)}) AS {alias}" if needed else f"{rows} AS {alias}"

    return _SCANS.sub(scan, sql)
