"""Whole transcripts over several protected tables: the same is told with any unit, without it, and with nobody at all.

Rows of single units, joins of protected tables, and statements of two stages, each asked twice of a gateway with a ledger:
errors, charges, statements of the engine, names and types of columns, and the number of rows where it is public.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from dpsql.accounting.ledger import Ledger
from dpsql.engines.base import Engine
from dpsql.gateway.gateway import Gateway
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.question import Settings
from tests.gateway.engines import Watched
from tests.support.fix_engines import ENGINES
from tests.support.fix_shop import PROTECTED, Shop, Shops, paying
from tests.support.fix_world import World
from tests.support.shop_generator import STAGES, Written, written
from tests.support.shop_worlds import EMPTY, NEIGHBOURS, SHUFFLED, WHOLE, put, schema
from tests.support.transcripts import Sessions, Transcript, sessions

WORLD = 4
KINDS = {
    "units": frozenset({"rows of single units", "window"}),
    "joins": frozenset({"join of protected tables", "UNION ALL", "EXISTS", "NOT EXISTS", "IN units", "NOT IN units"}),
    "stages": STAGES,
}
FEW, MANY = 6, 500


class InVersion(Watched):
    """An engine that finds its protected tables in one of the schemas."""

    place: str

    def named(self, table: str) -> str:
        """Return a table's name there."""
        return f'{self.place}."{table}"' if table in PROTECTED else self.engine.named(table)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the world on an engine."""

    shop: Shop
    place: str

    @property
    def world(self) -> World:
        """Return the shadow."""
        return self.shop.world

    @property
    def engine(self) -> Engine:
        """Return the engine."""
        in_version = InVersion(self.shop.engine)
        in_version.place = self.place
        return in_version

    def gateway(self, ledger: Ledger, entropy: Entropy, seen: Callable[[Engine], Engine], /) -> Gateway:
        """Return a gateway to what `seen` makes of the engine."""
        return self.world.gateway(seen(self.engine), ledger, policy=paying(self.shop.policy, 1), entropy=entropy)


@pytest.fixture(scope="module")
def open_sessions(shops: Shops) -> Iterator[Sessions]:
    """Sessions in the shadow, and the world on both engines."""
    for shop in shops.values():
        put(shop, WORLD, WORLD)
    with sessions(Version(shops["duckdb"], "")) as opened:
        yield opened


FEW_VERSIONS = (WHOLE, NEIGHBOURS[0], EMPTY)
ALL_VERSIONS = (WHOLE, SHUFFLED, *NEIGHBOURS, EMPTY)


def told(statement: Written, shop: Shop, opened: Sessions, versions: Sequence[str]) -> list[Transcript]:
    """Return what is told with everybody, in another order, without each of some units, and with nobody."""
    return [
        opened.transcript(Version(shop, schema(WORLD, version)), statement.sql, statement.user, Settings(epsilon="0.5"))
        for version in versions
    ]


def check(statement: Written, shop: Shop, opened: Sessions, versions: Sequence[str]) -> bool:
    """See that all are told the same; return whether it is an answer."""
    fixed = not statement.has & {*STAGES, "found keys", "HAVING"} and statement.user == "ana"
    whole, *others = told(statement, shop, opened, versions)
    assert all(other.told(fixed=fixed) == whole.told(fixed=fixed) for other in others), statement.sql
    return whole.asked[0].error is None


def of_kind(kind: str, start: int) -> Iterator[tuple[int, Written]]:
    """Yield the statements from a number on that have something of a kind."""
    numbered = ((number, written(number)) for number in itertools.count(start))
    return ((number, statement) for number, statement in numbered if statement.has & KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_told_the_same(kind: str, shops: Shops, open_sessions: Sessions) -> None:
    """On the first try and on the second, on either engine."""
    numbered = itertools.islice(of_kind(kind, 0), FEW)
    answered = [
        check(statement, shops[ENGINES[number % 2]], open_sessions, FEW_VERSIONS) for number, statement in numbered
    ]
    assert sum(answered) > FEW / 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_neighbours_are_told_the_same(kind: str, shops: Shops, open_sessions: Sessions) -> None:
    """The same for many more, others each time."""
    start = random.randrange(2**40)  # noqa: S311  (the statement is told where one fails)
    for number, statement in itertools.islice(of_kind(kind, start), MANY):
        check(statement, shops[ENGINES[number % 2]], open_sessions, ALL_VERSIONS)
