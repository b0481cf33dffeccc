"""What fails before the charge is free, what fails after it is not, and no measurement is charged that was not ready."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import BudgetExhausted, EngineLost, EngineNotReady, LedgerFailed
from dpsql.gateway.readiness import Readiness, ReadyState
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.gateway.engines import Watched
from tests.gateway.ledgers import with_total
from tests.support.fix_world import Client, NewClient, World
from tests.support.records import Maker
from tests.support.served import Served

COUNT = "SELECT paid, count(*) FROM rides GROUP BY paid"
TWO = "SELECT (SELECT count(*) FROM rides), (SELECT median(fare) FROM rides)"


@pytest.fixture
def rides(policy: Policy, world: World) -> Iterator[Served]:
    """Some rides on PostgreSQL."""
    engine, maker = Served(world, "readied"), Maker(5)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n // 5} for n in range(200)])
    yield engine
    engine.close()


def test_what_the_engine_refuses_is_not_charged(rides: Served, new_client: NewClient) -> None:
    """However often it is asked; what was released before is still there."""
    client = new_client(rides)
    first = client.ask(COUNT)
    rides.execute("REVOKE SELECT ON rides FROM reader")
    for _ in range(10):
        with pytest.raises(EngineNotReady):
            client.ask(TWO, Settings(reuse="off"))
    assert client.ask(COUNT).rows == first.rows
    assert client.charges == 1
    rides.execute("GRANT SELECT (rider, fare, paid) ON rides TO reader")
    client.ask(TWO, Settings(reuse="off"))
    assert client.charges == 3


def test_no_column_is_read_that_is_not_asked_about(rides: Served, new_client: NewClient) -> None:
    """Also where a long statement has columns clamped once: the engine's owner need not let dpsql read others."""
    rides.execute("REVOKE SELECT ON rides FROM reader")
    rides.execute("GRANT SELECT (rider, fare) ON rides TO reader")
    client, long = new_client(rides), " + ".join(f"greatest(fare * {n}, least(fare + {n}, 9))" for n in range(2, 20))
    client.ask(f"SELECT sum({long}) FROM rides")
    client.ask(f"SELECT median({long}) FROM rides")
    with pytest.raises(EngineNotReady):
        client.ask("SELECT sum(tip) FROM rides")
    assert client.charges == 2


def test_a_connection_that_breaks_after_the_charge_leaves_it(rides: Served, new_client: NewClient) -> None:
    """It might have broken because of what was read; the next try is charged, and answered on a fresh connection."""
    engine = Watched(rides, before=lambda _: _end(rides))
    client = new_client(engine)
    with pytest.raises(EngineLost):
        client.ask(COUNT)
    assert client.charges == 1
    engine.before = lambda _: None
    client.ask(COUNT)
    assert client.charges == 2


def test_monitors_are_told(rides: Served, world: World, new_client: NewClient) -> None:
    """Within seconds, of a table by its name; and who asks often does not ask the engine often."""
    now = [0.0]
    ledger = _sql_ledger(new_client(rides))
    readiness = Readiness(lambda: (rides, world.policy), ledger.require_writable_file, lambda: now[0])
    assert readiness.state() == ReadyState()
    rides.execute("REVOKE SELECT ON rides FROM reader")
    assert readiness.state() == ReadyState()
    now[0] += 6
    assert readiness.state() == ReadyState(text='ready\ntable "rides" can\'t be asked now: the log says why')
    others = [name for name, table in world.policy.tables.items() if name != "rides" and not table.public]
    for name in others:
        rides.execute(f"REVOKE SELECT ON {name} FROM reader")
    now[0] += 6
    assert readiness.state() == ReadyState(answers=False, text=EngineNotReady.text)
    for name in ("rides", *others):
        rides.execute(f"GRANT SELECT ON {name} TO reader")
    now[0] += 6
    assert readiness.state() == ReadyState()


def test_monitors_are_told_of_a_ledger_that_is_away(
    rides: Served, world: World, new_client: NewClient, tmp_path: Path
) -> None:
    """Clients would hear that instead of an answer. To look charges nothing."""
    now, ledger = [0.0], _sql_ledger(new_client(rides))
    readiness = Readiness(lambda: (rides, world.policy), ledger.require_writable_file, lambda: now[0])
    assert readiness.state() == ReadyState()
    ledger.path.rename(tmp_path / "moved")
    now[0] += 6
    assert readiness.state() == ReadyState(answers=False, text=LedgerFailed.text)
    (tmp_path / "moved").rename(ledger.path)
    now[0] += 6
    assert readiness.state() == ReadyState()
    assert not ledger.entries(None, 9)


def _sql_ledger(client: Client) -> SqliteLedger:
    assert isinstance(client.ledger, SqliteLedger)
    return client.ledger


def _end(rides: Served) -> None:
    """End this engine's sessions, and none of other files' engines in the same server."""
    whose = "usename = 'reader' AND datname = current_database()"
    rides.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {whose}")


def test_the_tables_stay_as_they_are_until_the_end(rides: Served, new_client: NewClient) -> None:
    """Between ready and run nobody can alter them: who tries waits, and a statement's parts all see the same columns."""
    refused: list[str | None] = []

    def alter(_: object) -> None:
        try:
            rides.execute("SET lock_timeout = '50ms'; ALTER TABLE rides DROP COLUMN fare")
        except psycopg.errors.LockNotAvailable as error:
            refused.append(error.sqlstate)

    client = new_client(Watched(rides, before=alter))
    client.ask(TWO)
    assert (len(refused), client.charges) == (2, 2)


def test_who_can_not_pay_holds_nothing(rides: Served, new_client: NewClient, policy: Policy) -> None:
    """The engine is not even asked to make ready."""
    engine = Watched(rides)
    client = new_client(engine, policy=with_total(policy, 1))
    client.ask(COUNT)
    for _ in range(5):
        with pytest.raises(BudgetExhausted):
            client.ask(TWO)
    assert (engine.readied, engine.runs) == (1, 1)
