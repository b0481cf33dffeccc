"""The golden statements on a snapshot's tables mean what they mean on the records, of which some units have too many."""

import datetime as dt
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal

import pytest

from dpsql.policy.model import Policy
from dpsql.question import Asker
from tests.support.dirt import heavy
from tests.support.fix_dirty import Records
from tests.support.fix_world import USERS, Client, World, noon
from tests.support.golden import Golden, load
from tests.support.memory import Memory
from tests.support.prepared import Prepared
from tests.support.quick_ledger import quick_ledger
from tests.support.samples import slow, spread

OF = 40
"""Of how many statements `make test-long` tries one."""
ANSWERED = [golden for golden in load() if golden.verdict == "answered"]
UNITS = {"trips": "passenger_id", "rides": "rider"}
Rows = Callable[[Golden], Sequence[Sequence[object]]]


@pytest.fixture(scope="module")
def answers(
    world: World, policy: Policy, records: Records, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rows, Rows]]:
    """Give what a statement answers without noise, on the records and on a snapshot's tables."""
    with ExitStack() as until:
        on_records = _answers(world, Memory(policy), records, tmp_path_factory, until)
        yield on_records, _answers(world, Prepared(policy), records, tmp_path_factory, until)


def _answers(
    world: World, engine: Memory, records: Records, directories: pytest.TempPathFactory, until: ExitStack
) -> Rows:
    until.callback(engine.close)
    for table, table_rows in records.items():
        engine.load(table, heavy(table_rows, UNITS[table], 4), directories.mktemp("heavy"))
    ledger = until.enter_context(quick_ledger(noon))
    gateway, owner = world.gateway(engine, ledger), until.enter_context(world.connect("dpsql_owner"))

    def rows(golden: Golden) -> Sequence[Sequence[object]]:
        with world.connect(golden.user) as connection:
            client = Client(gateway, ledger, connection, owner, Asker(golden.user, USERS[golden.user]))
            return client.ask(golden.sql).rows

    return rows


@pytest.mark.parametrize(
    "golden", [pytest.param(g, id=g.name, marks=() if spread(g.name, OF) == 0 else slow) for g in ANSWERED]
)
def test_a_snapshot_answers_the_same(golden: Golden, answers: tuple[Rows, Rows]) -> None:
    """Row by row, whatever is kept beside the columns; what noise there is shows behind many digits only."""
    on_records, on_snapshot = answers
    answered, expected = on_snapshot(golden), on_records(golden)
    assert len(answered) == len(expected)
    pairs = zip(itertools.chain(*answered), itertools.chain(*expected), strict=True)
    assert [(a, b) for a, b in pairs if not _alike(a, b, 2 * golden.within + 1e-6)] == []


def _alike(a: object, b: object, within: float) -> bool:
    if isinstance(a, dt.timedelta) and isinstance(b, dt.timedelta):
        return _alike(a.total_seconds(), b.total_seconds(), within)
    if isinstance(a, float | Decimal) and isinstance(b, float | Decimal):
        return math.isclose(a, b, rel_tol=within, abs_tol=1e-3) or (math.isnan(a) and math.isnan(b))
    return a == b
