"""A statement that breaks dpsql closes no account for nothing, and tells few bits where it breaks over records."""

from typing import Any

import pytest

from dpsql.errors import AccountClosed, DpsqlError, EngineFailed, TrialFailed
from dpsql.gateway import gateway
from dpsql.gateway.run_through import run_through
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release import release
from dpsql.privacy.release.exact import ExactBuckets
from dpsql.privacy.release.release import Release, release_buckets
from tests.gateway.engines import Rows, Watched
from tests.support.fix_world import Client, NewClient, World
from tests.support.memory import Memory
from tests.support.records import Maker
from tests.support.schema import of
from tests.support.tried import Court, court

COUNT = "SELECT paid, count(*) FROM rides WHERE fare > {} GROUP BY paid"
OTHER = "SELECT count(*), sum(tip) FROM rides"


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Some rides."""
    engine, maker = Memory(policy), Maker(5)
    engine.fill("rides", [maker.row(policy.tables[of("rides")]) | {"rider": n // 5} for n in range(200)])
    return engine


@pytest.fixture(scope="module")
def tried(policy: Policy, world: World, rides: Memory) -> Court:
    """Where statements are tried."""
    return court(policy, world, rides)


def told(client: Client, sql: str) -> type[DpsqlError] | None:
    """Return the error that a statement ends with, None if it is answered."""
    try:
        client.ask(sql)
    except DpsqlError as error:
        return type(error)
    return None


def float_rows(rows: Rows) -> Rows:
    """Return the rows with something else than a whole number in them, as no trial has."""
    return [(*row[:-1], "12345.5") for row in rows]


def test_empty_arrays_are_answered(rides: Memory, new_client: NewClient, tried: Court) -> None:
    """As PostgreSQL answers them: they divided ε by nothing, after the charge."""
    client = new_client(rides, trial=tried.trial)
    sql = "SELECT percentile_cont(array[]::float8[]) WITHIN GROUP (ORDER BY fare) FROM rides"
    assert client.ask(sql).rows == [([],)]
    assert not client.ledger.is_closed("owner")


@pytest.mark.parametrize("with_trial", [True, False], ids=["with its trial's sums", "without"])
def test_what_breaks_in_the_release_is_free(
    with_trial: bool, rides: Memory, new_client: NewClient, tried: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake that some constants meet is met before anything is paid, also where the form was tried with others."""

    def breaking(measurement: Histogram, exact: ExactBuckets, entropy: Entropy, missing: bool) -> Release:
        _ = measurement.epsilon / (len(measurement.points) - 3)
        return right(measurement, exact, entropy, missing)

    right = release_buckets
    monkeypatch.setattr(release, "release_buckets", breaking)
    engine = Watched(rides)
    client = new_client(engine, trial=tried.trial if with_trial else None)
    asked = "SELECT percentile_cont(array[{}]) WITHIN GROUP (ORDER BY fare) FROM rides"
    assert told(client, asked.format("0.2, 0.4")) is None
    before = engine.runs, client.charges
    for statement in (asked.format("0.2, 0.4, 0.6"), "EXPLAIN " + asked.format("0.2, 0.4, 0.6")):
        assert [told(client, statement) for _ in range(3)] == [TrialFailed] * 3
    assert (engine.runs, client.charges, client.ledger.incidents("owner")) == (*before, ())


@pytest.mark.parametrize(
    ("broken", "sql"),
    [
        ("dpsql.privacy.release.postprocess.format_number", OTHER),
        ("dpsql.gateway.run_through.notices", OTHER),
        ("dpsql.privacy.release.release.partition_selection.select_keys", "SELECT note FROM rides GROUP BY 1"),
    ],
)
def test_what_breaks_in_the_read_out_is_free(
    broken: str, sql: str, rides: Memory, new_client: NewClient, tried: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the end: formulas, what is said beside, and groups that are selected."""
    engine = Watched(rides)
    client = new_client(engine, "eve", trial=tried.trial)

    def breaks(*_: object, **__: object) -> None:
        raise IndexError

    monkeypatch.setattr(broken, breaks)
    assert told(client, sql) is TrialFailed
    assert (engine.runs, client.charges) == (0, 0)


def test_a_plan_is_run_through_once(
    rides: Memory, new_client: NewClient, tried: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own constants; the engine of the trial is asked once for a form, and those of the records not at all."""
    seen: list[str] = []
    right = run_through

    def counted(*given: Any) -> str | None:
        seen.append("")
        return right(*given)

    monkeypatch.setattr(gateway, "run_through", counted)
    client = new_client(Watched(rides), trial=tried.trial)
    for _ in range(2):
        client.ask(COUNT.format(3))
        client.ledger.advance("refresh")
    client.ask(COUNT.format(4))
    assert len(seen) == 2


@pytest.fixture
def broken(rides: Memory) -> Watched:
    """Give an engine whose rows break the release, as no made-up ones do, while `after` says so."""
    return Watched(rides, after=float_rows)


def well(engine: Watched) -> None:
    """Let an engine be well again."""
    engine.after = lambda rows: rows


def test_a_bug_refuses_the_form_to_the_role_that_met_it(broken: Watched, new_client: NewClient) -> None:
    """With any constants, until it is unlocked; what failed fails again for nothing, and other forms are answered."""
    client = new_client(broken)
    assert told(client, COUNT.format(1)) is EngineFailed
    well(broken)
    assert [told(client, COUNT.format(n)) for n in (1, 2, 3)] == [EngineFailed, AccountClosed, AccountClosed]
    assert (broken.runs, client.charges, client.ledger.is_closed("owner")) == (1, 1, False)
    assert told(client, OTHER) is None
    assert any("Refused: this form" in str(row[0]) for row in client.ask("EXPLAIN " + COUNT.format(7)).rows)
    client.ledger.unlock("owner")
    assert told(client, COUNT.format(2)) is None


def test_the_second_form_closes_the_account(broken: Watched, new_client: NewClient) -> None:
    """The owner of the data sees both, without any value."""
    client = new_client(broken)
    assert [told(client, sql) for sql in (COUNT.format(1), OTHER)] == [EngineFailed] * 2
    well(broken)
    assert told(client, "SELECT min(fare) FROM rides") is AccountClosed
    assert [incident.what for incident in client.ledger.incidents("owner")] == ["broken", "broken", "closed"]
    assert broken.runs == 2


def test_other_roles_are_told_nothing_of_a_bug(broken: Watched, new_client: NewClient) -> None:
    """The very same measurement is sold as the failure that it is; with other constants it runs, and the data set pays."""
    ana, eve = new_client(broken), new_client(broken, "eve")
    sql = "SELECT count(*) FROM rides WHERE fare > {}"
    assert told(ana, sql.format(1)) is EngineFailed
    before = eve.charges
    assert [told(eve, sql.format(1)) for _ in range(2)] == [EngineFailed] * 2
    assert eve.charges == before + 1
    assert not any("Refused" in str(row[0]) for row in eve.ask("EXPLAIN " + sql.format(2)).rows)
    well(broken)
    assert told(eve, sql.format(2)) is None
    lines = eve.ledger.entries(None, 2)
    assert [(line.role, line.measured) for line in lines] == [("explorer", True), ("explorer", False)]
    assert eve.ledger.incidents("explorer") == ()


def test_who_tries_constants_learns_two_bits(rides: Memory, new_client: NewClient) -> None:
    """A mistake that one person's record meets is a lever for nobody: without the limit it would tell a value by halving."""
    value, asked = 37, list[int]()

    def met(rows: Rows) -> Rows:
        return float_rows(rows) if asked[-1] < value else rows

    client = new_client(Watched(rides, after=met))
    bits: list[type[DpsqlError] | None] = []
    low, high = 0, 64
    while high - low > 1:
        asked.append((low + high) // 2)
        bits.append(told(client, f"SELECT count(*) FROM rides WHERE fare > {asked[-1]}"))
        low, high = (asked[-1], high) if bits[-1] is EngineFailed else (low, asked[-1])
    assert bits.count(EngineFailed) == 1
    assert bits[bits.index(EngineFailed) + 1 :] == [AccountClosed] * (len(bits) - bits.index(EngineFailed) - 1)
    assert client.charges <= bits.index(EngineFailed) + 1
