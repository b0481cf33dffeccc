"""The calculations of the page Choose: limits, beliefs, levels, lines for the configuration, and the present roles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpsql.epsilon.advising.advice import Size
from dpsql.epsilon.advising.belief import Belief, belief_after
from dpsql.epsilon.advising.lines import Holder, decimal, policy_lines
from dpsql.epsilon.advising.plan import EpsilonPlan
from dpsql.epsilon.advising.promises import Promise, Promises
from dpsql.epsilon.advising.standing import standing
from dpsql.epsilon.noise.levels import TARGETS
from dpsql.epsilon.noise.outputs import OutputKind, median_epsilon
from dpsql.epsilon.noise.searching import USUAL_MEAN, Served, served
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.rounding import down_to_digits
from dpsql.policy.model import NoiseLevel, Period, Policy, Role
from dpsql.privacy.accuracy.dashboards import Dashboard, dashboard
from dpsql.web.amounts import DIGITS
from dpsql.web.curves import Json, short
from dpsql.web.inputs import BadField, fraction, one_of, share, whole
from dpsql.web.visible import visible

LEAST_POLICY_EPSILON, MOST_POLICY_EPSILON = Fraction(1, 10_000), Fraction(100)
"""The ε that may be chosen."""
POINTS = 160
CHARTS = 50
"""How many questions a dashboard has, unless somebody says otherwise."""
STAYS = {"days": 1, "weeks": 7, "months": 31, "years": 366, "good": None}
"""The most days of each unit of a stay; None is for good."""
_LONGEST = {"days": 36_525, "weeks": 5_217, "months": 1_178, "years": 99}


@dataclass(frozen=True, slots=True)
class _Question:
    """The questions that a role will ask: its noise level, and the statistics that its `per_query` has to suffice for."""

    level: NoiseLevel
    outputs: frozenset[OutputKind]
    size: Size

    def served(self, output: OutputKind, cap: Fraction) -> Served:
        """Return what a question for one statistic costs in all, and gets; a median as much as it takes not to be NULL."""
        offer, size = served(self.size.asked(output), self.level, cap), self.size
        if offer.answered or output is not OutputKind.MEDIAN or output not in self.outputs:
            return offer
        epsilon = min(median_epsilon(contribution=size.max_rows, rows=size.in_group), cap)
        return replace(
            offer,
            epsilon=max(epsilon, offer.epsilon),
            error=size.asked(output).error(float(epsilon)),
            answered=size.asked(output).is_answered(epsilon),
        )

    def cap(self, each: Fraction) -> Fraction:
        """Return the `per_query` that suffices for all of them, never more than a period's budget."""
        return max(self.served(output, each).epsilon for output in self.outputs)


def rule_of(given: Mapping[str, str], policy: Policy, role: Role) -> Json:
    """Return everything that the page shows but the study.

    Raises:
        BadInput: a field makes no sense, or all of them together do not.
    """
    plan, question, lines = _policy(given, policy)
    charts = whole(given, "charts", 1, 10**6) if given.get("charts") else CHARTS
    of_rho = dashboard(question.size, plan, charts)
    promises, now = plan.promises, plan.after(plan.periods)
    return {
        "limits": {promise: float(limit) for promise, limit in promises.limits().items()},
        "binding": promises.binding(),
        "needs": {p: float(getattr(promises, p)) for p in Promise},
        "largest": float(promises.largest()),
        "epsilon": float(plan.total),
        "keeps": plan.keeps,
        "periods": plan.periods,
        "each": decimal(plan.each),
        **_beliefs(now),
        **_curves(plan),
        "milestones": [
            {"periods": count, "stay": count == plan.periods, "kept": _kept(promises, b), **_beliefs(b)}
            for count, b in plan.milestones()
        ],
        "statistics": [_statistic(output, question, plan.each) for output in OutputKind],
        "targets": {level: float(TARGETS[level]) for level in NoiseLevel},
        "doubt": question.size.doubt,
        "yaml": lines,
        "dashboard": _dashboard(
            of_rho, "" if lines is None else of_rho.lines(plan, _holder(given, policy, question, plan))
        ),
        "roles": [_standing(policy, shown_role, plan) for shown_role in visible(policy, role)],
    }


def policy_text(given: Mapping[str, str], policy: Policy) -> str | None:
    """Return the lines to be copied; None where the chosen ε breaks a promise. Errors are those of `rule_of`."""
    return _policy(given, policy)[2]


def _policy(given: Mapping[str, str], policy: Policy) -> tuple[EpsilonPlan, _Question, str | None]:
    plan = _plan(given)
    question = _question(given, plan.promises.people)
    holder = _holder(given, policy, question, plan)
    return plan, question, policy_lines(plan, holder) if plan.keeps else None


def _plan(given: Mapping[str, str]) -> EpsilonPlan:
    promises = Promises(
        whole(given, "people", 2, 10**9), share(given, "naming"), share(given, "membership"), share(given, "value")
    )
    period, unit = Period(one_of(given, "period", tuple(Period))), one_of(given, "stay_unit", tuple(STAYS))
    length = STAYS[unit]
    days = None if length is None else length * whole(given, "stay", 1, _LONGEST[unit])
    if days is None and period is not Period.NEVER:
        raise BadField(
            "period", f"who stays for good is there every {period}: let the budget never renew, or say how long"
        )
    if given.get("epsilon"):
        total = fraction(given, "epsilon", LEAST_POLICY_EPSILON, MOST_POLICY_EPSILON)
    else:
        largest = promises.largest()
        total = down_to_digits(largest, DIGITS) if largest > 0 else largest
    plan = EpsilonPlan.of(promises, period, days, total)
    # What was typed stays as it is, unless it is divided.
    return plan if plan.periods == 1 else replace(plan, each=down_to_digits(plan.each, DIGITS))


def _question(given: Mapping[str, str], people: int) -> _Question:
    level = NoiseLevel(one_of(given, "noise", tuple(NoiseLevel)))
    outputs = frozenset(OutputKind(word) for word in given.get("statistics", "").split(",") if word in set(OutputKind))
    if not outputs:
        raise BadField("statistics", "a role must be able to ask for something: pick a statistic")
    rows, max_rows = whole(given, "rows", 1, 10**12), whole(given, "max_rows", 1, 10**6)
    return _Question(level, outputs, Size(people, rows, max_rows, whole(given, "groups", 1, 10**6), _typical(given)))


def _typical(given: Mapping[str, str]) -> Fraction:
    """Return where values lie, as a share of the largest."""
    typical = share(given, "typical") if given.get("typical") else USUAL_MEAN
    if typical > USUAL_MEAN:
        raise BadField("typical", "typical value must be at most 50 % of the largest")
    return typical


def _holder(given: Mapping[str, str], policy: Policy, question: _Question, plan: EpsilonPlan) -> Holder:
    kind = one_of(given, "protects", tuple(sorted(policy.budgets)))
    try:
        return Holder(given.get("role", ""), kind, question.cap(plan.each), question.level)
    except BadInput as error:
        raise BadField("role", str(error)) from None


def _statistic(output: OutputKind, question: _Question, each: Fraction) -> Json:
    """Return what a role with the lines below can ask of one statistic, at which error and how often."""
    offer, alone = (
        question.served(output, question.cap(each)),
        served(question.size.asked(output), question.level, each),
    )
    return {
        "name": output,
        "epsilon": float(offer.epsilon),
        "error": offer.error,
        "of": "of the answer",
        "answered": offer.answered,
        "questions": int(each / offer.epsilon),
        "above_level": offer.answered and not alone.answered,
    }


def _dashboard(of_rho: Dashboard, lines: str) -> Json:
    """Return the errors of many questions by groups, where ε adds up and where ρ is counted, and the lines for that."""
    return {
        "verdict": of_rho.verdict,
        "in_groups": of_rho.in_groups,
        "compared": [
            {
                "name": one.output,
                "pure": one.pure,
                "of_rho": one.of_rho,
                "spread": one.spread,
                "nearer": one.nearer,
            }
            for one in of_rho.compared
        ],
        "yaml": lines,
    }


def _beliefs(belief: Belief) -> Json:
    return {
        "spent": float(belief.epsilon),
        "named": belief.singled_out,
        "guess": belief.membership,
        "valued": belief.value,
    }


def _kept(promises: Promises, belief: Belief) -> bool:
    return belief.epsilon <= promises.largest()


def _curves(plan: EpsilonPlan) -> Json:
    """Return what can be believed by total ε."""
    limits = plan.promises.limits()
    end = 1.15 * float(
        max(plan.total, min(limits[Promise.NAMING], 4 * plan.promises.largest()), plan.promises.largest())
    )
    grid = [float(epsilon) for epsilon in np.linspace(0, end, POINTS)]
    beliefs = [belief_after(Fraction(epsilon), plan.promises.people) for epsilon in grid]
    return {
        "x": short(grid),
        "naming": short([belief.singled_out for belief in beliefs]),
        "membership": short([belief.membership for belief in beliefs]),
        "value": short([belief.value for belief in beliefs]),
    }


def _standing(policy: Policy, role: Role, plan: EpsilonPlan) -> Json:
    """Return what a present role could reveal of a person, by the promises that the visitor has set."""
    role_standing = standing(role, policy.budgets[role.protects], plan.days)
    belief = belief_after(role_standing.total, plan.promises.people)
    renewing = "" if role.budget.period is Period.NEVER else f" a {role.budget.period}"
    return {
        "name": role.name,
        "budget": decimal(role.budget.total.epsilon) + renewing,
        "periods": role_standing.periods,
        "by_dataset": role_standing.by_dataset,
        "kept": _kept(plan.promises, belief),
        "broken": _broken(plan.promises, belief),
        **_beliefs(belief),
    }


def _broken(promises: Promises, belief: Belief) -> Iterable[str]:
    return [promise for promise, limit in promises.limits().items() if belief.epsilon > limit]
