"""What the gateway remembers of statements: their questions, their plans, and the prices of these."""

from collections.abc import Hashable
from dataclasses import replace

from dpsql.gateway.planning import StatementPlan
from dpsql.gateway.pricing import PricedPlan
from dpsql.gateway.request import Question, Request
from dpsql.gateway.weight import weight
from dpsql.remembered import Remembered
from dpsql.rewrite.syntax.analyze import AnalyzedStatement
from dpsql.rewrite.syntax.parse import Statement

_MOST = 128 * 2**20
"""Bytes for the plans, as many for the priced ones, and a quarter of that for questions."""
_PER_CHARACTER = 200
"""Bytes that a question takes for each character of its statement."""


class KnownPlans:
    """Plans by all that they depend on."""

    def __init__(self) -> None:
        self.questions: Remembered[tuple[Question | None]] = Remembered(_MOST // 4, _by_length)
        """The question in a statement, by its text; None where it is the shadow's own business."""
        self.plans: Remembered[StatementPlan] = Remembered(_MOST, weight)
        self.prices: Remembered[PricedPlan] = Remembered(_MOST, weight)

    def plan(self, request: Request) -> StatementPlan | None:
        """Return the plan of an equal request."""
        return self.plans.get(_key(request))

    def keep_plan(self, request: Request, plan: StatementPlan) -> None:
        """Remember a plan that is the same whenever it is made."""
        self.plans.keep(_key(request), plan)

    def priced(self, request: Request, plan: StatementPlan) -> PricedPlan | None:
        """Return what this very plan pays for the ε that the session asks for."""
        known = self.prices.get(_with_price(request))
        return known if known is not None and known.plan is plan else None

    def keep_priced(self, request: Request, priced: PricedPlan) -> None:
        """Remember what a plan pays."""
        self.prices.keep(_with_price(request), priced)


def _key(request: Request) -> Hashable:
    """Return all that a plan depends on, but for the policy: ε and errors decide what it pays, and not what is measured."""
    settings = replace(request.settings, epsilon=None, error=None)
    return request.question.text, request.described, request.arguments, settings, request.asker.role


def _with_price(request: Request) -> Hashable:
    return _key(request), request.settings.epsilon, request.settings.error


def _by_length(value: object) -> int:
    """Return the bytes of a text or a question; a question is estimated by its text, which is quick."""
    match value:
        case str():
            return len(value)
        case (Question(parsed=AnalyzedStatement(statement=Statement() as statement)),):
            return _PER_CHARACTER * sum(len(query.text) for query in statement.queries)
        case _:
            return 0
