"""MIN and MAX of large tables: read off the outermost rows, and one question whatever is paid for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.question import Cancellation, Settings
from tests.gateway.engines import Watched, WatchedPrepared
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

MAX = "SELECT max(fare) FROM trips"


class Heard(Watched):
    """Remembers what it is asked."""

    def __init__(self, engine: Memory) -> None:
        """Begin with nothing."""
        super().__init__(engine)
        self.asked: list[str] = []

    @contextmanager
    def ready(
        self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation
    ) -> Iterator[WatchedPrepared]:
        """Note the statements, and make ready."""
        self.asked += statements
        with super().ready(statements, timeout=timeout, cancellation=cancellation) as prepared:
            yield prepared


@pytest.fixture
def engine(policy: Policy) -> Heard:
    """Some trips, the dearest of which have one price."""
    memory, maker = Memory(policy), Maker(3)
    rows = [maker.row(policy.tables["trips"]) | {"passenger_id": n} for n in range(1000)]
    memory.fill("trips", [row | {"fare": 140.0 if n % 2 else n % 90} for n, row in enumerate(rows)])
    return Heard(memory)


def test_the_outermost_units_alone_are_read(engine: Heard, policy: Policy, new_client: NewClient) -> None:
    """How many these are follows from ε; asked again it is free."""
    client = new_client(engine, policy=with_epsilon(policy, Fraction(2)))
    ((largest,),) = client.ask(MAX).rows
    assert float(str(largest)) >= 139
    (sql,) = engine.asked
    assert "LIMIT 1 OFFSET" in sql
    assert client.ask(MAX).rows == [(largest,)]
    assert engine.asked == [sql]
    client.ask(MAX, Settings(epsilon="1", reuse="off"))
    assert [other == sql for other in engine.asked] == [True, False]


@pytest.mark.parametrize("sql", ["SELECT max(fare) FROM trips GROUP BY payment_type", "SELECT median(fare) FROM trips"])
def test_others_are_read_whole(sql: str, engine: Heard, policy: Policy, new_client: NewClient) -> None:
    """What is in groups, and what is no extreme."""
    new_client(engine, policy=with_epsilon(policy, Fraction(2))).ask(sql)
    assert engine.asked
    assert "LIMIT" not in "".join(engine.asked)
