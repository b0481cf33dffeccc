"""What happens after the engine was asked and something goes wrong: the same every time, counted, and never for nothing."""

import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import AccountClosed, DpsqlError, EngineAway, EngineFailed, EngineLost, QueryCanceled
from dpsql.policy.model import Policy, RoleLimits
from dpsql.privacy.release.release import Release
from dpsql.question import Cancellation, Settings
from tests.gateway.engines import Rows, Watched, fail
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient, noon
from tests.support.memory import Memory
from tests.support.records import Maker

COUNT = "SELECT paid, count(*) FROM rides GROUP BY paid"
BOTH = "SELECT (SELECT count(*) FROM rides) AS a, (SELECT count(DISTINCT rider) FROM rides) AS b"


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Some rides."""
    engine, maker = Memory(policy), Maker(5)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n // 5} for n in range(200)])
    return engine


def well(_: Cancellation) -> None:
    """Do nothing."""


def raising(error: Exception) -> Callable[[Cancellation], None]:
    """Return what raises an error."""

    def before(_: Cancellation) -> None:
        raise error

    return before


def told(client: Client, sql: str) -> tuple[type[DpsqlError], str, str | None]:
    """Return the error that a statement ends with."""
    with pytest.raises(DpsqlError) as caught:
        client.ask(sql)
    return type(caught.value), caught.value.message, caught.value.hint


def limited(policy: Policy, failures: int) -> Policy:
    """Return the policy with so many failures a day."""
    limits = RoleLimits(10**9, failures)
    return replace(policy, roles={name: replace(role, limits=limits) for name, role in policy.roles.items()})


def float_rows(rows: Rows) -> Rows:
    """Return the rows with something else than a whole number in them, which is a bug."""
    wrong: Any = 12345.5
    return [(*row[:-1], wrong) for row in rows]


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        (fail, None, EngineFailed),
        (raising(QueryCanceled()), None, QueryCanceled),
        (well, float_rows, EngineFailed),
        (raising(MemoryError("of somebody's row")), None, EngineFailed),
    ],
)
def test_what_failed_fails_again_for_nothing(
    before: Callable[[Cancellation], None],
    after: Callable[[Rows], Rows] | None,
    error: type[DpsqlError],
    rides: Memory,
    new_client: NewClient,
) -> None:
    """The retry gets the very same error, is not charged, and asks the engine nothing, though that is well again."""
    engine = Watched(rides, before=before, after=after or (lambda rows: rows))
    client = new_client(engine)
    first = told(client, COUNT)
    engine.before, engine.after = well, lambda rows: rows
    assert [told(client, COUNT) for _ in range(2)] == [first] * 2
    assert (first[0], engine.runs, client.charges) == (error, 1, 1)


def test_what_can_not_be_written_is_stored_as_failed(
    rides: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release is written where its measurement fails if that fails: after it, nothing depends on what was measured."""
    client = new_client(rides)
    monkeypatch.setattr("dpsql.gateway.gateway.run_through", lambda *_: None)
    with monkeypatch.context() as patch:
        patch.setattr("dpsql.privacy.release.release.zlib", None)
        first = told(client, COUNT)
    assert (told(client, COUNT), client.charges) == (first, 1)


def test_a_release_is_written_as_it_was_read() -> None:
    """In the very bytes that the ledger has, whoever has compressed them; a changed one is written anew."""
    release = Release([[1, 2]], [("a", None, Fraction(1, 3))])
    stored = zlib.compress(zlib.decompress(release.to_bytes()), level=0)
    read = Release.from_bytes(stored)
    assert (read, read.to_bytes()) == (release, stored) != (release, release.to_bytes())
    assert Release.from_bytes(replace(read, numbers=[[3]]).to_bytes()).numbers == [[3]]


def test_what_failed_is_measured_in_the_next_epoch(rides: Memory, new_client: NewClient) -> None:
    """A failure is kept for as long as a release is."""
    engine = Watched(rides, before=fail)
    client = new_client(engine)
    told(client, COUNT)
    engine.before = well
    client.ledger.advance("refresh")
    client.ask(COUNT)
    assert (engine.runs, client.charges) == (2, 2)


@pytest.mark.parametrize("lost", [True, False])
def test_what_no_row_has_done_is_charged_and_not_kept(lost: bool, rides: Memory, new_client: NewClient) -> None:
    """A client that cancels and an engine that goes away leave the charge alone: asking again is charged again."""

    def stopped(cancellation: Cancellation) -> None:
        if lost:
            raise EngineLost
        cancellation.cancel()
        raise QueryCanceled

    engine = Watched(rides, before=stopped)
    client = new_client(engine)
    for _ in range(12):
        told(client, COUNT)
    engine.before = well
    client.ask(COUNT)
    assert (engine.runs, client.charges, client.ledger.incidents("owner")) == (13, 13, ())


def test_a_failed_part_fails_the_statement_and_nothing_else(rides: Memory, new_client: NewClient) -> None:
    """Both parts were charged; the release that was made answers from then on, and the statement fails for nothing."""
    engine = Watched(rides)
    client = new_client(engine)

    def second(_: Cancellation) -> None:
        if engine.runs == 2:
            raise EngineFailed

    engine.before = second
    told(client, BOTH)
    assert (engine.runs, client.charges) == (2, 2)
    told(client, BOTH)
    client.ask("SELECT count(*) FROM rides", Settings(reuse="off"))  # at another ε: a question of its own
    assert (engine.runs, client.charges) == (3, 3)


def test_a_first_part_that_failed_is_not_paid_for_beside_others(rides: Memory, new_client: NewClient) -> None:
    """What was never measured stands beside it and is not charged again and again."""
    engine = Watched(rides, before=fail)
    client = new_client(engine)
    for _ in range(3):
        told(client, BOTH)
    assert (engine.runs, client.charges) == (1, 2)


def test_what_is_known_to_fail_needs_no_engine(policy: Policy, new_client: NewClient) -> None:
    """Nothing of it is made ready: it fails alike while the engine is away."""
    memory = Memory(policy)
    client = new_client(Watched(memory, before=fail))
    first = told(client, BOTH)
    memory.close()
    assert told(client, BOTH) == first
    assert told(client, COUNT)[0] is EngineAway
    assert client.charges == 2


def test_another_role_pays_for_what_failed(rides: Memory, new_client: NewClient) -> None:
    """What it is told costs it what the answer would have cost: otherwise the price would tell of rows."""
    engine = Watched(rides, before=fail)
    ana, eve = new_client(engine), new_client(engine, "eve")
    first = told(ana, "SELECT count(*) FROM rides")
    assert [told(eve, "SELECT count(*) FROM rides") for _ in range(2)] == [first] * 2
    assert [(e.role, e.measured) for e in eve.ledger.entries(None, 9)] == [("explorer", False), ("owner", True)]
    assert eve.ledger.incidents("explorer") == ()


def test_too_many_failures_of_the_engine_close_the_account(
    rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """Nothing more is charged until the owner has looked; what is stored stays free, and other roles go on."""
    engine = Watched(rides)
    client, other = (new_client(engine, user, policy=limited(policy, 3)) for user in ("ana", "leo"))
    client.ask(COUNT)
    engine.before = fail
    errors = [told(client, f"SELECT count(*) FROM rides WHERE fare > {n}") for n in range(5)]
    assert [error for error, _, _ in errors] == [EngineFailed] * 3 + [AccountClosed] * 2
    assert errors[3][1:] == (
        'the account of role "owner" is closed, because measurements have failed',
        "The owner of the data opens it with: dpsql unlock owner. What was answered before stays free.",
    )
    engine.before = well
    other.ask("SELECT count(*) FROM rides WHERE fare > 4")
    client.ask(COUNT)
    assert told(client, "SELECT count(*) FROM rides WHERE fare > 0")[0] is EngineFailed
    assert (engine.runs, client.charges) == (5, 5)
    client.ledger.unlock("owner")
    client.ask("SELECT count(*) FROM rides WHERE fare > 3")
    engine.before = fail
    assert [told(client, f"SELECT count(*) FROM rides WHERE tip > {n}")[0] for n in range(4)] == [
        *[EngineFailed] * 3,
        AccountClosed,
    ]


def test_two_bugs_close_the_account(rides: Memory, new_client: NewClient) -> None:
    """The client hears what it hears of an engine that fails; the owner is told where, and no value."""
    client = new_client(Watched(rides, after=float_rows))
    assert told(client, COUNT)[0] is EngineFailed
    assert told(client, "SELECT count(*) FROM rides")[0] is EngineFailed
    assert told(client, "SELECT sum(fare) FROM rides")[0] is AccountClosed
    incidents = client.ledger.incidents("owner")
    assert [(i.user, i.what, i.statement) for i in incidents] == [
        ("ana", "broken", COUNT),
        ("ana", "broken", "SELECT count(*) FROM rides"),
        ("ana", "closed", "SELECT count(*) FROM rides"),
    ]
    assert incidents[0].cause.startswith("InternalError in privacy/release/exact.py, line ")
    client.ledger.unlock("owner")
    assert client.ledger.incidents("owner") == ()


def test_what_can_not_be_stored_is_told_once(
    rides: Memory, policy: Policy, new_client: NewClient, tmp_path: Path
) -> None:
    """Where the ledger's disk fills up between charge and release the client has what it paid for, and pays again."""
    with SqliteLedger(tmp_path / "full.db", noon) as ledger:

        def fills_up(rows: Rows) -> Rows:
            with ledger._file.read() as connection:
                connection.execute("PRAGMA max_page_count = 1")
            return rows

        engine = Watched(rides, after=fills_up)
        client = new_client(engine, policy=with_epsilon(policy, Fraction(1)), ledger=ledger)
        sql = "SELECT from_zone, paid, seats, day, count(*), sum(fare) FROM rides GROUP BY 1, 2, 3, 4"
        assert client.ask(sql).rows
        with ledger._file.read() as connection:
            connection.execute("PRAGMA max_page_count = 1000000")
        engine.after = lambda rows: rows
        assert client.ask(sql).rows
        assert (engine.runs, client.charges, ledger.is_closed("owner")) == (2, 2, False)


def test_a_measurement_costs_what_it_costs_when_it_fails(rides: Memory, new_client: NewClient) -> None:
    """The ledger's lines of a statement that fails are those of one that does not."""
    lines = []
    for before in (well, fail):
        client = new_client(Watched(rides, before=before))
        client.ledger.advance("a question of its own")
        with suppress(EngineFailed):
            client.ask(COUNT)
        entry = client.ledger.entries(None, 1)[0]
        lines.append((entry.cost.epsilon, entry.note, entry.measured, entry.statement))
    assert lines[0] == lines[1]
    assert lines[0][0] > Fraction(0)
