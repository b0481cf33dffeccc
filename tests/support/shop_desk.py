"""A statement through the real pipeline up to what each measurement has to be, and the measurements without noise.

Everything is the product's own but the ledger, which is left out, and the noise: a release has the exact numbers.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import psycopg

from dpsql.errors import Unsupported
from dpsql.gateway.gateway import splice
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.plans.planning import Planner
from dpsql.gateway.pricing import PricedPlan, price
from dpsql.policy.model import Digits, EmptyGroups, Policy
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Searched
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import EngineRow, KeyRow, exact_buckets, exact_cells, exact_sums, exact_units
from dpsql.privacy.release.release import Draws, Release, release_buckets
from dpsql.question import Cancellation, ColumnDescription, Settings
from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.syntax.whole.analyze import analyze
from dpsql.rewrite.syntax.whole.scopes import Kind
from tests.support.exactness import Exact, each_once
from tests.support.fix_shop import USERS, Shop
from tests.support.fix_world import Answer, fetched
from tests.support.shop_worlds import named

Described = dict[str, tuple[ColumnDescription, ...]]


@dataclass(slots=True)
class Desk:
    """One engine under one policy, and a session in the shadow by which statements are described and completed."""

    shop: Shop
    policy: Policy
    connection: psycopg.Connection
    owner: psycopg.Connection
    described: Described = field(default_factory=dict)
    """What the shadow has said of probes of this statement."""

    @property
    def emitter(self) -> Emitter:
        """Return what writes statements over any version of a world."""
        return Emitter(self.shop.engine.dialect, self.shop.world.public.declared, named(self.shop))

    def priced(self, sql: str, user: str) -> PricedPlan:
        """Return what a statement measures and pays.

        Raises:
            DpsqlError: it is refused.
            psycopg.Error: PostgreSQL refuses it.
        """
        policy, world, role = self.policy, self.shop.world, self.policy.roles[USERS[user]]
        shadow = world.oracle()
        asked = analyze(sql, policy, BoundReader(shadow))
        assert asked is not None
        if asked.refusal is not None:
            raise asked.refusal.error()
        if asked.kind is Kind.PUBLIC:
            raise Unsupported("the policy knows the answer, and nothing is measured", because="known-rows")
        public, unique = world.public, self.shop.engine.unique_keys
        # By the noise of the role few groups could be told from empty ones, while here there is none.
        context = PlanningContext(role, public.declared, public.rows, unique, policy.tables, EmptyGroups.SHOW)
        planner = Planner(policy, context, shadow)
        plan = planner.measure(planner.track(planner.resolve(asked, ()), ()))
        return price(plan, role, Settings(), self.emitter)

    @property
    def reading(self) -> Reading:
        """Return how releases become tables."""
        return Reading(self.shop.world.oracle(), self.emitter, Cancellation(), clamp=False, digits=Digits.ALL)


@dataclass(slots=True)
class Asked:
    """A statement on its way: what is released so far, each with the exact numbers of one database."""

    desk: Desk
    priced: PricedPlan
    drawn: dict[str, Draws] = field(default_factory=dict)

    def measurements(self) -> Iterator["Completed"]:
        """Yield the measurements, each with the answers that it waits for: each has to be released before the next."""
        for part in self.priced.measurements:
            yield Completed(self.desk.reading.completed(self.priced, part, self.drawn), part, self)

    def answer(self) -> Answer:
        """Return the answer, once everything is released."""
        return fetched(self.desk.connection, splice(self.priced, self.drawn, self.desk.reading))


@dataclass(frozen=True, slots=True)
class Completed:
    """One measurement that can be made."""

    part: PricedMeasurement
    waiting: PricedMeasurement
    asked: Asked

    def sql(self, shop: Shop) -> str:
        """Return what an engine is asked, in any version of a world."""
        emitter = Emitter(shop.engine.dialect, shop.world.public.declared, named(shop))
        return self.part.measurement.sql(emitter)

    @property
    def keys(self) -> Sequence[KeyRow] | None:
        """Return the groups that another measurement has found, None if it need not."""
        finder = self.part.finds_keys
        return None if finder is None else self.asked.drawn[finder.identity].drawn[0][1].keys

    def exact(self, rows: Sequence[EngineRow]) -> Exact:
        """Return the exact numbers of each group."""
        measurement = self.part.measurement
        if isinstance(measurement, Histogram):
            keys = self.keys
            histogram = exact_buckets(measurement, rows, keys).histogram.tolist()
            return dict(zip(each_once(measurement.groups.grouped if keys is None else keys), histogram, strict=True))
        if isinstance(measurement, Searched):
            return {(): exact_cells(measurement, rows).cells}
        exact = exact_units(measurement, rows) if isinstance(measurement, KeySearch) else exact_sums(measurement, rows)
        keys = measurement.groups.grouped if exact.keys is None else exact.keys
        return dict(zip(each_once(keys), exact.coordinates, strict=True))

    def release(self, rows: Sequence[EngineRow]) -> None:
        """Release the exact numbers: of groups that are found all."""
        shown = replace(self._released(rows), chosen=self.part.chosen)
        self.asked.drawn[self.part.identity] = Draws.of((self.waiting.measurement, shown))

    def _released(self, rows: Sequence[EngineRow]) -> Release:
        measurement, keys = self.part.measurement, self.keys
        match measurement:
            case RowsPerUnit() | BeyondBounds():
                return Release([exact_cells(measurement, rows).cells])
            case Sums():
                exact = exact_sums(measurement, rows)
                exact = exact if keys is None else exact.at(keys)
                return Release([list(row) for row in exact.coordinates], exact.keys)
            case KeySearch():
                key_rows = exact_units(measurement, rows).keys or ()
                return Release([[0] for _ in key_rows], key_rows)
            case Histogram():
                return release_buckets(measurement, exact_buckets(measurement, rows, keys), random.Random(1).randbytes)  # noqa: S311


def cost(priced: PricedPlan) -> Fraction:
    """Return the ε of a statement."""
    return sum((part.cost.epsilon for part in priced.measurements), Fraction(0))
