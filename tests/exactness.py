"""What a statement measures, without noise: from its text through the real pipeline to exact integers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.model import Policy, Privacy
from dpsql.plan import Planner
from dpsql.privacy.budget import issue
from dpsql.privacy.exact import Row as EngineRow
from dpsql.privacy.exact import exact_sums
from dpsql.privacy.measure import World as Facts
from dpsql.privacy.sums import Sums
from dpsql.question import Cancellation, Field
from dpsql.rewrite.asked import take_apart
from dpsql.rewrite.emit import Emitter
from dpsql.rewrite.scopes import find
from tests.fix_world import World
from tests.memory import Memory
from tests.records import Row

Coordinates = Sequence[Sequence[int]]
_PAID = issue(frozenset(), Privacy(Fraction(1)))
_SOME = Field("c", 25, -1, "text")


def measurements(sql: str, policy: Policy, world: World, engine: Memory, role: str = "owner") -> tuple[Sums, ...]:
    """Return what the statement measures for a role.

    Raises:
        DpsqlError: the statement is refused.
    """
    asked = take_apart(sql, policy)
    assert asked is not None
    if asked.refusal is not None:
        raise asked.refusal
    assert asked.statement is not None
    facts = Facts(policy.roles[role], world.public.declared, world.public.rows, engine.unique_columns)
    scopes = find(asked.statement.tree, policy).scopes
    described = ((), *((_SOME,) * (len(s.keys) + len(s.aggregates)) for s in scopes))
    plan = Planner(policy, facts, world.oracle()).plan(asked, described, ())
    return tuple(scope.plan.sums for scope in plan.scopes if scope.plan.sums is not None)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement and the engine it is run on."""

    sums: Sums
    engine: Memory
    sql: str

    @classmethod
    def of(cls, sums: Sums, engine: Memory, world: World) -> "Measured":
        """Build with the engine's statement."""
        return cls(sums, engine, sums.sql(Emitter(engine.dialect, world.public.declared)))

    def rows(self) -> Sequence[EngineRow]:
        """Return what the engine answers."""
        return self.engine.run(self.sql, _PAID, timeout=60.0, cancellation=Cancellation())

    def exact(self) -> Coordinates:
        """Return the exact coordinates of every group."""
        return exact_sums(self.sums, self.rows()).coordinates

    def moves(self, table: str, rows: Sequence[Row], unit: str) -> Iterator[int]:
        """Yield, for every unit, how far its rows move the coordinates; the table is left without the last one's."""
        self.engine.fill(table, rows)
        whole = self.exact()
        for name in sorted({str(row[unit]) for row in rows if row[unit] is not None}):
            self.engine.fill(table, [row for row in rows if str(row[unit]) != name])
            yield distance(whole, self.exact())


def distance(a: Coordinates, b: Coordinates) -> int:
    """Return how far apart two measurements are: over the groups, the sum of the largest differences."""
    return sum(max(abs(x - y) for x, y in zip(one, other, strict=True)) for one, other in zip(a, b, strict=True))
