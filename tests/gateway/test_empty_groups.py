# ruff: noqa: E501  (a statement a line)
"""Public groups that may be empty: shown unless the session, or its role, leaves them out."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import InvalidSetting
from dpsql.policy.model import EmptyGroups, Policy
from dpsql.question import Settings
from tests.gateway.engines import Watched
from tests.support.fix_policy import with_chosen_rows, with_epsilon
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory
from tests.support.records import Maker

AUTO, SHOW, HIDE = Settings(), Settings(empty_groups="show"), Settings(empty_groups="hide")
AGES = "SELECT age, count(*) FROM rides GROUP BY age"


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Some rides, of people of few of the 104 ages that there may be; one age has one ride."""
    engine, maker = Memory(policy), Maker(7)
    rows = [maker.row(policy.tables["rides"]) | {"rider": n // 5, "age": (20, 31, 42)[n % 3]} for n in range(600)]
    engine.fill("rides", [*rows, maker.row(policy.tables["rides"]) | {"rider": 1000, "age": 77}])
    return engine


@pytest.mark.parametrize(
    "asked",
    [
        "count(*)",
        "sum(fare)",
        "avg(tip)",
        "median(fare)",
        "count(DISTINCT rider)",
        "count(*) FILTER (WHERE fare > 1000)",
        "mode() WITHIN GROUP (ORDER BY stars)",
        "dpsql.margin(count(*))",
    ],
)
def test_groups_without_rows_are_left_out_whatever_is_asked(asked: str, rides: Memory, new_client: NewClient) -> None:
    """What is shown are the groups that have rows, where the noise is small."""
    client = new_client(rides)
    shown = client.ask(f"SELECT age, {asked} FROM rides GROUP BY age ORDER BY age", SHOW).rows
    kept = client.ask(f"SELECT age, {asked} FROM rides GROUP BY age ORDER BY age", HIDE).rows
    assert len(shown) > 100
    assert [row[0] for row in kept] == [20, 31, 42, 77]


EACH = "generate_series(30, 77) AS g (n)"
AGED = f"FROM {EACH} LEFT JOIN rides r ON r.age = n"
COUNTED = "(SELECT count(*) FROM rides r WHERE r.age = g.n)"
AMONG = "FROM rides WHERE age IN (SELECT age FROM rides GROUP BY age ORDER BY count(*) DESC LIMIT {})"


@pytest.mark.parametrize(("sql", "told"), [(AGES, 1), (f"SELECT age, count(*) {AMONG.format(3)} GROUP BY age", 0)])
def test_groups_that_an_inner_answer_leaves_out_are_not_told_of(
    sql: str, told: int, rides: Memory, new_client: NewClient
) -> None:
    """Of three groups that are shown none is empty, however many there might have been."""
    client = new_client(rides)
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    assert len(replied(client.gateway, client.request(question)).notices) == told


def test_those_of_its_own_that_may_be_empty_are_told_of(rides: Memory, new_client: NewClient) -> None:
    """Counted among those that are shown."""
    client = new_client(rides)
    question = client.gateway.examine(f"SELECT age, count(*) {AMONG.format(10)} GROUP BY age", client.asker)
    assert question is not None
    (notice,) = replied(client.gateway, replace(client.request(question), settings=SHOW)).notices
    assert notice.startswith("6 of 10 groups may be empty")


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT age FROM rides GROUP BY age ORDER BY 1", [(20,), (31,), (42,), (77,)]),
        ("SELECT DISTINCT age FROM rides ORDER BY 1", [(20,), (31,), (42,), (77,)]),
        ("SELECT count(*) FROM (SELECT DISTINCT age FROM rides) AS ages", [(4,)]),
        ("SELECT age FROM rides GROUP BY age ORDER BY age DESC LIMIT 2", [(77,), (42,)]),
        ("SELECT avg(n) FROM (SELECT count(*) AS n FROM rides GROUP BY age HAVING age < 40) AS n", [(200,)]),
        (
            "SELECT age, count(*) FROM rides WHERE age > 40 GROUP BY ROLLUP (age) ORDER BY 1",
            [(42, 200), (77, 1), (None, 201)],
        ),
        ("SELECT age, count(*) FROM rides WHERE age > 200 GROUP BY age", []),
        (
            "SELECT n FROM generate_series(30, 33) AS g (n) EXCEPT SELECT age FROM rides ORDER BY 1",
            [(30,), (32,), (33,)],
        ),
        ("SELECT age FROM rides INTERSECT SELECT n FROM generate_series(30, 33) AS g (n)", [(31,)]),
        (
            (
                "SELECT count(*) FROM rides WHERE age IN (SELECT n FROM generate_series(31, 77) AS g (n) "
                "EXCEPT SELECT age FROM rides WHERE age < 50)"
            ),
            [(1,)],
        ),
        (f"SELECT n, count(r.rider) {AGED} GROUP BY 1 ORDER BY 1", [(31, 200), (42, 200), (77, 1)]),
        (f"SELECT n, sum(coalesce(r.seats, 0)) * 0 {AGED} GROUP BY 1 ORDER BY 2 LIMIT 9", [(31, 0), (42, 0), (77, 0)]),
        (f"SELECT count(*), min(c) FROM (SELECT n, count(r.rider) AS c {AGED} GROUP BY 1) AS t", [(3, 1)]),
        (f"SELECT n, {COUNTED} FROM {EACH} WHERE n < 33", [(30, None), (31, 200), (32, None)]),
        (f"SELECT n, {COUNTED} + 1 FROM {EACH} WHERE n < 33", [(30, None), (31, 201), (32, None)]),
        (f"SELECT count({COUNTED}), count(*) FROM {EACH}", [(3, 48)]),
        ("SELECT count(*) FROM rides WHERE fare > 1000", [(0,)]),
        ("SELECT count(*) FROM rides WHERE age > 200", [(0,)]),
    ],
)
def test_what_stands_around_an_answer_sees_only_what_is_shown(
    sql: str, rows: list[object], rides: Memory, new_client: NewClient
) -> None:
    """Averages over groups, limits and counts of keys are about groups that have rows; a total is always there."""
    assert list(new_client(rides).ask(sql, HIDE).rows) == rows


RANKED = [
    ("SELECT age, avg(tip) FROM rides GROUP BY age ORDER BY avg(tip) DESC LIMIT 50", 3, 1),
    ("SELECT age, avg(tip) FROM rides GROUP BY 1 ORDER BY 2 DESC LIMIT 50", 3, 1),
    ("SELECT age, count(*) AS n FROM rides GROUP BY age ORDER BY n FETCH FIRST 50 ROWS ONLY", 4, 1),
    ("SELECT age, count(*) AS n FROM rides GROUP BY age ORDER BY n OFFSET 0 LIMIT 50", 4, 1),
    ("SELECT * FROM (SELECT age, avg(tip) AS a FROM rides GROUP BY age) AS r ORDER BY a DESC LIMIT 50", 3, 1),
    ("SELECT age, avg(tip), rank() OVER (ORDER BY avg(tip)) FROM rides GROUP BY 1", 3, 1),
    (
        "SELECT age, n FROM (SELECT age, count(*) AS n, row_number() OVER (ORDER BY count(*) DESC) AS r FROM rides GROUP BY 1) AS t WHERE r <= 50",
        4,
        1,
    ),
    (
        "SELECT age FROM (SELECT age, rank() OVER (ORDER BY n) AS r FROM (SELECT age, count(*) AS n FROM rides GROUP BY 1) AS t) AS u WHERE r <= 50",
        4,
        1,
    ),
    ("SELECT DISTINCT ON (age / 100) age, count(*) FROM rides GROUP BY 1 ORDER BY age / 100, 2", 1, 1),
    ("WITH a AS (SELECT age, count(*) AS n FROM rides GROUP BY 1) SELECT count(n), max(n) FROM a", 1, 1),
    ("SELECT DISTINCT age, count(*) FROM rides GROUP BY age", 4, 1),
    (f"SELECT n, count(r.rider) {AGED} GROUP BY 1 ORDER BY 2 LIMIT 9", 2, 1),
    (f"SELECT n, avg(r.tip) {AGED} GROUP BY 1 ORDER BY 2 DESC LIMIT 9", 2, 1),
    ("SELECT age / 10 AS tens, count(*) FROM (SELECT DISTINCT age, shared FROM rides) AS a GROUP BY 1", 4, 1),
]
"""Statements that rank groups, cut them off or count them: how many rows each has, and what it measures."""
LISTED = [
    ("SELECT age, avg(tip) FROM rides GROUP BY age ORDER BY age", 1),
    ("SELECT age, avg(tip) FROM rides GROUP BY age ORDER BY 2 DESC", 1),
    ("SELECT age, count(*) AS n FROM rides GROUP BY age ORDER BY n", 1),
    ("SELECT age, count(*) AS n FROM rides GROUP BY age ORDER BY n DESC LIMIT 1000", 1),
    ("SELECT age, count(*) AS n FROM rides GROUP BY age ORDER BY age LIMIT 102", 1),
    ("SELECT age, count(*) AS n FROM rides GROUP BY age LIMIT 102", 1),
    ("SELECT age, n FROM (SELECT age, count(*) AS n FROM rides GROUP BY age) AS t ORDER BY age LIMIT 102", 1),
    ("SELECT age, lag(count(*)) OVER (ORDER BY age) FROM rides GROUP BY age", 1),
    ("SELECT age, count(*) / sum(count(*)) OVER () FROM rides GROUP BY age", 1),
    ("SELECT age, row_number() OVER (ORDER BY age), count(*) FROM rides GROUP BY age", 1),
    (
        "SELECT CASE WHEN age < 50 THEN age ELSE 200 + age END AS a, avg(tip) FILTER (WHERE age > 200) FROM rides GROUP BY 1",
        0,
    ),
    ("CREATE TEMP TABLE ages AS SELECT age, count(*) FROM rides GROUP BY 1; SELECT * FROM ages", 1),
    ("SELECT age, sum(fare) FROM rides GROUP BY age", 1),
    ("SELECT DISTINCT age FROM rides", 0),
    ("SELECT count(*) FROM (SELECT age, count(*) FROM rides GROUP BY age) AS a", 0),
]
"""Statements of a line a group, and the number of these lines, by which clients know how many rows will come."""


@pytest.fixture(params=[False, True], ids=["declared", "auto"])
def bounded(request: pytest.FixtureRequest, policy: Policy) -> Policy:
    """A policy whose C is declared, and one whose C is chosen, by a measurement of its own."""
    return with_chosen_rows(policy, "rides", "passenger") if request.param else policy


def _measured(client: Client, policy: Policy) -> int:
    """Return how many measurements were paid, without those that choose a C."""
    return client.charges // (1 if policy.tables["rides"].units["passenger"].up_to is None else 2)


@pytest.mark.parametrize(("sql", "rows", "cost"), RANKED)
def test_groups_that_may_be_empty_neither_win_nor_count(
    sql: str, rows: int, cost: int, rides: Memory, bounded: Policy, new_client: NewClient
) -> None:
    """By themselves, and a NOTICE says so; nothing more is measured for it where anything was asked."""
    client = new_client(rides, policy=bounded)
    answer = client.ask(sql, AUTO)
    assert abs(len(answer.rows) - rows) <= 1  # of who has one ride the tip may be unknown
    assert _measured(client, bounded) == cost
    assert sum(row[-1] is None for row in answer.rows) <= 1
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    told = replied(client.gateway, client.request(question)).notices
    assert any("are hidden" in notice and "'show' lists them" in notice for notice in told)


@pytest.mark.parametrize("sets", ["ROLLUP (age, paid)", "CUBE (age)", "GROUPING SETS ((age), ())"])
def test_groups_that_are_hidden_beside_totals_are_told_of(sets: str, rides: Memory, new_client: NewClient) -> None:
    """As without totals."""
    client = new_client(rides)
    question = client.gateway.examine(f"SELECT age, count(*) FROM rides GROUP BY {sets}", client.asker)
    assert question is not None
    told = replied(client.gateway, client.request(question, HIDE)).notices
    assert any("are hidden" in notice and "'show' lists them" in notice for notice in told)


@pytest.mark.parametrize("sets", ["ROLLUP (1, 2)", "CUBE (1, 2)", "GROUPING SETS ((1, 2), (1))"])
def test_levels_with_margins_have_the_groups_of_levels_without(sets: str, rides: Memory, new_client: NewClient) -> None:
    """Each level is measured by itself then, and all are put below each other: that is no ranking."""
    client = new_client(rides)
    told = {
        outputs: [
            row[:2]
            for row in client.ask(f"SELECT paid, stars, {outputs} FROM rides GROUP BY {sets} ORDER BY 1, 2").rows
        ]
        for outputs in ("count(*)", "count(*), dpsql.margin(count(*))")
    }
    with_margins, without = told.values()
    assert with_margins == without


def test_groups_that_others_are_put_below_are_shown(rides: Memory, new_client: NewClient) -> None:
    """UNION ALL shows a line of each; UNION looks for those that are alike."""
    both = f"{AGES} UNION ALL SELECT stars, count(*) FROM rides GROUP BY stars"
    assert len(new_client(rides).ask(both, AUTO).rows) > 100
    assert len(new_client(rides).ask(both.replace(" ALL", ""), AUTO).rows) < 10


@pytest.mark.parametrize(("sql", "cost"), LISTED)
def test_groups_are_shown_where_each_is_a_line(
    sql: str, cost: int, rides: Memory, bounded: Policy, new_client: NewClient
) -> None:
    """A chart by age has all ages; the number of its lines is theirs, and costs nothing."""
    client = new_client(rides, policy=bounded)
    asked, _, read = sql.partition("; ")
    rows = client.ask(asked, AUTO).rows if not read else [client.ask(asked, AUTO), *client.ask(read, AUTO).rows]
    assert (int(str(rows[0][0])) if "count(*) FROM (SELECT age, count" in sql else len(rows)) > 100  # type: ignore[index]
    assert _measured(client, bounded) == cost


@pytest.mark.parametrize(
    "asked", ["avg(fare)", "stddev(fare)", "corr(fare, price)", "avg(fare) FILTER (WHERE age > 200)"]
)
def test_nothing_is_told_where_there_may_be_nobody(
    asked: str, rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """Of groups without rows a mean is NULL in nineteen of twenty cases, and not any number within the bounds."""
    client, told = new_client(rides, policy=with_epsilon(policy, Fraction(1))), 0
    nobody = 0
    for _ in range(20):
        for age, value in client.ask(f"SELECT age, {asked} FROM rides GROUP BY age").rows:
            if age not in {20, 31, 42, 77} or "FILTER" in asked:
                nobody, told = nobody + 1, told + (value is not None)
        client.ledger.advance("refresh")
    assert nobody > 1_900
    assert told < 0.05 * nobody  # 2.5 % are to be expected, of groups whose noise is independent
    assert client.ask("SELECT avg(fare) FROM rides").rows[0][0] is not None


def test_a_role_may_leave_them_out_and_a_session_have_them_back(
    rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """The setting goes before the role's default; both spellings of it are read."""
    roles = {name: replace(role, empty_groups=EmptyGroups.HIDE) for name, role in policy.roles.items()}
    client = new_client(rides, policy=replace(policy, roles=roles))
    assert len(client.ask(AGES).rows) == 4
    assert len(client.ask(AGES, Settings(empty_groups=" SHOW ")).rows) > 100


def test_leaving_out_is_post_processing(rides: Memory, new_client: NewClient) -> None:
    """Where the rows are counted anyway nothing more is measured, and the same numbers are read."""
    engine = Watched(rides)
    client = new_client(engine)
    shown, kept = client.ask(AGES, SHOW).rows, client.ask(AGES, HIDE).rows
    assert kept == [(age, n) for age, n in shown if n]
    assert (engine.runs, client.charges) == (1, 1)


def test_empty_groups_stay_hidden_under_noise(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """None of a hundred empty groups is shown in nineteen of twenty answers; which are shown is told by counts alone."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1)))
    real, wrong = {20, 31, 42, 77}, 0
    for _ in range(60):
        wrong += bool({row[0] for row in client.ask(AGES, HIDE).rows} - real)
        client.ledger.advance("refresh")
    assert wrong <= 10  # 3 are to be expected at most; more than 10 have a probability of 1e-4


def test_an_explanation_says_what_is_left_out_and_what_is_measured_for_it(rides: Memory, new_client: NewClient) -> None:
    """The count up to which a group is left out, and whether it is counted for that alone."""
    client = new_client(rides)

    def lines(asked: str, settings: Settings, order: str = "") -> str:
        sql = f"EXPLAIN SELECT age, {asked} FROM rides GROUP BY 1{order}"
        return "\n".join(str(row[0]) for row in client.ask(sql, settings).rows)

    assert "Left out: groups whose count is at most" in lines("count(*)", HIDE)
    assert "measured with it" not in lines("count(*)", HIDE)
    assert "Left out" in lines("avg(fare)", AUTO, " ORDER BY 2 LIMIT 5")
    assert "measured with it" not in lines("avg(fare)", AUTO, " ORDER BY 2 LIMIT 5")
    assert "COUNT(*) is measured with it" in lines("sum(fare)", HIDE)
    assert "Left out" not in lines("sum(fare)", SHOW)


def test_another_word_is_refused(rides: Memory, new_client: NewClient) -> None:
    """It costs nothing, and the hint has a statement that works."""
    client = new_client(rides)
    with pytest.raises(InvalidSetting) as refused:
        client.ask(AGES, Settings(empty_groups="no"))
    assert refused.value.hint is not None
    assert "'hide'" in refused.value.hint
    assert client.charges == 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT note, count(*) FROM rides GROUP BY note",
        "SELECT note FROM rides GROUP BY note",
        "SELECT coalesce(max(n), 0) FROM (SELECT note, count(*) AS n FROM rides GROUP BY note) AS n",
    ],
)
def test_who_finds_groups_is_told_which_are_not_shown(sql: str, rides: Memory, new_client: NewClient) -> None:
    """Also where none is found, and where only what is computed of them is shown: it looks like that of all."""
    client = new_client(rides, "eve")
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    (told,) = replied(client.gateway, client.request(question)).notices
    match = re.fullmatch(r"groups of fewer than about ([\d,]+) units \(rider\) are not shown, nor in .*", told)
    assert match is not None
    assert int(match[1].replace(",", "")) > 1
