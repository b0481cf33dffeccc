"""Trials of statements as a server makes them, for tests: on the worlds that tests have, without anything kept."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import Unsupported
from dpsql.gateway.plans.planning import Planner
from dpsql.gateway.pricing import PricedPlan, price
from dpsql.policy.model import EmptyGroups, Policy, TrialMode
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.question import Cancellation, Settings
from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.syntax.whole.analyze import analyze
from dpsql.rewrite.syntax.whole.scopes import Kind
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from dpsql.trial.engine import TrialEngine
from dpsql.trial.postgres_engine import PostgresTrialEngine
from dpsql.trial.running_trial import RunningTrial, TrialOutcome
from dpsql.trial.spark_engine import SparkTrialEngine
from dpsql.trial.subject import TrialSubject
from dpsql.trial.trial import StatementTrial
from dpsql.trial.tried_forms import TriedForms
from tests.support.fix_world import World
from tests.support.served import Filled


@dataclass(frozen=True, slots=True)
class Court:
    """Where statements over a world are tried."""

    policy: Policy
    world: World
    engine: Filled
    trial: StatementTrial

    @property
    def emitter(self) -> Emitter:
        """Return what writes statements for the engine."""
        return Emitter(self.engine.dialect, self.world.public.declared, self.engine.named, self.engine.kept)

    def priced(self, sql: str, role: str) -> PricedPlan:
        """Return what a statement measures and pays.

        Raises:
            DpsqlError: it is refused.
        """
        shadow = self.world.oracle()
        asked = analyze(sql, self.policy, BoundReader(shadow))
        assert asked is not None
        if asked.refusal is not None:
            raise asked.refusal.error()
        if asked.kind is Kind.PUBLIC:
            raise Unsupported("the policy knows the answer, and nothing is measured", because="known-rows")
        asking_role, public = self.policy.roles[role], self.world.public
        facts = (
            asking_role,
            public.declared,
            public.rows,
            self.engine.unique_keys,
            self.policy.tables,
            EmptyGroups.SHOW,
        )
        planner = Planner(self.policy, PlanningContext(*facts), shadow)
        plan = planner.measure(planner.track(planner.resolve(asked, ()), ()))
        counts_rho = self.policy.counts_rho(asking_role)
        return price(plan, asking_role, Settings(), self.emitter, counts_rho=counts_rho)

    def tried(self, sql: str, role: str) -> TrialOutcome:
        """Try a statement.

        Raises:
            DpsqlError: it is refused, or fails its trial.
        """
        return self.see(self.priced(sql, role), role)

    def see(self, priced: PricedPlan, role: str) -> TrialOutcome:
        """Try a statement that is priced.

        Raises:
            TrialFailed: it fails.
        """
        begun = RunningTrial(self.trial, self.policy.roles[role].protects, Cancellation())
        begun.see(priced.measurements)
        return begun.told()


def court(
    policy: Policy, world: World, engine: Filled, *, prepare: Callable[[TrialSubject], TrialEngine] | None = None
) -> Court:
    """Return a place to try statements in; what passed once is tried again."""
    emitter = Emitter(engine.dialect, world.public.declared, engine.named, engine.kept)
    subject = TrialSubject.of(policy, world.public.rows, engine, engine.dialect.name)
    match engine:
        case SparkEngine():
            usual: Callable[[TrialSubject], TrialEngine] = partial(SparkTrialEngine, connect=engine.another_session)
        case PostgresEngine():
            usual = partial(PostgresTrialEngine, dsn=world.server.dsn)
        case _:
            usual = DuckDbTrialEngine
    trial = StatementTrial(subject, prepare or usual, "tests", emitter, TriedForms(None), TrialMode.ALWAYS)
    return Court(policy, world, engine, trial)
