"""Group keys of arithmetic: every key that an engine finds is listed, and none is listed that no row could have.

Both engines hold rows on a grid so fine that every possible key has one, with the neighbours in double precision of each
point at which a key could change.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from dpsql.policy.model import Policy
from dpsql.question import Asker
from tests.support.fix_dirty import NewUser
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_world import USERS, Client, World, noon
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Maker, Row
from tests.support.samples import in_one_way

KEYS = [
    "floor(fare / 10) * 10 + 0",
    "0 + 10 * floor(fare / 10)",
    "(floor(fare / 10) * 10)::int",
    "floor(fare / 0.5)",
    "floor(fare * 0.3)",
    "ceil(fare / 7)",
    "-floor(fare / 12.5) * 12.5",
    "trunc((fare - 20) / 10) * 10",
    "abs(floor(fare / 10) * 10 - 50)",
    "floor(floor(fare / 10) * 10 / 3)",
    "floor(fare / 10) * 10 / 4",
    "round(fare / 10) * 10",
    "round((fare * 2)::numeric, 0) / 2",
    "round((fare / 3)::numeric) * 3 / 7",
    "mod(round(fare)::int, 7) * 0.1 + 0.2",
    "mod(floor(fare / 10)::numeric, 4)",
    "sqrt(round(fare / 10)::int)",
    "ln(floor(fare / 10)::int + 1)",
    "sign(fare - 1)",
    "fare::int - fare::int % 10",
    "greatest(floor(fare / 10) * 10, 20)",
    "least(floor(fare / 10), 3)",
    "width_bucket(fare, 0, 150, 15)",
    "width_bucket(fare, 5, 40, 7)",
    "width_bucket(fare, 0, 0.9, 3)",
    "passenger_count * 2 + 1",
    "10 - 3 * passenger_count",
    "passenger_count * passenger_count",
    "passenger_count % 4 - passenger_count / 4",
    "CASE WHEN fare < 10 THEN floor(fare) ELSE -1 END",
    "trunc(passenger_count * 0.29, 2)",
    "floor(passenger_count * 0.57 * 100)",
    "round(passenger_count * 0.29 * 100 - 0.5)",
]
TOGETHER = [
    ("payment_type", "upper(payment_type)"),
    ("upper(payment_type)", "length(payment_type)", "payment_type <> 'cash'"),
    ("passenger_count", "passenger_count > 2"),
    ("passenger_count / 2", "passenger_count % 3", "passenger_count"),
    ("passenger_count", "CASE WHEN passenger_count = 1 THEN payment_type END"),
    ("coalesce(payment_type, 'none')", "payment_type IS NULL"),
    ("date_trunc('day', pickup_ts)", "extract(dow FROM pickup_ts)"),
    ("pickup_ts::date", "extract(week FROM pickup_ts)", "date_trunc('month', pickup_ts)"),
    ("extract(doy FROM pickup_ts)", "to_char(pickup_ts, 'YYYY-MM')", "extract(quarter FROM pickup_ts)"),
    ("date_trunc('week', pickup_ts)", "extract(isodow FROM pickup_ts)", "extract(day FROM pickup_ts)"),
    ("extract(isodow FROM pickup_ts::date)", "date_trunc('day', pickup_ts::date)"),
]
"""Keys that are made of the same columns."""
CONDITIONS = [
    "fare >= 0",
    "fare < 40",
    "fare <= 40",
    "fare > 10 AND fare < 50",
    "fare BETWEEN 0.3 AND 0.9",
    "passenger_count < 3 AND passenger_count <> 0",
]
ABOUT_THEM = [
    ("floor(fare / 10)", "floor(fare / 10) < 3"),
    ("floor(fare / 10) * 10", "floor(fare / 10) * 10 <= 30"),
    ("floor(fare / 10) * 10", "floor(fare / 10) BETWEEN 2 AND 4"),
    ("ceil(fare / 10)", "fare / 10 > 2 AND fare / 10 <= 3.5"),
    ("width_bucket(fare, 0, 150, 15)", "width_bucket(fare, 0, 150, 15) <= 15"),
    ("passenger_count * 2 + 1", "passenger_count * 2 + 1 > 4"),
    ("passenger_count", "passenger_count % 3 = 1"),
    ("passenger_count::text", "passenger_count::text > '3'"),
    ("payment_type", "payment_type || '!' > 'cash!'"),
    ("to_char(pickup_ts, 'MM-DD')", "to_char(pickup_ts, 'DD') > '20' AND fare > 1"),
    ("pickup_ts::date", "extract(isodow FROM pickup_ts) IN (6, 7)"),
    ("pickup_ts::date", "NOT to_char(pickup_ts, 'Dy') IN ('Sat', 'Sun') AND pickup_ts < '2019-03-15'"),
    ("extract(day FROM pickup_ts)", "to_char(pickup_ts, 'MM-DD') BETWEEN '03-10' AND '03-12'"),
    ("date_trunc('month', pickup_ts)", "to_char(pickup_ts, 'MM') = '03'"),
]
"""Keys, and conditions about them or what they are computed of."""


def _grid(policy: Policy) -> list[Row]:
    """Return a row for each quarter of a dollar, tenth and their neighbours, and some beyond the bounds."""
    near = [n / 4 for n in range(601)] + [n / 10 for n in range(101)] + [n / 3 for n in range(451)]
    fares = sorted({math.nextafter(x, to) for x in near for to in (x, -math.inf, math.inf)} | {-3.0, 1e9})
    made, table = Maker(5, dirt=0.0), policy.tables["trips"]
    return [made.row(table) | {"passenger_id": n, "fare": x, "passenger_count": n % 7} for n, x in enumerate(fares)]


@pytest.fixture(scope="module")
def clients(world: World, tiny: Engines, policy: Policy) -> Iterator[Callable[[str], Client]]:
    """Give a client of either engine, which holds the grid."""
    made: dict[str, Client] = {}
    with ExitStack() as opened:
        ana, owner = (opened.enter_context(world.connect(name)) for name in ("ana", "dpsql_owner"))
        for name in ENGINES:
            tiny[name].fill("trips", _grid(policy))
            ledger = opened.enter_context(quick_ledger(noon))
            made[name] = Client(world.gateway(tiny[name], ledger), ledger, ana, owner, Asker("ana", USERS["ana"]))
        yield made.__getitem__


@pytest.mark.parametrize(("key", "engine"), in_one_way({key: (key,) for key in KEYS}, ENGINES, ENGINES))
def test_keys_are_those_that_occur(clients: Callable[[str], Client], key: str, engine: str) -> None:
    """No group is empty, since each could have a row and does; and all groups together have all rows."""
    for condition in CONDITIONS:
        check(clients(engine), key, condition)


@pytest.mark.parametrize(
    ("keys", "engine"), in_one_way({" ".join(keys): (keys,) for keys in TOGETHER}, ENGINES, ENGINES)
)
def test_keys_of_common_columns_are_those_that_occur_together(
    clients: Callable[[str], Client], keys: tuple[str, ...], engine: str
) -> None:
    """No group is empty, and all have all rows."""
    client, listed = clients(engine), ", ".join(keys)
    for condition in ("fare >= 0", "pickup_ts < '2019-03-20 12:00'", "passenger_count < 3", "payment_type <> 'cash'"):
        rows = client.ask(f"SELECT count(*) FROM trips WHERE {condition} GROUP BY {listed}").rows
        ((every,),) = client.ask(f"SELECT count(*) FROM trips WHERE {condition}").rows
        empty = sum(row[0] == 0 for row in rows)
        assert empty == 0, (condition, len(rows))
        assert sum(int(str(row[0])) for row in rows) == every, condition


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("keys", "condition"),
    [
        ("passenger_count, payment_type", "passenger_count > 3 OR payment_type = 'cash'"),
        ("passenger_count, fare > 20", "(passenger_count, fare > 20) IN ((1, true), (2, false))"),
        ("passenger_count % 3, payment_type", "(passenger_count, payment_type) IN ((1, 'cash'), (3, 'cash'))"),
        ("passenger_count", "(passenger_count, payment_type) IN ((1, 'cash'), (2, NULL), (3, 'credit card'))"),
        ("payment_type, extract(isodow FROM pickup_ts)", "payment_type = 'cash' OR extract(isodow FROM pickup_ts) < 3"),
        ("extract(isodow FROM pickup_ts)", "pickup_ts >= '2019-03-09' AND pickup_ts < '2019-03-11'"),
        (
            "passenger_count",
            "pickup_ts > '2019-03-09 05:15' AND (pickup_ts > '2019-03-09 05:10' OR passenger_count = 1)",
        ),
        (
            "passenger_count > 2",
            "pickup_ts > '2019-03-09 05:15' AND (pickup_ts > '2019-03-09 05:10') = (passenger_count > 2)",
        ),
        ("date_trunc('day', pickup_ts), pickup_ts > '2019-03-09 05:10'", "pickup_ts > '2019-03-09 05:15'"),
        ("pickup_ts > '2018-01-01', passenger_count", "pickup_ts > '2018-01-01' OR passenger_count = 1"),
    ],
)
def test_conditions_about_keys_together_leave_some(
    clients: Callable[[str], Client], keys: str, condition: str, engine: str
) -> None:
    """Which of them go together, also by a column that is no key."""
    rows = clients(engine).ask(f"SELECT count(*) FROM trips WHERE {condition} GROUP BY {keys}").rows
    ((every,),) = clients(engine).ask(f"SELECT count(*) FROM trips WHERE {condition}").rows
    assert min(int(str(number)) for (number,) in rows) > 0
    assert sum(int(str(number)) for (number,) in rows) == every


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("key", "condition"), ABOUT_THEM)
def test_conditions_about_a_key_leave_some(
    clients: Callable[[str], Client], key: str, condition: str, engine: str
) -> None:
    """Also where they are about what the key is computed of."""
    check(clients(engine), key, condition)


def check(client: Client, key: str, condition: str) -> None:
    """Ask for all groups, of which none may be empty, and for all rows."""
    rows = client.ask(f"SELECT {key} AS key, count(*) FROM trips WHERE {condition} GROUP BY 1").rows
    used = "passenger_count" if "passenger_count" in key else "fare"
    ((every,),) = client.ask(f"SELECT count(*) FROM trips WHERE {used} IS NOT NULL AND {condition}").rows
    assert [row for row in rows if row[1] == 0] == [], condition
    assert sum(int(str(row[1])) for row in rows) == every, condition
    assert every


def test_a_stored_release_of_one_key_is_not_anothers(user: NewUser) -> None:
    """Two keys that engines group alike are shown otherwise, also where the values are not declared."""
    client = user("eve")
    client.ledger.advance("nothing is stored")
    for key, most in ("price", 128), ("price * 2", 256):
        rows = client.ask(f"SELECT {key} AS p, count(*) FROM rides WHERE price IN (0, 128) GROUP BY 1").rows
        assert {int(str(row[0]).partition(".")[0]) for row in rows} == {0, most}
