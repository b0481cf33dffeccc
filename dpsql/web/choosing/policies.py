"""The calculations of the page Choose: limits, beliefs, levels, lines for the configuration, and the present roles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpsql.epsilon.advising.advice import EpsilonPlan, Holder, Size, decimal, policy_lines
from dpsql.epsilon.advising.rule import Belief, Promise, Promises, belief_after, stay_spending
from dpsql.epsilon.databases import worlds as databases_worlds
from dpsql.epsilon.databases.statistic import Floats, StudiedStatistic, Universe
from dpsql.epsilon.databases.worlds import leave_one_out
from dpsql.epsilon.noise.outputs import TARGETS, USUAL_MEAN, OutputKind, PricedQuestion, median_epsilon, price_question
from dpsql.epsilon.numbers import BadInput, down_to_digits
from dpsql.epsilon.risks import study as risks_study
from dpsql.epsilon.risks import study as studies
from dpsql.policy.model import NoiseLevel, Period, Policy, Role
from dpsql.privacy.accuracy.dashboards import Dashboard, dashboard
from dpsql.web.inputs import DIGITS, BadField, Json, fraction, numbers, one_of, share, short_curve, whole_number
from dpsql.web.site import visible

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

    def served(self, output: OutputKind, cap: Fraction) -> PricedQuestion:
        """Return what a question for one statistic costs in all, and gets; a median as much as it takes not to be NULL."""
        offer, size = price_question(self.size.question(output), self.level, cap), self.size
        if offer.answered or output is not OutputKind.MEDIAN or output not in self.outputs:
            return offer
        epsilon = min(median_epsilon(contribution=size.max_rows, rows=size.in_group), cap)
        return replace(
            offer,
            epsilon=max(epsilon, offer.epsilon),
            error=size.question(output).error(float(epsilon)),
            answered=size.question(output).is_answered(epsilon),
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
    charts = whole_number(given, "charts", 1, 10**6) if given.get("charts") else CHARTS
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
        whole_number(given, "people", 2, 10**9),
        share(given, "naming"),
        share(given, "membership"),
        share(given, "value"),
    )
    period, unit = Period(one_of(given, "period", tuple(Period))), one_of(given, "stay_unit", tuple(STAYS))
    length = STAYS[unit]
    days = None if length is None else length * whole_number(given, "stay", 1, _LONGEST[unit])
    if days is None and period is not Period.NEVER:
        raise BadField(
            "period", f"who stays for good is there every {period}: let the budget never renew, or say how long"
        )
    if given.get("epsilon"):
        total = fraction(given, "epsilon", LEAST_POLICY_EPSILON, MOST_POLICY_EPSILON)
    else:
        largest = promises.largest()
        # Rounded down: the total that is offered keeps every promise.
        total = down_to_digits(largest, DIGITS) if largest > 0 else largest
    plan = EpsilonPlan.of(promises, period, days, total)
    # What was typed stays as it is, unless it is divided.
    return plan if plan.periods == 1 else replace(plan, each=down_to_digits(plan.each, DIGITS))


def _question(given: Mapping[str, str], people: int) -> _Question:
    level = NoiseLevel(one_of(given, "noise", tuple(NoiseLevel)))
    outputs = frozenset(OutputKind(word) for word in given.get("statistics", "").split(",") if word in set(OutputKind))
    if not outputs:
        raise BadField("statistics", "a role must be able to ask for something: pick a statistic")
    rows, max_rows = whole_number(given, "rows", 1, 10**12), whole_number(given, "max_rows", 1, 10**6)
    return _Question(
        level, outputs, Size(people, rows, max_rows, whole_number(given, "groups", 1, 10**6), _typical(given))
    )


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
        price_question(question.size.question(output), question.level, each),
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
        "x": short_curve(grid),
        "naming": short_curve([belief.singled_out for belief in beliefs]),
        "membership": short_curve([belief.membership for belief in beliefs]),
        "value": short_curve([belief.value for belief in beliefs]),
    }


def _standing(policy: Policy, role: Role, plan: EpsilonPlan) -> Json:
    """Return what a present role could reveal of a person, by the promises that the visitor has set."""
    role_standing = stay_spending(role, policy.budgets[role.protects], plan.days)
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


# The risk of one answer about a few people: bounds by ε for several groups of people, and beliefs after one answer.

QUERIES = ("mean", "median", "variance", "var_pop", "std", "sum", "count", "p90")
MOST_UNIVERSES = 4
_MOST_WORLDS, _MOST_BARS = 20_000, 12
_LONGEST_OF_STUDY = 20_000
"""Characters of all values."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The adversary's view and prior: an answer, and a weight for each person who may be missing."""

    epsilon: float
    answer: float | None
    prior: Sequence[float] | None


def study_of(given: Mapping[str, str]) -> Json:
    """Return the study of each group of people, with one ε and one axis for all.

    Raises:
        BadInput: a field makes no sense, or all of them together do not.
    """
    requirement, statistic = share(given, "study_risk"), StudiedStatistic.named(one_of(given, "query", QUERIES))
    missing = whole_number(given, "missing", 1, 50) if given.get("missing") else 1
    distance = whole_number(given, "distance", 1, 50) if given.get("distance") else missing
    if distance > missing:
        raise BadField("distance", f"the noise hides at most as many as are missing: 1 to {missing}")
    chosen = fraction(given, "study_epsilon", Fraction(LEAST_POLICY_EPSILON), Fraction(MOST_POLICY_EPSILON))
    groups = _universes(given.get("values", ""), missing, distance)
    results = {name: studies.study_risk(universe, statistic, requirement) for name, universe in groups.items()}
    marks = [e for study in results.values() for e in (study.epsilon_upper, study.epsilon_tight) if math.isfinite(e)]
    end = max(1.5 * max(marks, default=1.0), 1.2 * float(chosen))
    grid = [float(epsilon) for epsilon in np.linspace(0, end, POINTS)]
    seen = _Seen(float(chosen), _study_answer(given), _prior(given))
    return {
        "x": short_curve(grid),
        "requirement": float(requirement),
        "epsilon": float(chosen),
        "universes": [
            {"name": name, **_bounds(study, grid, float(chosen)), **_beliefs_of_answer(study, seen)}
            for name, study in results.items()
        ],
    }


def _universes(text: str, missing: int, distance: int) -> dict[str, Universe]:
    """Read a group of people a line: `absences: 1, 2, 3, 10`, or without a name."""
    lines = [line.strip() for line in text[:_LONGEST_OF_STUDY].splitlines() if line.strip()]
    if not 0 < len(lines) <= MOST_UNIVERSES:
        raise BadField("values", f"values must be 1 to {MOST_UNIVERSES} lines, each with everybody's value")
    universes: dict[str, Universe] = {}
    for place, line in enumerate(lines, 1):
        # The last colon: the name may have others.
        name, colon, rest = line.rpartition(":")
        label = name.strip()[:40] if colon else "people" if len(lines) == 1 else f"group {place}"
        if label in universes:
            raise BadField("values", f'values has "{label}" twice: give each line a name of its own')
        universes[label] = Universe.of(numbers(rest), missing, distance)
    return universes


def _bounds(study: studies.Study, grid: Sequence[float], epsilon: float) -> Json:
    drawn = studies.risk_curve(study, grid)
    upper, tight = studies.risks_at(study, epsilon)
    return {
        "upper": short_curve(drawn.upper),
        "tight": short_curve(drawn.tight),
        "upper_now": upper,
        "tight_now": tight,
        "epsilon_upper": _cut(study.epsilon_upper),
        "epsilon_tight": _cut(study.epsilon_tight),
        "noise_sensitivity": study.noise_sensitivity,
        "world_sensitivity": study.world_sensitivity,
    }


def _beliefs_of_answer(study: studies.Study, seen: _Seen) -> Json:
    """Return each world's answer, prior and posterior after the answer that was seen, the likeliest first."""
    names, answers = _worlds(study.universe, study.statistic)
    prior = _weights(seen.prior, study.universe, len(answers))
    answer = float(answers[0]) if seen.answer is None else seen.answer
    after = risks_study.posterior(
        answers, answer, epsilon=seen.epsilon, sensitivity=study.noise_sensitivity, prior=prior
    )
    # Stable: worlds that are equally likely stay in their order.
    order = np.argsort(-after, kind="stable")[:_MOST_BARS]
    before = np.full(len(answers), 1 / len(answers)) if prior is None else prior
    return {
        "seen": answer,
        "risk": risks_study.disclosure_risk(after),
        "confidence": risks_study.confidence(after, prior),
        "more": len(answers) - len(order),
        "worlds": [
            {"missing": names[i], "answer": float(answers[i]), "prior": float(before[i]), "posterior": float(after[i])}
            for i in order
        ],
    }


def _worlds(universe: Universe, statistic: StudiedStatistic) -> tuple[list[str], Floats]:
    """Return who is missing in each world, the last person first, and what the release then says."""
    if universe.missing == 1:
        names = [f"{value:g}" for value in universe.values.tolist()][::-1]
        return names, leave_one_out(universe.values, statistic)[::-1]
    if universe.worlds > _MOST_WORLDS:
        raise BadInput(f"{universe.worlds:,} worlds are too many to look at one by one: at most {_MOST_WORLDS:,}")
    # In the order of `world_answers`: the first keeps the first people, so that the last person is missing.
    kept = combinations(range(universe.people), universe.released)
    gone = [sorted(set(range(universe.people)).difference(people)) for people in kept]
    return [", ".join(f"{universe.values[i]:g}" for i in out) for out in gone], databases_worlds.world_answers(
        universe, statistic
    )


def _weights(given: Sequence[float] | None, universe: Universe, worlds: int) -> Floats | None:
    """Return the prior of each world in its order, from a weight for each person in theirs."""
    if given is None:
        return None
    if universe.missing > 1:
        raise BadField("prior", "a prior of your own is for one missing person: a weight for each of them")
    if len(given) != worlds or min(given) <= 0:
        raise BadField("prior", f"the prior must have a weight above 0 for each of the {worlds} people, in their order")
    # Weights are typed in people's order; the worlds begin with the last person missing.
    return np.array(given[::-1]) / sum(given)


def _prior(given: Mapping[str, str]) -> list[float] | None:
    text = given.get("prior", "").strip()
    return [float(fraction({"prior": part}, "prior", 0, 10**9)) for part in text.replace(",", " ").split()] or None


def _study_answer(given: Mapping[str, str]) -> float | None:
    return float(fraction(given, "seen", -(10**12), 10**12)) if given.get("seen", "").strip() else None


def _cut(epsilon: float) -> float | None:
    """Return the largest ε, rounded down to six digits so that it still meets the requirement; None if every ε does."""
    if not math.isfinite(epsilon):
        return None
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 5) if epsilon else 1.0
    return float(f"{math.floor(epsilon / step) * step:.6g}")


# The ε that others have published with, as a scale beside one's own: figures of their makers, and where they stand.


@dataclass(frozen=True, slots=True)
class PublishedEpsilon:
    """One deployment: its ε, for whom and how long that is, and who says so."""

    epsilon: float
    what: str
    unit: str
    source: str


PUBLISHED = (
    PublishedEpsilon(
        1.0,
        "Wikipedia: page views by country",
        "a device and a day (10 views)",
        "Adeleye et al. 2023, arXiv:2308.16298",
    ),
    PublishedEpsilon(
        2.0, "Apple: types of health data in use", "a device and a day", "Apple, Differential Privacy Overview"
    ),
    PublishedEpsilon(
        2.64, "Google: Community Mobility Reports", "a person and a day", "Aktay et al. 2020, arXiv:2004.04145"
    ),
    PublishedEpsilon(4.0, "Apple: popular emoji", "a device and a day", "Apple, Differential Privacy Overview"),
    PublishedEpsilon(9.98, "Israel: live births of 2014", "a birth, once", "Hod & Canetti 2024, arXiv:2405.00267"),
    PublishedEpsilon(
        19.61,
        "United States: redistricting data of 2020",
        "a person and a dwelling, once",
        "Census Bureau, 9 June 2021 (δ = 1e-10)",
    ),
)
"""In the order of ε. Amounts for every day add up for people who are there on many."""
