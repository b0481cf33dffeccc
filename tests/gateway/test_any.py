# ruff: noqa: E501  (a question a line)
"""Is there any? Said where the rows that would be it are more than noise, and by the policy where it knows."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_policy import with_chosen_rows, with_epsilon
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

ROUNDS, MOST = 40, 7
"""Each answer is wrong in one of twenty at most: in eight of forty or more with a probability of 1e-3, and noise is fixed."""
ANY = "max(CASE WHEN {0} THEN 1 ELSE 0 END), bool_or({0}), max(({0})::int), min(CASE WHEN {0} THEN 0 ELSE 1 END), bool_and(NOT {0}), max(CASE WHEN {0} THEN 1 END)"
NONE, SOME = (0, False, 0, 1, True, None), (1, True, 1, 0, False, 1)


def _rides(policy: Policy, *, unique: Sequence[str]) -> Memory:
    """2,000 rides of as many riders, or of 200; nobody is above 65, some are above 60; two of three stars, three payments."""
    engine, maker = Memory(policy, unique=unique), Maker(5)
    rows = [maker.row(policy.tables["rides"]) for _ in range(100)]
    engine.fill(
        "rides",
        [
            rows[n % 100]
            | {
                "rider": n if unique else n % 200,
                "age": 61 if n % 10 == 0 else 20 + n % 40,
                "stars": 1 + n % 2,
                "paid": ("card", "cash", "it's free", None)[n % 4],
                "seats": n % 7,
                "late": n % 2 == 0,
            }
            for n in range(2_000)
        ],
    )
    return engine


@pytest.fixture(params=["a row each", "declared", "auto"])
def client(request: pytest.FixtureRequest, policy: Policy, new_client: NewClient) -> Client:
    """Give a client whose questions have noise: each rider has a row, or ten."""
    engine = _rides(policy, unique=("rider",) if request.param == "a row each" else ())
    chosen = with_chosen_rows(policy, "rides", "passenger") if request.param == "auto" else policy
    return new_client(engine, policy=with_epsilon(chosen, Fraction(2)))


def _answers(client: Client, sql: str) -> list[tuple[object, ...]]:
    answers: list[tuple[object, ...]] = []
    for _ in range(ROUNDS):
        answers += client.ask(sql).rows
        client.ledger.advance("the next")
    return answers


@pytest.mark.parametrize(("condition", "expected"), [("age > 65", NONE), ("age > 60", SOME)])
def test_aggregates_of_a_condition(condition: str, expected: tuple[object, ...], client: Client) -> None:
    """All six, of nobody and of 200 rows."""
    answers = _answers(client, f"SELECT {ANY.format(condition)} FROM rides")
    for place, value in enumerate(expected):
        assert sum(answer[place] != value for answer in answers) <= MOST


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT EXISTS (SELECT 1 FROM rides WHERE age > 65)", False),
        ("SELECT EXISTS (SELECT FROM rides WHERE age > 60)", True),
        ("SELECT NOT EXISTS (SELECT * FROM rides WHERE age > 65)", True),
        ("SELECT CASE WHEN EXISTS (SELECT rider FROM rides WHERE age > 60 LIMIT 1) THEN 'yes' ELSE 'no' END", "yes"),
        ("SELECT count(*) FROM zones WHERE EXISTS (SELECT 1 FROM rides WHERE age > 60)", None),
    ],
)
def test_whether_rows_exist(sql: str, expected: object, client: Client) -> None:
    """A query for a single row, of which nothing is shown but that there is one."""
    answers = _answers(client, sql)
    wanted = client.connection.execute("SELECT count(*) FROM zones").fetchall()[0][0] if expected is None else expected
    assert sum(answer != (wanted,) for answer in answers) <= MOST


def test_by_groups(client: Client) -> None:
    """Public ones, of which some have nobody: what is said of all of them is wrong in one of twenty answers."""
    wrong = 0
    for answer in range(ROUNDS):
        del answer
        rows = client.ask("SELECT age, bool_or(late) FROM rides WHERE age > 50 GROUP BY 1").rows
        wrong += any(value for age, value in rows if age is not None and int(str(age)) > 61)
        client.ledger.advance("the next")
    assert wrong <= MOST


def test_counts_of_few_values(client: Client) -> None:
    """Those that have rows: two of three stars, three payments; nobody's are as many as none."""
    answers = _answers(
        client,
        "SELECT count(DISTINCT stars), count(DISTINCT paid), count(DISTINCT stars) FILTER (WHERE age > 65), count(DISTINCT late) FROM rides",
    )
    for place, value in enumerate((2, 3, 0, 2)):
        assert sum(answer[place] != value for answer in answers) <= MOST


def test_margins_of_counts_of_few_values(client: Client) -> None:
    """As many as are not told of: each may have a few rows."""
    ((counted, margin),) = client.ask(
        "SELECT count(DISTINCT stars), dpsql.margin(count(DISTINCT stars)) FROM rides"
    ).rows
    assert counted + margin == 3  # type: ignore[operator]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("max(CASE WHEN seats IS NULL THEN 1 ELSE 0 END)", 0),
        ("min(CASE WHEN seats IS NULL THEN 0 ELSE 1 END)", 1),
        ("bool_or(seats IS NULL)", False),
        ("every(seats IS NOT NULL)", True),
        ("bool_or(seats > 6)", False),
        ("bool_and(seats <= 6)", True),
        ("max(CASE WHEN seats > 6 THEN 1 ELSE 0 END)", 0),
        ("max(CASE WHEN stars = 3 THEN 1 ELSE 0 END)", 0),
        ("bool_or(age > 65) FILTER (WHERE seats IS NULL)", None),
    ],
)
def test_what_the_policy_knows_is_free(asked: str, expected: object, client: Client) -> None:
    """Seats are not NULL, and at most six."""
    assert client.ask(f"SELECT {asked} FROM rides").rows == [(expected,)]
    assert client.ask(f"SELECT late, {asked} FROM rides GROUP BY 1 ORDER BY 1").rows[0] == (False, expected)
    assert client.charges == 0


def test_beside_others(client: Client) -> None:
    """What Power BI's DISTINCTCOUNT ends in."""
    sql = "SELECT count(DISTINCT stars) + max(CASE WHEN stars IS NULL THEN 1 ELSE 0 END), count(*) FROM rides"
    assert sum(answer[0] != 2 for answer in _answers(client, sql)) <= MOST


@pytest.mark.parametrize(
    "asked", ["bool_or(age > 65)", "max(CASE WHEN age > 65 THEN 1 ELSE 0 END)", "count(DISTINCT stars)"]
)
def test_explain_says_from_how_many_rows_on(asked: str, client: Client) -> None:
    """And for which C, where that is chosen."""
    lines = [str(row[0]) for row in client.ask(f"EXPLAIN SELECT {asked} FROM rides").rows]
    (line,) = [line for line in lines if "rows on" in line]
    assert "distinguishable from zero from about" in line
    auto = client.gateway._deps.policy.tables["rides"].units["passenger"].up_to is not None
    unique = client.gateway._deps.engine.unique_keys("rides")
    assert ("for C from 2 to 256" in line) is (auto and not unique)


def test_a_group_of_nobody_is_not_told_of(client: Client) -> None:
    """There is neither one nor none, as PostgreSQL says of no rows."""
    rows = client.ask(
        "SELECT age, bool_or(late), bool_and(late), max(late::int) FROM rides GROUP BY 1", Settings(empty_groups="show")
    ).rows
    empty = [row[1:] for row in rows if row[0] is not None and int(str(row[0])) > 70]
    assert sum(any(value is not None for value in row) for row in empty) <= len(empty) // 5
