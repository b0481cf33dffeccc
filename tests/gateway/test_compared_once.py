"""Rows that are compared with constants are counted once, between these: right, with a unit's own rows as its bound."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.rewrite.ir.calendar import DAY
from tests.support.exactness import plans
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient, World
from tests.support.memory import Memory
from tests.support.records import Maker, Row

_CONSTANTS = ("(VALUES (10), (25), (25), (NULL), (60)) AS v(d)", "(VALUES (60.5), (3.25), (3.2500)) AS v(d)")
_COMPARISONS = ("r.fare < v.d", "r.fare <= v.d", "v.d < r.fare", "r.tip >= v.d", "v.d >= r.seats AND r.shared")
_WRITTEN = """
SELECT v.d, r.paid, count(*), sum(r.fare), avg(r.tip)
  FROM (VALUES (60), (100)) AS v(d) JOIN rides r ON r.fare < v.d GROUP BY 1, 2;
SELECT count(*) FROM (VALUES (10), (10), (40)) AS v(d), rides r WHERE r.fare > v.d;
SELECT b.label, count(*), sum(r.fare)
  FROM (VALUES ('low', 0, 20), ('mid', 20, 60), ('none', 9, 9), ('all', 0, 151)) AS b(label, low, high)
  JOIN rides r ON r.fare >= b.low AND r.fare < b.high GROUP BY 1;
SELECT b.label, count(*), avg(r.fare)
  FROM (VALUES ('low', 0, 20), ('mid', 15, 60), ('high', 60, 151)) AS b(label, low, high)
  JOIN rides r ON r.fare BETWEEN b.low AND b.high GROUP BY 1;
SELECT d.to_day, (SELECT count(*) FROM rides r WHERE r.day <= d.to_day)
  FROM (VALUES (date '2019-03-01'), (date '2019-03-03'), (date '2019-03-12')) AS d(to_day);
SELECT g.n, (SELECT sum(r.fare) FROM rides r WHERE r.seats < g.n AND r.paid = 'cash') FROM generate_series(1, 7) AS g(n);
SELECT g.n, (SELECT count(*) FROM rides r JOIN zones z ON z.zone_id = r.from_zone WHERE r.seats <= g.n AND z.zone_id > 2)
  FROM generate_series(-1, 3) AS g(n);
SELECT v.a, w.b, count(*) FROM (VALUES (1), (3)) AS v(a), (VALUES (2), (4)) AS w(b), rides r
  WHERE r.seats > v.a AND r.age < 10 * w.b GROUP BY 1, 2;
SELECT v.till, count(*) FILTER (WHERE r.shared), count(*)
  FROM (VALUES (timestamp '2019-03-02'), (timestamp '2019-03-05 12:00')) AS v(till)
  JOIN rides r ON r.picked < v.till GROUP BY 1;
SELECT v.d, count(*) FROM (VALUES (10), (40)) AS v(d) JOIN rides r ON r.fare + r.seats < v.d GROUP BY 1;
SELECT g.t, count(*), avg(r.fare) FROM generate_series(-3, 100, 7) AS g(t) JOIN rides r ON r.age >= t AND r.age < t + 7
  GROUP BY 1;
SELECT g.t, count(*) FROM generate_series(0, 10) AS g(t) JOIN rides r ON r.fare >= 12 * t AND r.fare < 12 * (t + 1)
  GROUP BY 1;
SELECT g.n, count(*) FROM generate_series(1, 700) AS g(n) JOIN rides r ON r.fare < g.n GROUP BY 1;
SELECT g.n, r.paid, count(*) FROM (SELECT n % 40 AS n FROM generate_series(0, 90) AS s(n)) AS g JOIN rides r ON r.fare >= g.n
  GROUP BY 1, 2
"""
FORMS = (
    *(
        f"SELECT v.d, count(*) FROM {v} JOIN rides r ON {comparison} GROUP BY 1"
        for v in _CONSTANTS
        for comparison in _COMPARISONS
    ),
    *map(str.strip, _WRITTEN.split(";")),
)
"""Statements whose answer DuckDB says, too."""
_OTHERWISE = """
SELECT v.d, sum(r.fare - v.d) FROM (VALUES (10), (40)) AS v(d) JOIN rides r ON r.fare < v.d GROUP BY 1;
SELECT v.d, count(*) FROM (VALUES (10, 3), (40, 5)) AS v(d, s) JOIN rides r ON r.fare < v.d AND r.seats > v.s GROUP BY 1;
SELECT v.d + 1, count(*) FROM (VALUES (10), (15), (40)) AS v(d) JOIN rides r ON r.fare < v.d GROUP BY 1;
SELECT v.d, count(*) FROM (VALUES (1), (4)) AS v(d) JOIN rides r ON r.seats <> v.d GROUP BY 1;
SELECT v.d, count(DISTINCT r.rider) FROM (VALUES (10), (40)) AS v(d) JOIN rides r ON r.fare < v.d GROUP BY 1
"""
OTHERS = tuple(map(str.strip, _OTHERWISE.split(";")))
"""Something is read of their constants beside comparisons of one value, or does not add up."""
_FIRST = 17_956
"""2019-03-01, in days since 1970."""


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Sequence[Row]:
    """60 rides of 12 riders, in few of which a value is NULL; none is beyond bounds."""
    draw, maker = random.Random(4), Maker(4)  # noqa: S311
    made = []
    for n in range(60):
        row = maker.row(policy.tables["rides"]) | {"rider": n % 12, "seats": n % 7, "fare": draw.randrange(600) / 4}
        row |= {"tip": None if n % 9 == 0 else float(draw.randrange(-5, 35)), "paid": ("card", "cash", None)[n % 3]}
        row |= {"day": _FIRST + n % 14, "picked": (_FIRST + n % 7) * DAY + n * 1_000_000, "from_zone": 1 + n % 3}
        made.append(row | {"shared": n % 3 == 0, "age": n % 50, "stars": (1, 2, 5)[n % 3]})
    return made


@pytest.fixture
def engine(policy: Policy, rides: Sequence[Row]) -> Memory:
    """Give an engine with them."""
    engine = Memory(policy)
    engine.fill("rides", rides)
    return engine


@pytest.fixture
def client(engine: Memory, new_client: NewClient) -> Client:
    """Give a client that is told everything to the digit."""
    return new_client(engine)


def _plain(cell: object) -> object:
    try:
        return float(str(cell))
    except ValueError:
        return str(cell)


def _near(row: Sequence[object], other: Sequence[object]) -> bool:
    pairs = zip(row, other, strict=True)
    return all(abs(a - b) < 0.02 if isinstance(a, float) and isinstance(b, float) else a == b for a, b in pairs)


@pytest.mark.parametrize("sql", [*FORMS, *OTHERS])
def test_it_says_what_the_engine_says(sql: str, client: Client, engine: Memory) -> None:
    """But for groups without rows, which are shown here."""
    truth, answered = ([[*map(_plain, row)] for row in rows] for rows in (engine.execute(sql), client.ask(sql).rows))
    assert [row for row in truth if not any(_near(row, other) for other in answered)] == []
    others = [row for row in answered if not any(_near(row, other) for other in truth)]
    assert all(0.0 in row or "None" in row for row in others)


@pytest.mark.parametrize("sql", FORMS)
def test_a_unit_has_its_own_rows_as_its_bound(sql: str, policy: Policy, world: World, engine: Memory) -> None:
    """And not as often as there are constants; of two lists of these one is left."""
    for plan in plans(sql, policy, world, engine):
        assert plan.added_up is not None
        assert {part.bound.rows for part in plan.parts} <= ({20, 40} if "w.b" in sql else {20})


@pytest.mark.parametrize("on", ["r.age >= t AND r.age < t + 12", "r.fare >= 12 * t AND r.fare < 12 * (t + 1)"])
def test_stretches_that_exclude_each_other_multiply_no_rows(
    on: str, policy: Policy, world: World, engine: Memory
) -> None:
    """Nor for what does not add up, as a median, where the other end is computed."""
    series = "generate_series(0, 108, 12)" if "12 *" not in on else "generate_series(0, 9)"
    sql = f"SELECT g.t, median(r.tip) FROM {series} AS g(t) JOIN rides r ON {on} GROUP BY 1"
    for plan in plans(sql, policy, world, engine):
        assert {part.bound.rows for part in plan.parts} == {20}


@pytest.mark.parametrize("sql", OTHERS)
def test_what_reads_constants_otherwise_is_as_it_was(sql: str, policy: Policy, world: World, engine: Memory) -> None:
    """It is right, too, with more noise."""
    assert all(plan.added_up is None for plan in plans(sql, policy, world, engine))


def test_counts_rise(policy: Policy, engine: Memory, new_client: NewClient) -> None:
    """However much noise there is; that of all is that of each stretch between, and not of one for each constant."""
    client = new_client(engine, policy=with_epsilon(policy, Fraction(1, 10)))
    sql = """SELECT g.n, count(*), dpsql.margin(count(*)) FROM generate_series(10, 150, 10) AS g(n)
      JOIN rides r ON r.fare < g.n GROUP BY 1 ORDER BY 1"""
    numbers = [[float(str(cell)) for cell in row] for row in client.ask(sql).rows]
    counts, margins = [row[1] for row in numbers], [row[2] for row in numbers]
    assert counts == sorted(counts)
    assert margins == sorted(margins)
    assert margins[-1] == pytest.approx(margins[0] * 15**0.5, rel=0.02)


def test_explain_says_it(client: Client) -> None:
    """How many measured groups a shown one is made of, and what noise that is."""
    lines = [str(row[0]) for row in client.ask(f"EXPLAIN {FORMS[0]}").rows]
    assert "     Added up: each of the 4 groups is made of at most 3 that are measured" in lines
