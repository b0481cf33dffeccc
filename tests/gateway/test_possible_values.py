"""MIN, MAX and percentile_disc return a value that the expression can have, and margins are about such values."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

OF = "min({0}), max({0}), percentile_disc(0.5) WITHIN GROUP (ORDER BY {0}), percentile_disc(0.07) WITHIN GROUP (ORDER BY {0})"
LISTED = ", percentile_disc(ARRAY[0.2, 0.4, 0.8]) WITHIN GROUP (ORDER BY {0})"


def _multiple(of: str) -> Callable[[object], bool]:
    return lambda value: (Fraction(Decimal(str(value))) / Fraction(of)).denominator == 1


def _starts(**parts: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, datetime) and value.replace(**parts) == value  # type: ignore[arg-type]


CASES: dict[str, Callable[[object], bool]] = {
    "date_trunc('day', picked)": _starts(hour=0, minute=0, second=0, microsecond=0),
    "date_trunc('month', dropped)": _starts(day=1, hour=0, minute=0, second=0, microsecond=0),
    "date_trunc('hour', picked)": _starts(minute=0, second=0, microsecond=0),
    "date_trunc('minute', dropped)": _starts(second=0, microsecond=0),
    "date_trunc('second', picked)": _starts(microsecond=0),
    "date_trunc('week', day)": lambda value: isinstance(value, datetime) and value.weekday() == 0 and value.hour == 0,
    "date_trunc('day', picked) + interval '1 hour'": _starts(hour=1, minute=0, second=0, microsecond=0),
    "date_bin('15 minutes', picked, '2019-01-01')": lambda value: (
        isinstance(value, datetime) and value.minute % 15 == value.second == value.microsecond == 0
    ),
    "date_trunc('hour', picked)::time": lambda value: str(value).endswith(":00:00"),
    "date_trunc('minute', picked)::time": lambda value: str(value).endswith(":00"),
    "date_trunc('second', picked)::time": lambda value: "." not in str(value),
    "date_trunc('day', dropped) - date_trunc('day', picked)": lambda value: (
        isinstance(value, timedelta) and not value % timedelta(days=1)
    ),
    "extract(epoch FROM date_trunc('minute', dropped))": _multiple("60"),
    "extract(epoch FROM date_trunc('second', dropped))": _multiple("1"),
    "date_part('epoch', date_trunc('hour', dropped) - date_trunc('hour', picked))": _multiple("3600"),
    "round(price, -1)": _multiple("10"),
    "round(price, 1)": _multiple("0.1"),
    "round(fare::numeric, 1)": _multiple("0.1"),
    "round(fare / 5) * 5": _multiple("5"),
    "floor(fare / 10) * 10": _multiple("10"),
    "price": _multiple("0.0001"),
    "refund": _multiple("0.0625"),
    "age / 10 * 10": _multiple("10"),
    "tip::numeric(6, 1)": _multiple("0.1"),
    "seats::numeric / 4": _multiple("0.25"),
    "CASE WHEN late THEN 1.5 WHEN shared THEN 2.75 ELSE 3 END": lambda value: float(str(value)) in {1.5, 2.75, 3.0},
    "stars": lambda value: value in {1, 2, 5},
    "stars * 1.5": lambda value: float(str(value)) in {1.5, 3.0, 7.5},
    "paid": lambda value: value in {"card", "cash", "it's free"},
    "day": lambda value: isinstance(value, date),
}


@pytest.fixture
def client(policy: Policy, new_client: NewClient) -> Client:
    """Give a client whose answers are mostly noise."""
    engine, maker = Memory(policy), Maker(11)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n} for n in range(900)])
    return new_client(engine, policy=with_epsilon(policy, Fraction(1, 2)))


@pytest.mark.parametrize("of", CASES)
def test_values_are_such_as_can_be(of: str, client: Client) -> None:
    """Whatever is chosen: by chance, near an end, or of one noisy histogram."""
    seen = list(_answers(client, f"SELECT {OF.format(of)}{LISTED.format(of)} FROM rides"))
    assert [value for value in seen if not CASES[of](value)] == []
    assert len(seen) > 20


@pytest.mark.parametrize(
    ("asked", "possible"),
    [
        ("max(paid) FROM rides WHERE paid <> 'card'", {"cash", "it's free"}),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY paid) FROM rides WHERE paid <> 'cash'", {"card", "it's free"}),
        ("max(stars) FROM rides WHERE stars > 1", {2, 5}),
        ("min(stars + 0) FROM rides WHERE stars <> 2", {1, 5}),
        (
            "min(date_trunc('day', day)) FROM rides WHERE day > '2019-03-12'",
            {datetime(2019, 3, day, tzinfo=UTC) for day in (13, 14, 15)},
        ),
    ],
)
def test_conditions_say_which_values_there_can_be(asked: str, possible: set[object], client: Client) -> None:
    """What no row that passes can have is no answer."""
    assert set(_answers(client, f"SELECT {asked}")) <= possible


def test_of_numbers_of_units(client: Client) -> None:
    """The last day of each rider's is a day, too."""
    sql = (
        "SELECT max(d), min(c), percentile_disc(0.5) WITHIN GROUP (ORDER BY c) "
        "FROM (SELECT rider, max(date_trunc('minute', picked)) AS d, min(price) AS c FROM rides GROUP BY 1) AS t"
    )
    for value in _answers(client, sql):
        assert _starts(second=0, microsecond=0)(value) if isinstance(value, datetime) else _multiple("0.0001")(value)


def test_the_last_day_has_rows(policy: Policy, new_client: NewClient) -> None:
    """As semantic layers ask for it: all rows of the newest day."""
    engine, maker = Memory(policy), Maker(2)
    row = maker.row(policy.tables["rides"])
    engine.fill(
        "rides",
        [row | {"rider": n, "picked": datetime(2019, 3, 1 + n % 5, n % 24, 17, tzinfo=UTC)} for n in range(9_000)],
    )
    client = new_client(engine, policy=with_epsilon(policy, Fraction(1)))
    day = "date_trunc('day', picked)"
    ((counted,),) = client.ask(f"SELECT count(*) FROM rides WHERE {day} = (SELECT max({day}) FROM rides)").rows
    assert abs(int(str(counted)) - 1_800) < 300


@pytest.mark.parametrize(("size", "unit"), [(86_400, "day"), (60, "minute")])
def test_margins_are_about_such_values(size: int, unit: str, policy: Policy, new_client: NewClient) -> None:
    """A value that is a day is off by days; where nothing else is near, by none."""
    engine, maker = Memory(policy), Maker(3)
    row = maker.row(policy.tables["rides"]) | {"picked": datetime(2019, 3, 4, 15, 59, 13, tzinfo=UTC)}
    engine.fill("rides", [row | {"rider": n} for n in range(9_000)])
    client = new_client(engine, policy=with_epsilon(policy, Fraction(1)))
    of = f"percentile_disc(0.5) WITHIN GROUP (ORDER BY date_trunc('{unit}', picked))"
    ((value, margin),) = client.ask(f"SELECT {of}, dpsql.margin({of}) FROM rides").rows
    assert isinstance(value, datetime)
    seconds = float(str(margin))
    assert abs(datetime(2019, 3, 4, 15, 59, tzinfo=UTC) - value.replace(tzinfo=UTC)) <= timedelta(
        seconds=seconds + size
    )
    assert not seconds % size


def _answers(client: Client, sql: str) -> Iterator[object]:
    for _ in range(12):
        for value in client.ask(sql).rows[0]:
            yield from (each for each in (value if isinstance(value, list) else [value]) if each is not None)
        client.ledger.advance("the next")
