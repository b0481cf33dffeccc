"""The stage price: what a planned statement pays, for the ε that its session has set."""

from dataclasses import dataclass

from dpsql.gateway.planning import StatementPlan
from dpsql.gateway.session_settings import session_epsilon
from dpsql.policy.model import Role
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope, shares, statement_epsilon
from dpsql.question import Settings
from dpsql.rewrite.emit.emitter import Emitter


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """A planned statement, and for each of its scopes the measurements with what they pay."""

    plan: StatementPlan
    scopes: tuple[PricedScope, ...]

    @property
    def measurements(self) -> tuple[PricedMeasurement, ...]:
        """Return the distinct measurements: what two scopes ask alike is measured and paid once."""
        return tuple({part.identity: part for scope in self.scopes for part in scope.parts}.values())


def price(plan: StatementPlan, role: Role, settings: Settings, emitter: Emitter) -> PricedPlan:
    """Return the plan with each measurement's share of ε and δ, and with the engine's SQL.

    Raises:
        Unsupported: the session's ε is none that the statement may pay.
    """
    plans = [scope.plan for scope in plan.scopes]
    epsilon = session_epsilon(settings, role, statement_epsilon(role, plans))
    return PricedPlan(plan, shares(plans, epsilon, role, emitter))
