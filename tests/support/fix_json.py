"""A world of one table with a column of JSON, as clean and as dirty as such columns are; on both engines."""

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.question import Asker
from tests.support.fix_world import Client, World, noon, running
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Row
from tests.support.reference import Reference
from tests.support.served import Filled, Served, write_table

_CONFIG = """\
dataset: taxi
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  person: {epsilon: 1e30, delta: 0.5, profile: 1e12}
roles:
  owner: {protects: person, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}}
  explorer: {protects: person, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
  visitor: {protects: person, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}, columns: {events: [person, amount]}}
  nordic:
    protects: person
    budget: {epsilon: 1e30}
    per_query: {epsilon: 1e12}
    where: {events: "props->'address'->>'city' = 'Oslo' AND (props->>'age')::int >= 18"}
users: {}
"""
USERS = {"ana": "owner", "eve": "explorer", "vic": "visitor", "nor": "nordic"}

NOT_JSON = (
    "", "{", "nonsense", '{"plan": "pro"', '{"plan": "pro"} x', "{'plan': 'pro'}", "\x01", '{"plan": "\\ud800"}', "[" * 9_000,
)  # fmt: skip
"""Texts that are no JSON: DuckDB may hold them where JSON is declared."""
_NUL = '{"plan": "p\\u0000ro", "note": "a\\u0000b", "address": {"city": "Oslo\\u0000"}}'
ODD = (
    "[]", '["plan"]', '[{"plan": "pro"}]', "3", '"pro"', "true", "null", '{"Plan": "pro"}', '{"plan": null, "age": null}',
    '{"plan": {"plan": "pro"}, "age": {"a": 1}, "address": "Oslo"}', '{"plan": ["pro"], "age": [1], "address": ["city"]}',
    '{"plan": 3, "age": true, "active": 1, "since": 20190301, "note": 5, "address": {"city": 0}}',
    '{"plan": "PRO", "age": 1e400, "score": 1e400, "weight": -1e400, "serial": 1e400}',
    '{"age": "1e400", "score": "1e400", "weight": "1e-400", "serial": "99999999999999999999", "level": "40000"}',
    '{"age": 2147483648, "serial": 9223372036854775808, "level": 32768, "weight": 1e-40}',
    '{"age": -2147483649, "serial": -9223372036854775809, "level": -32769, "score": -1e5}',
    '{"age": "37", "score": "2.50", "weight": ".5", "active": "true", "level": "2", "serial": "17"}',
    '{"age": " 37", "score": "0x10", "weight": "NaN", "active": "yes", "level": "+2", "serial": "1_000"}',
    '{"age": 37.5, "score": 2.505, "weight": "Infinity", "active": "TRUE", "level": 2.0, "serial": 12.0}',
    '{"age": "", "score": "", "weight": "-", "active": "", "since": "", "at": "", "level": "", "serial": ""}',
    '{"since": "2019-02-30", "at": "2019-03-01T25:00:00"}', '{"since": "0000-01-01", "at": "0000-01-01 00:00:00"}',
    '{"since": "2019-13-01", "at": "2019-03-05T10:30:00+02:00"}', '{"since": "infinity", "at": "now"}',
    '{"since": "2019-3-1", "at": "2019-03-05 10:30:60"}', '{"since": "9999-12-31", "at": "9999-12-31T23:59:59.999999Z"}',
    '{"since": "0001-01-01", "at": "2019-03-05"}', '{"since": "epoch", "at": "2019-03-05T10:30:00.1234567"}',
    '{"since": "2019-03-01T00:00:00", "at": "2019-03-05T24:00:00"}',
    '{"note": "' + "x" * 5_000 + '"}', '{"age": ' + "1" * 400 + "}", '{"age": "' + "1" * 4_000 + '"}',
    '{"a":' * 900 + "1" + "}" * 900, '{"address": {"city": {"city": "Oslo"}}}',
    '{"note": "é\\u00e9\\t\\"\\\\ \\ud83d\\ude00"}',
)  # fmt: skip
"""JSON that does not hold what is declared, or holds it in odd ways: every engine may have it."""


def events(size: int = 1_500) -> list[Row]:
    """Return rows, most of them as declared."""
    draw = random.Random(11)  # noqa: S311  (synthetic records)
    return [_event(n, draw) for n in range(size)]


def _event(n: int, draw: random.Random) -> Row:
    props = ODD[n // 9 % len(ODD)] if n % 9 == 0 else None if n % 13 == 0 else json.dumps(_object(n, draw))
    return {"person": None if n % 101 == 0 else n // 5, "amount": (n * 7) % 130, "props": props}


def _object(n: int, draw: random.Random) -> dict[str, object]:
    whole: dict[str, object] = {
        "plan": draw.choice(["free", "free", "pro", "team", "gold"]),
        "age": draw.randrange(-4, 140),
        "score": round(draw.uniform(-7, 12), 2),
        "weight": draw.randrange(-200, 1200) / 1000,
        "active": draw.random() < 0.4,
        "since": f"20{draw.choice([18, 19, 19, 20])}-0{draw.randrange(1, 10)}-1{draw.randrange(10)}",
        "at": f"2019-03-{draw.randrange(10, 31)}T{draw.randrange(10, 24)}:15:00{draw.choice(['', 'Z', '.5'])}",
        "address": {"city": draw.choice(["Oslo", "Rome", "Rome", "Bern"]), "zip": "0150"},
        "level": draw.randrange(0, 5),
        "note": draw.choice(["a", "b", "c d", "O'Hare"]),
        "serial": n % 40,
        "secret": "nobody declared this",
    }
    return {name: value for name, value in whole.items() if draw.random() < 0.85}


def with_what_is_no_json(rows: Sequence[Row]) -> list[Row]:
    """Return rows in which some that read as nothing are no JSON at all, or have the character 0."""
    nothing = [*NOT_JSON, _NUL]
    empty = [n for n, row in enumerate(rows) if row["props"] in {"[]", "3", "true"}]
    dirty = [dict(row) for row in rows]
    for place, n in enumerate(empty):
        dirty[n]["props"] = nothing[place % len(nothing)]
    return dirty


def clamped_event(row: Row) -> Row:
    """Return a row as the analyst sees it: of JSON what is declared, and reads as its type, and nothing else."""
    props = None if row["props"] is None else json.dumps(_clean(json.loads(str(row["props"]))))
    amount = row["amount"]
    assert isinstance(amount, int)
    return row | {"amount": min(amount, 100), "props": props}


def _clean(found: object) -> dict[str, object]:
    own = found if isinstance(found, dict) else {}
    address = own.get("address")
    city = address.get("city") if isinstance(address, dict) else None
    seen = {
        "plan": own["plan"] if own.get("plan") in ("free", "pro", "team") else None,
        "age": _within(_whole(own.get("age"), 2**31), 0, 120),
        "score": _within(_number(own.get("score")), -5, 10),
        "weight": _within(_number(own.get("weight")), 0, 1),
        "active": {"true": True, "false": False}.get(_text(own.get("active"))),
        "since": _day(own.get("since")),
        "at": _moment(own.get("at")),
        "level": level if (level := _whole(own.get("level"), 2**15)) in (1, 2, 3) else None,
        "note": own["note"] if isinstance(own.get("note"), str) else None,
        "serial": _whole(own.get("serial"), 2**63),
    }
    kept: dict[str, object] = {name: value for name, value in seen.items() if value is not None}
    return kept | ({"address": {"city": city}} if city in ("Oslo", "Rome") else {})


def _text(value: object) -> str:
    """Return what `->>` gives of a value that is no object and no array."""
    if isinstance(value, str):
        return value
    return "" if isinstance(value, (dict, list)) or value is None else json.dumps(value)


def _whole(value: object, beyond: int) -> int | None:
    match = re.fullmatch(r"([+-]?[0-9]{1,18})(\.0{0,9})?", _text(value))
    return None if match is None or not -beyond <= int(match[1]) < beyond else int(match[1])


def _number(value: object) -> float | None:
    text = _text(value)
    pattern = r"[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})([eE][+-]?[0-9]{1,2})?"
    return None if re.fullmatch(pattern, text) is None else float(Decimal(text))


def _within(value: float | None, low: float, high: float) -> float | None:
    return None if value is None else min(max(value, low), high)


def _day(value: object) -> str | None:
    try:
        day = date.fromisoformat(_text(value)) if len(_text(value)) == 10 else None
    except ValueError:
        return None
    return None if day is None else min(max(day, date(2019, 1, 1)), date(2019, 12, 31)).isoformat()


def _moment(value: object) -> str | None:
    pattern = r"\d{4}-\d\d-\d\d([T ]([01]\d|2[0-3]):\d\d:[0-5]\d(\.\d{1,6})?Z?)?"
    text = _text(value)
    try:
        at = datetime.fromisoformat(text.removesuffix("Z")) if re.fullmatch(pattern, text) else None
    except ValueError:
        return None
    low, high = datetime(2019, 3, 1), datetime(2019, 3, 31, 23, 59, 59, 999999)  # noqa: DTZ001
    return None if at is None else min(max(at, low), high).isoformat()


JsonEngines = Mapping[str, Filled]
NewJson = Callable[..., Client]


@pytest.fixture(scope="session")
def json_policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """The policy of this table."""
    directory = tmp_path_factory.mktemp("json")
    shutil.copytree(Path(__file__).parent.parent / "schemas" / "json", directory / "schemas")
    (directory / "config.yaml").write_text(_CONFIG, encoding="utf-8")
    return load(directory / "config.yaml").policy


@pytest.fixture(scope="session")
def json_world(json_policy: Policy) -> Iterator[tuple[World, JsonEngines]]:
    """The shadow of this table, and both engines with its rows."""
    memory = Memory(json_policy, public={})
    memory.fill("events", with_what_is_no_json(events()))
    with running(json_policy, USERS, memory) as world:
        served = Served(world, "json_records", {})
        served.fill("events", events())
        yield world, {"duckdb": memory, "postgres": served}
        served.close()
        memory.close()


@pytest.fixture(scope="session")
def json_reference(json_world: tuple[World, JsonEngines]) -> Iterator[Reference]:
    """PostgreSQL on the clamped form of the same rows."""
    world, _ = json_world
    world.owner.execute(SQL("CREATE DATABASE {}").format(Identifier("json_clamped")))
    connection = world.connect("dpsql_owner", "json_clamped")
    connection.execute("CREATE SCHEMA clamped")
    write_table(connection, "clamped", world.policy.tables["events"], [clamped_event(row) for row in events()])
    yield Reference(world.policy, connection)
    connection.close()


@pytest.fixture(scope="session")
def of_json(json_world: tuple[World, JsonEngines]) -> Iterator[NewJson]:
    """Give a function that returns a user's client of an engine."""
    world, engines = json_world
    owner = world.connect("dpsql_owner")
    opened: list[psycopg.Connection] = [owner]
    with ExitStack() as until:
        ledgers = {name: until.enter_context(quick_ledger(noon)) for name in engines}
        gateways = {name: world.gateway(engine, ledgers[name]) for name, engine in engines.items()}

        @cache
        def client(engine: str, user: str = "ana") -> Client:
            opened.append(world.connect(user))
            return Client(gateways[engine], ledgers[engine], opened[-1], owner, Asker(user, USERS[user]))

        yield client
    for connection in opened:
        connection.close()
