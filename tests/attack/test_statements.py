"""What a client writes stays what it is: no literal becomes part of an answer, no setting stalls the server."""

from fractions import Fraction
from pathlib import Path
from time import thread_time

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import InvalidSetting, MissingBounds, Unsupported
from dpsql.policy.model import Period, Policy
from dpsql.privacy.measurement.sums import Sums
from dpsql.question import Cancellation, Settings
from dpsql.rewrite.dialects.base import Dialect
from tests.support.dialects import DIALECTS, NAMES
from tests.support.exactness import measurements
from tests.support.fix_dirty import NewUser
from tests.support.fix_world import NewClient, World, noon
from tests.support.memory import Memory

MARK = '"_dpsql answer 0" AS _dp'
_LARGE = " * ".join(["stars::bigint"] * 30)
"""What overflows where stars may be 5, and is 1 where they are."""


def test_a_literal_is_not_taken_for_the_place_of_an_answer(new_client: NewClient, policy: Policy) -> None:
    """The answer stands where the aggregate stood, whatever the client's strings and names look like."""
    client = new_client(Memory(policy))
    answer = client.ask(f"SELECT '{MARK}' AS a, count(*) AS \"{MARK.replace(chr(34), chr(34) * 2)}\" FROM rides")
    assert answer.rows == [(MARK, 0)]


@pytest.mark.parametrize(
    "epsilon", ["1e999999999", "1e-999999999", "1E400", "nan", "inf", "0x10", "1/0", "-1", "0", "1_0"]
)
def test_epsilon_is_a_plain_number(epsilon: str, new_client: NewClient, policy: Policy) -> None:
    """No spelling of ε takes long to read, and none is read as something else."""
    client, start = new_client(Memory(policy)), thread_time()
    with pytest.raises(InvalidSetting, match="it must be a number"):
        client.ask("SELECT count(*) FROM rides", Settings(epsilon))
    assert thread_time() - start < 5
    assert client.charges == 0


def test_two_searches_for_keys_cost_no_more_than_was_asked(new_client: NewClient, policy: Policy) -> None:
    """A measurement at the keys of one search and the same at the keys of another are two, and share ε as two."""
    client = new_client(Memory(policy), "eve")
    client.ask(
        "SELECT * FROM (SELECT note, count(*), median(fare) FROM rides GROUP BY note) a, "
        "(SELECT note, avg(tip), median(fare) FROM rides GROUP BY note) b"
    )
    entries = client.ledger.entries(None, 10)
    assert len(entries) == 4
    assert sum((entry.cost.epsilon for entry in entries), Fraction(0)) == policy.roles["explorer"].per_query.epsilon


def test_large_sums_are_written_out(new_client: NewClient, policy: Policy) -> None:
    """A sum of numerics that are large or few is no error."""
    client = new_client(Memory(policy))
    answer = client.ask("SELECT sum(price * 1e25) FROM rides")
    assert len(answer.rows) == 1


def _one(sql: str, policy: Policy, world: World) -> Sums:
    (measurement,) = measurements(sql, policy, world, Memory(policy))
    assert isinstance(measurement, Sums)
    return measurement


def test_the_condition_of_a_left_join_says_nothing_about_rows(policy: Policy, world: World) -> None:
    """Rows for which it does not hold stay, so that it narrows no bounds: not of sums, not against overflow."""
    joined = "FROM rides LEFT JOIN zones z ON z.zone_id = from_zone AND seats <= 1"
    bare = _one("SELECT avg(seats) FROM rides", policy, world)
    assert [f.x for f in _one(f"SELECT avg(seats) {joined}", policy, world).features] == [f.x for f in bare.features]
    with pytest.raises(Exception, match="too large"):
        _one(f"SELECT avg(seats * 4000000000000000000) {joined}", policy, world)


def test_group_by_distinct_drops_equal_sets(new_client: NewClient, policy: Policy) -> None:
    """GROUP BY DISTINCT shows each grouping set once."""
    client = new_client(Memory(policy))
    answer = client.ask("SELECT shared, count(*) FROM rides GROUP BY DISTINCT rollup(shared), rollup(shared)")
    assert len(answer.rows) == 3


def test_a_name_that_hides_a_public_table_is_not_taken_for_it(policy: Policy, world: World) -> None:
    """A CTE named as a public table is no public table: the engine is asked for the rows of the CTE."""
    condition = "from_zone IN (SELECT zone_id FROM {0})"
    hiding = f"WITH {{0}} AS (SELECT 1 AS zone_id) SELECT count(*) FROM rides WHERE {condition}"
    hidden, other = (_one(hiding.format(name), policy, world) for name in ("zones", "others"))
    assert hidden == other
    assert hidden != _one(f"SELECT count(*) FROM rides WHERE {condition.format('zones')}", policy, world)


def test_a_literal_is_not_taken_for_the_place_of_an_account(new_client: NewClient, policy: Policy) -> None:
    """What a role has spent stands where the table stood, whatever the client's strings look like."""
    mark = '"_dpsql budget"'
    answer = new_client(Memory(policy)).ask(f"SELECT '{mark}', unit_kind FROM dpsql.budget")
    assert answer.rows == [(mark, "passenger")]


class _Midnight(SqliteLedger):
    """A ledger whose epoch ends whenever it is asked for."""

    def epoch(self, refresh: Period, cancellation: Cancellation | None = None) -> int:
        """Begin the next epoch."""
        _ = refresh, cancellation
        return self.advance("midnight")


def test_the_parts_of_a_statement_are_of_one_epoch(new_client: NewClient, policy: Policy, tmp_path: Path) -> None:
    """Else the numbers of one epoch could stand beside the keys of another."""
    with _Midnight(tmp_path / "ledger.db", noon) as ledger:
        client = new_client(Memory(policy), "eve", ledger=ledger)
        client.ask("SELECT note, count(*), median(fare) FROM rides GROUP BY note")
        assert ledger.advance("test") == 2  # asked once, for what is stored and for what is measured


def _only_one(low: int, high: int) -> str:
    """Return a condition that only 1 satisfies, and that takes longer to test than what it protects."""
    if high - low == 1:
        return f"(stars <> {low} AND stars IN (1, {low}))"
    middle = (low + high) // 2
    return f"({_only_one(low, middle)} OR {_only_one(middle, high)})"


_ONE = _only_one(50, 200)
"""With 100 terms PostgreSQL takes it for what is cheaper, and tests it first."""


@pytest.mark.parametrize("dialect", DIALECTS, ids=NAMES)
@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT sum(nullif({_LARGE}, seats)) FROM rides WHERE {_ONE}",
        f"SELECT corr({_LARGE}, nullif({_LARGE}, seats)) FROM rides WHERE {_ONE}",
        f"SELECT median(nullif({_LARGE}, seats)) FROM (SELECT * FROM rides WHERE {_ONE}) AS one",
        f"SELECT borough, sum(nullif({_LARGE}, seats)) FROM rides JOIN zones ON zone_id = from_zone WHERE {_ONE} GROUP BY 1",
    ],
    ids=["sum", "corr", "median", "join"],
)
def test_rows_that_fail_where_make_nothing_overflow(sql: str, dialect: Dialect, user: NewUser) -> None:
    """An engine tests first what it thinks is cheap; an error then would say that somebody's row is there."""
    assert user("ana", dialect).ask(sql).rows


_ZERO = "(seats::float8 * 0.1 * 3 - 0.3)"
"""Where seats is 1 it is 0 exactly, and 5e-17 in double precision."""


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT sum({_ZERO} * 1e139 * 1e139 * 1e139) FROM rides WHERE seats = 1",
        f"SELECT sum(({_ZERO} * 1e40)::bigint) FROM rides WHERE seats = 1",
        f"SELECT floor({_ZERO} * 1e40), count(*) FROM rides WHERE seats = 1 GROUP BY 1",
        "SELECT sum(power((fare + 1e100) * 3 - 3e100, 4)) FROM rides",
        "SELECT sum((round(seats * 0.49999999999999994) * 1e139) * 1e139 * 1e139) FROM rides WHERE seats = 1",
        "SELECT sum((power(seats * 1e-18, 1) - 1e-18) * 1e139 * 1e139 * 1e139) FROM rides WHERE seats = 1",
        "SELECT sum((seats * 1e-131 * 1.0 - 1e-131) * 1e139 * 1e139 * 1e139 * 1e139) FROM rides WHERE seats = 1",
        "SELECT sum(seats * 4000000000000000000 * 7) FROM rides WHERE seats = 0",
        "SELECT sum(CASE WHEN seats = 0 THEN seats * 4000000000000000000 * 7 ELSE 1 END) FROM rides",
        "SELECT sum((age * 10000000000000000 * 0) * (age * 10000000000000000)) FROM rides",
        "SELECT sum(seats * seats * 4000000000000000000) FROM rides WHERE seats::float8 <= 1.99999999999999999999",
        "SELECT sum(CASE WHEN seats::float8 <= 1.99999999999999999999 THEN seats * seats * 4e18::bigint END) FROM rides",
        f"SELECT sum({' * '.join(['(5 - stars)'] * 39)}) FROM rides WHERE (stars || '.99999999999999999999')::numeric >= 2",
        "SELECT sum(power(power(power(mod((fare * 2e13)::numeric, 0.3) / 0.3, 16), 16), 16)) FROM rides",
    ],
)
def test_what_overflows_as_engines_compute_it_is_refused(sql: str, new_client: NewClient, policy: Policy) -> None:
    """Exact arithmetic says that it is small; an engine that computes otherwise would fail if somebody's row is there."""
    client = new_client(Memory(policy))
    with pytest.raises(MissingBounds, match="too large"):
        client.ask(sql)
    assert client.charges == 0


def test_rounding_to_digits_is_not_to_whole_numbers(user: NewUser) -> None:
    """Buckets of whole numbers would lose the digits."""
    (row,) = user("ana").ask("SELECT median(round(price, 1)), max(round(price, 1)) FROM rides").rows
    assert not any(float(str(cell)).is_integer() for cell in row)


def test_a_value_that_is_excluded_is_no_group(user: NewUser) -> None:
    """Neither by NOT IN nor by <>."""
    (first, second) = (
        user("ana").ask(f"SELECT stars, count(*) FROM rides WHERE {condition} GROUP BY 1").rows
        for condition in ("stars NOT IN (2)", "stars <> 2")
    )
    assert first == second


def test_deep_statements_are_refused_and_long_chains_are_not(new_client: NewClient, policy: Policy) -> None:
    """A list that a tool writes as OR … OR is no deep tree; what is one is refused like anything else."""
    client = new_client(Memory(policy))
    chain = " OR ".join(f"age = {i}" for i in range(300))
    assert client.ask(f"SELECT count(*) FROM rides WHERE {chain}").rows == [(0,)]
    with pytest.raises(Unsupported, match="nested too deeply"):
        client.ask(f"SELECT count(*) FROM rides WHERE {' + '.join(['seats'] * 800)} > 5")
    with pytest.raises(Unsupported, match="nested too deeply"):
        client.ask(f"SELECT count(*) FROM rides WHERE {'NOT ' * 900} shared")


def test_powers_of_powers_do_not_stall_planning(new_client: NewClient, policy: Policy) -> None:
    """Their exact ends would have more digits than a machine can hold."""
    client, power = new_client(Memory(policy)), "fare * 0.00666"
    for _ in range(6):
        power = f"power({power}, 16)"
    started = thread_time()
    with pytest.raises(MissingBounds, match="too large"):
        client.ask(f"SELECT sum({power}) FROM rides")
    assert thread_time() - started < 1
