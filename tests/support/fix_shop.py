"""A world of several protected tables: units of their own, through one reference and through two, and public tables."""

import datetime as dt
import random
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting.ledger import Ledger
from dpsql.engines.base import Engine
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.gateway.gateway import Gateway
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.privacy.mechanisms.entropy import Entropy
from tests.support.fix_world import World, running
from tests.support.memory import Memory
from tests.support.records import Row
from tests.support.schema import configured, of, put_apart
from tests.support.served import Filled, Served

_CONFIG = """\
dataset: shop
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  customer: {epsilon: 1e30, delta: 0.5}
roles:
  owner: {protects: customer, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}}
  explorer: {protects: customer, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
users: {}
"""
USERS = {"ana": "owner", "eve": "explorer"}
PUBLIC: Mapping[str, Sequence[Row]] = {
    "nations": [{"nation": n, "name": name} for n, name in enumerate(("Chad", "Peru", "Fiji"))],
    "parts": [{"part": n, "kind": "ab"[n % 2], "nation": (0, 1, None)[n % 3]} for n in range(4)],
}
PROTECTED = ("customers", "orders", "items", "notes", "calls", "lines", "returns")
_DAY = dt.datetime(2019, 3, 1)  # noqa: DTZ001  (timestamps without time zone)
Tables = Mapping[str, Sequence[Row]]
Owner = int | None


@dataclass(frozen=True, slots=True)
class Shop:
    """One engine with the tables of the shop, and what is public."""

    world: World
    engine: Filled

    @property
    def policy(self) -> Policy:
        """Return the policy."""
        return self.world.policy

    def gateway(
        self, ledger: Ledger, entropy: Entropy, seen: Callable[[Engine], Engine] = lambda engine: engine
    ) -> Gateway:
        """Return a gateway to the engine, or to what `seen` makes of it."""
        return self.world.gateway(seen(self.engine), ledger, entropy=entropy)

    def fill(self, tables: Tables, names: Sequence[str] = PROTECTED) -> None:
        """Let the protected tables, or just some of them, hold just these rows."""
        for name in names:
            self.engine.fill(name, completed(self.policy, name, tables.get(name, ())))


Shops = Mapping[str, Shop]


def completed(policy: Policy, name: str, rows: Sequence[Row]) -> list[Row]:
    """Return rows of a table with NULL in the columns that they leave out."""
    return [{column: row.get(column) for column in policy.tables[of(name)].columns} for row in rows]


def paying(policy: Policy, epsilon: int, *roles: str) -> Policy:
    """Return the policy under which statements of some roles, or of all, pay so much."""
    changed = {
        name: replace(role, per_query=replace(role.per_query, epsilon=Fraction(epsilon)))
        for name, role in policy.roles.items()
        if name in roles or not roles
    }
    return replace(policy, roles={**policy.roles, **changed})


def read_shop(directory: Path) -> Policy:
    """Return the policy of the shop; its files are put together in `directory`."""
    shutil.copytree(Path(__file__).parent.parent / "schemas" / "shop", directory / "schemas")
    put_apart(directory / "schemas")
    (directory / "config.yaml").write_text(configured(_CONFIG), encoding="utf-8")
    return load(directory / "config.yaml").policy


@pytest.fixture(scope="session")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shops]:
    """DuckDB and PostgreSQL with the tables of the shop; what they hold is the last test's."""
    directory = tmp_path_factory.mktemp("shop")
    policy = read_shop(directory)
    memory = Memory(policy, public=PUBLIC, lasting=directory / "shop.duckdb")
    with running(policy, USERS, memory) as world:
        served = Served(world, "shop_records", PUBLIC)
        engines: Mapping[str, Filled] = {"duckdb": memory, "postgres": served}
        yield {name: Shop(replace(world, public=read_public(policy, e)), e) for name, e in engines.items()}
        served.close()
        memory.close()


def owners(tables: Tables) -> Mapping[str, Sequence[Owner]]:
    """Return whose each row is: of rows that are several units', the first one's."""
    buyers: dict[object, Owner] = {}
    for row in tables.get("orders", ()):
        buyers.setdefault(row["order_id"], _unit(row["buyer"]))
    items: dict[object, Owner] = {}
    for row in tables.get("items", ()):
        items.setdefault(row["item"], buyers.get(row["of_order"]))
    payers: dict[object, Owner] = {(row["bill"], row["place"]): _unit(row["payer"]) for row in tables.get("lines", ())}
    return {
        "customers": [_unit(row["customer"]) for row in tables.get("customers", ())],
        "orders": [_unit(row["buyer"]) for row in tables.get("orders", ())],
        "items": [buyers.get(row["of_order"]) for row in tables.get("items", ())],
        "notes": [items.get(row["about"]) for row in tables.get("notes", ())],
        "calls": [_unit(row["caller"]) for row in tables.get("calls", ())],
        "lines": [_unit(row["payer"]) for row in tables.get("lines", ())],
        "returns": [payers.get((row["bill"], row["of_line"])) for row in tables.get("returns", ())],
    }


def _unit(cell: object) -> Owner:
    return cell if isinstance(cell, int) else None


def without(tables: Tables, unit: Owner) -> Tables:
    """Return the tables without all rows of a unit; without nobody's for None."""
    whose = owners(tables)
    return {
        name: [row for row, owner in zip(rows, whose[name], strict=True) if owner != unit]
        for name, rows in tables.items()
    }


def made_up(seed: int, *, size: int = 4, most: int = 3) -> Tables:
    """Return small tables: some units with nothing, some with far more than they may have; NULL everywhere."""
    draw = random.Random(seed)  # noqa: S311  (synthetic records)

    def some(*values: object) -> object:
        return None if draw.random() < 0.15 else draw.choice(values)

    def number(least: int, most: int) -> object:
        return some(*range(least - 1, most + 2))

    units = [1, 1, 1, 2, 2, *range(3, most + 1)]
    names = [n for n in range(1, most + 1) if draw.random() < 0.8]
    customers = [
        {"customer": n, "nation": number(0, 2), "segment": some("home", "shop", "?"), "balance": number(-4, 4)}
        for n in names
    ]
    orders = [
        {
            "order_id": n,
            "buyer": some(*units),
            "status": some("open", "done", "?"),
            "total": number(0, 8),
            "code": some(1, 2),
        }
        for n in draw.sample(range(5 * size), size * 2)
    ]
    items = [
        {
            "item": n,
            "of_order": some(*(row["order_id"] for row in orders), 99),
            "part": number(0, 3),
            "quantity": number(0, 4),
            "late": some(True, False),
        }
        for n in draw.sample(range(10 * size), size * 4)
    ]
    notes = [
        {"about": some(*(row["item"] for row in items), 99), "mood": some("good", "bad", "?")} for _ in range(size * 3)
    ]
    calls = [{"caller": some(*units), "minutes": number(0, 4)} for _ in range(size * 2)]
    tables = {"customers": customers, "orders": orders, "items": items, "notes": notes, "calls": calls}
    for rows in tables.values():
        draw.shuffle(rows)
    _further(tables, random.Random(seed))  # noqa: S311
    _rarer(tables, random.Random(f"rarer {seed}"))  # noqa: S311
    tables |= _billed(size, units, random.Random(f"billed {seed}"))  # noqa: S311
    return tables  # type: ignore[return-value]  # cells of the declared types


def _billed(size: int, units: Sequence[int], draw: random.Random) -> Mapping[str, list[dict[str, object]]]:
    """Return lines of bills, of which hardly any is one unit's, and what was returned of them, and of no line."""

    def some(*values: object) -> object:
        return None if draw.random() < 0.15 else draw.choice(values)

    keys = draw.sample([(bill, place) for bill in range(size) for place in range(1, 5)], size * 2)
    lines = [
        {"bill": bill, "place": place, "payer": some(*units), "amount": some(*range(-1, 6))} for bill, place in keys
    ]
    returns = [
        {
            "bill": some(*range(size), 99),
            "of_line": some(1, 2, 3, 4),
            "back": some(*range(-1, 6)),
            "worn": some(True, False),
        }
        for _ in range(size * 4)
    ]
    return {"lines": lines, "returns": returns}


def _further(tables: dict[str, list[dict[str, object]]], draw: random.Random) -> None:
    """Give the rows fractions, times and texts."""

    def some(*values: object) -> object:
        return None if draw.random() < 0.15 else draw.choice(values)

    for row in tables["customers"]:
        row["rate"] = some(-0.0, 0.0, 0.125, 0.5, 1.25, 2.0, 2.5, -1.0, float("nan"), float("inf"))
    for row in tables["items"]:
        row["price"] = some(*map(Decimal, ("0", "0.01", "12.50", "12.50", "37.75", "50", "50.01", "-3")))
    for row in tables["calls"]:
        row["began"] = some(_DAY - dt.timedelta(1), *(_DAY + dt.timedelta(hours=n) for n in (0, 5, 5, 36, 200, 999)))
        row["remark"] = some("", "abc", "ABC", "a%", "zebra", "Ünïcode \\ 'quoted'")


def _rarer(tables: dict[str, list[dict[str, object]]], draw: random.Random) -> None:
    """Give the rows values of the types that are rare."""

    def some(*values: object) -> object:
        return None if draw.random() < 0.15 else draw.choice(values)

    ends = [_DAY.replace(tzinfo=dt.UTC) + dt.timedelta(hours=hours) for hours in (-24, 0, 5, 36, 200, 999)]
    spans = [dt.timedelta(hours=hours) for hours in (-3, 0, 5, 12, 36, 90)]
    for row in tables["customers"]:
        row["tier"] = some("low", "mid", "top")
    for row in tables["orders"]:
        row["ticket"] = some(*(str(uuid.UUID(int=n)) for n in (1, 1, 2)))
    for row in tables["notes"]:
        row["grade"] = some("a", "ab", "ab ", "xyz", "b")
    for row in tables["calls"]:
        row["ended"], row["waited"] = some(*ends), some(*spans)
        row["clock"] = some(dt.time(), dt.time(6), dt.time(6), dt.time(12, 30, 0, 500_000), dt.time(23, 59, 59))
