"""An engine's version is admitted where all golden statements and 2,000 made-up ones find the same integers in every way.

In DuckDB: with the optimizers that are allowed and without any, by one thread and by several; in PostgreSQL as it plans, by
loops and sorting, and by several processes, each version beside the shadow's own, on which trials run; in Sail, which has no
other switches, by one partition and by several, small batches, and joins in an order of its own. `make test-long` asks a few,
of the versions that are installed.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import duckdb
import pytest

from dpsql.canaries.served_people import sail
from dpsql.engines.duckdb.opening import other_optimizers
from dpsql.policy.model import Policy
from tests.support.fix_shop import PUBLIC, paying, read_shop
from tests.support.fix_shop import USERS as SHOPPERS
from tests.support.fix_world import USERS, running
from tests.support.golden import load
from tests.support.memory import Memory
from tests.support.plain_server import installed_servers, running_server
from tests.support.quick_ledger import quick_directory
from tests.support.records import ZONES
from tests.support.sailing import Sailing
from tests.support.samples import slow
from tests.support.served import Filled, Served
from tests.support.shop_generator import written
from tests.support.tried import Court
from tests.trial.admission import Admission, admission, refused_or_differing
from tests.trial.test_optimizer import STATEMENT as READ_OTHERWISE

MADE_UP, PARTS, FEW = 2000, 10, 8
GOLDEN = [golden for golden in load() if golden.verdict == "answered"]
SERVERS = installed_servers()
"""Of PostgreSQL, each of which holds records, beside a shadow of the version that trials always run on."""
ENGINES = ("duckdb", *(f"postgres {major}" for major in sorted(SERVERS)), pytest.param("sail", marks=slow))
_ALONE = {"SAIL_EXECUTION__DEFAULT_PARALLELISM": "1"}
_PARALLEL = {
    "SAIL_EXECUTION__DEFAULT_PARALLELISM": "4",
    "SAIL_EXECUTION__BATCH_SIZE": "8",
    "SAIL_OPTIMIZER__ENABLE_JOIN_REORDER": "true",
}
Admissions = Mapping[str, Admission]


def _opened(policy: Policy, engine: str, users: Mapping[str, str], until: ExitStack) -> Admission:
    """Return the ways of an engine over a world."""
    public = PUBLIC if "customers" in policy.tables else {"zones": ZONES}
    memory = Memory(policy, public=public)
    world = until.enter_context(running(policy, users, memory))
    dsn = None
    filled: Filled = memory
    others = {}
    if engine == "sail":
        remotes = [until.enter_context(sail(**options)) for options in (_ALONE, _PARALLEL)]
        filled, others = Sailing(remotes[0], world.policy, public), {"several partitions": remotes[1]}
        until.callback(filled.close)
    elif engine != "duckdb":
        dsn = until.enter_context(running_server(SERVERS[int(engine.split()[1])])).dsn
        filled = Served(world, "admitted", public, dsn)
        until.callback(filled.close)
    return admission(world.policy, world, filled, until.enter_context(quick_directory()), others=others, dsn=dsn)


@pytest.fixture(scope="module", params=ENGINES)
def ways(
    request: pytest.FixtureRequest, policy: Policy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Admissions]:
    """Give all ways of an engine, over the golden statements' world and over the shop."""
    shop = paying(read_shop(tmp_path_factory.mktemp("shop")), 1, "explorer")
    with ExitStack() as until:
        yield {
            "golden": _opened(policy, request.param, USERS, until),
            "shop": _opened(shop, request.param, SHOPPERS, until),
        }


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=slow) for n in range(1, PARTS))])
def test_every_way_finds_the_same_integers(part: int, ways: Admissions) -> None:
    """Of each statement, in databases as they are and without somebody."""
    asked = [("golden", golden.sql, USERS[golden.user]) for golden in GOLDEN[part::PARTS]]
    shop = map(written, range(part, MADE_UP, PARTS))
    asked += [("shop", statement.sql, SHOPPERS[statement.user]) for statement in shop]
    if part == 0:
        asked = asked[:FEW] + asked[-FEW:]
    differing = {sql: refused_or_differing(ways[world], sql, role) for world, sql, role in asked}
    assert [wrong for wrong in differing.values() if wrong] == []
    assert sum(wrong is not None for wrong in differing.values()) > len(asked) // 3


def test_a_wrong_optimizer_is_not_admitted(shop_courts: Mapping[str, Court]) -> None:
    """With all that DuckDB has but what it fails by, the statement that showed one is found to be read in two ways."""
    trial_court = shop_courts["duckdb"]
    with duckdb.connect() as connection:
        every = other_optimizers(connection, {"projection_placement"}).split(",")
    with quick_directory() as directory:
        differing = refused_or_differing(
            admission(trial_court.policy, trial_court.world, trial_court.engine, directory, every),
            READ_OTHERWISE,
            "owner",
        )
    assert differing
