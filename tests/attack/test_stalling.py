"""A short statement takes little time before it is paid for: while one is read, everybody else waits."""

from contextlib import suppress
from time import thread_time

import pytest

from dpsql.errors import DpsqlError
from dpsql.gateway.planned_questions import nesting_refused
from dpsql.lexer.reader import statements
from dpsql.question import Asker
from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.syntax.read.parse import parse
from dpsql.rewrite.syntax.whole.analyze import analyze
from dpsql.wire.intercept.classify import classify_statement
from tests.support.fix_world import USERS, Client, World, noon
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger

SECONDS = 5.0
"""Of the processor, however busy it is with others: far more than any of these needs; read badly they would take years."""

_SELECT = "SELECT count(*) FROM rides"
STATEMENTS = (
    " " * 5_000 + _SELECT,
    "\n\t" * 2_000 + "SETTLE rides",
    "/**/" * 500 + "x rides",
    "--\n" * 500 + "x rides",
    "CREATE TEMP TABLE a AS " + _SELECT + " " * 50_000 + "x",
    "SELECT " + "array[1, " * 40 + "1" + "]" * 40 + " FROM rides",
    "SELECT " + "int(" * 40 + "1" + ")" * 40 + " FROM rides",
    "SELECT " + "list[" * 40 + "1" + "]" * 40 + " FROM rides",
    "SELECT " + "struct(" * 40 + "1" + ")" * 40 + " FROM rides",
    "SELECT " + "(SELECT 1 LIMIT " * 40 + "1" + ")" * 40 + " FROM rides",
    "SELECT seats::int" + "[1" * 40 + "]" * 40 + " FROM rides",
    f"{_SELECT} GROUP BY cube({', '.join(f'seats + {i}' for i in range(60))})",
    f"{_SELECT} GROUP BY {', '.join(['rollup(seats, stars, age, shared)'] * 30)}",
    f"{_SELECT} WHERE {' AND '.join(['seats = 1'] * 5_000)}",
    f"{_SELECT} WHERE {'(' * 3_000}seats = 1{')' * 3_000}",
    f"WITH {', '.join(f'a{i} AS ({_SELECT}, a{i - 1})' for i in range(1, 700))} INSERT INTO b SELECT 1",
    f"INSERT INTO b VALUES {', '.join([f'(({_SELECT}))'] * 900)}",
    f"UPDATE b SET a = {'(SELECT ' * 4_000}",
    f"{_SELECT} JOIN b {'USING (a) AS j ' * 2_000}",
    f"SELECT {'substring(' * 3_000}",
    f"SELECT {'x::int[1' * 3_000} FROM rides",
    f"SELECT {'interval ' * 3_000} FROM rides",
    f"{_SELECT} WHERE seats IN ({', '.join(['1'] * 1_000_000)})",
)


@pytest.mark.parametrize("sql", STATEMENTS, ids=range(len(STATEMENTS)))
def test_reading_takes_little_time(sql: str, world: World) -> None:
    """Spaces, comments, nesting and repetition cost no more than their length."""
    start = thread_time()
    classify_statement(sql)
    with suppress(DpsqlError), nesting_refused():
        analyze(sql, world.policy, BoundReader(world.oracle()))
    assert thread_time() - start < SECONDS


def test_inner_answers_within_inner_answers_are_planned_quickly(world: World, dirty: Memory) -> None:
    """Each waits for all that its own wait for, by several ways: none is looked at more than once."""
    inner = "5"
    for _ in range(30):
        inner = f"({_SELECT} WHERE seats > {inner})"
    with quick_ledger(noon) as ledger, world.connect("dpsql_owner") as owner, world.connect("ana") as connection:
        client = Client(world.gateway(dirty, ledger), ledger, connection, owner, Asker("ana", "owner"))
        start = thread_time()
        assert client.ask(f"EXPLAIN SELECT {inner}").rows
        assert thread_time() - start < SECONDS


_EIGHT = "rider, fare, tip, paid, late, day, seats, age"
CHAINS = (
    (
        "ana",
        f"SELECT {_EIGHT} FROM rides",
        f"SELECT {_EIGHT} FROM # WHERE fare > 1",
        "SELECT rider FROM # UNION ALL SELECT 1 FROM #",
    ),
    (
        "ana",
        "SELECT paid, count(*) AS n FROM rides GROUP BY 1",
        "SELECT paid, n FROM # UNION SELECT paid, n FROM #",
        "SELECT n FROM #",
    ),
    ("eve", "SELECT DISTINCT note FROM rides", "SELECT a.note FROM # AS a, # AS b", "SELECT note FROM #"),
)
"""Who asks, and members of WITH that read the one before: the first, each other, and what is asked of the last."""


@pytest.mark.parametrize(("user", "first", "other", "last"), CHAINS)
def test_members_of_with_are_looked_at_once(
    user: str, first: str, other: str, last: str, world: World, dirty: Memory
) -> None:
    """By whatever number of ways they are read: statements of six with eight columns each were refused as too costly."""
    members = [f"v0 AS ({first})", *(f"v{i} AS ({other.replace('#', f'v{i - 1}')})" for i in range(1, 20))]
    asked = f"WITH {', '.join(members)} SELECT count(*) FROM ({last.replace('#', 'v19')}) AS t"
    asked = asked.replace("count(*)", "max(note)") if user == "eve" else asked
    with quick_ledger(noon) as ledger, world.connect("dpsql_owner") as owner, world.connect(user) as connection:
        client = Client(world.gateway(dirty, ledger), ledger, connection, owner, Asker(user, USERS[user]))
        start = thread_time()
        assert client.ask(f"EXPLAIN {asked}").rows
        assert thread_time() - start < SECONDS


def test_many_statements_are_told_apart_quickly() -> None:
    """A message of ten thousand statements has as many."""
    start = thread_time()
    assert len(statements("SELECT 1;" * 10_000)) == 10_000
    assert thread_time() - start < SECONDS


def test_usual_nesting_is_read(world: World) -> None:
    """What tools write is far from any limit."""
    deep = "SELECT * FROM (" * 12 + "SELECT ARRAY[ARRAY[1, 2], ARRAY[3, 4]]::numeric(10, 2)[][] AS a" + ") AS t" * 12
    assert parse(deep, BoundReader(world.oracle())) is not None


@pytest.mark.parametrize(
    ("written", "number"), [("1_000", "1000"), ("0x1F", "31"), ("0o7", "7"), ("0b1", "1"), ("1_0.5_0", "10.50")]
)
def test_numbers_written_oddly_are_not_misread(written: str, number: str, world: World) -> None:
    """PostgreSQL reads 1_000 as a thousand, the parser would as 1 with a name."""
    statement = parse(f"SELECT count(*) * {written} FROM rides", BoundReader(world.oracle()))
    assert statement is not None
    assert statement.queries[0].tree.expressions[0].this.expression.name == number
