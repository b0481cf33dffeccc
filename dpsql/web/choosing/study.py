"""The risk of one answer about a few people: bounds by ε for several groups of people, and beliefs after one answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpsql.epsilon.databases import brute
from dpsql.epsilon.databases.statistic import Floats, StudiedStatistic
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.databases.worlds import leave_one_out
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.risks import risk
from dpsql.epsilon.risks import study as studies
from dpsql.web.choosing.policies import LEAST_POLICY_EPSILON, MOST_POLICY_EPSILON, POINTS
from dpsql.web.curves import Json, short
from dpsql.web.inputs import BadField, fraction, numbers, one_of, share, whole

QUERIES = ("mean", "median", "variance", "var_pop", "std", "sum", "count", "p90")
MOST_UNIVERSES = 4
_MOST_WORLDS, _MOST_BARS = 20_000, 12
_LONGEST = 20_000
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
    missing = whole(given, "missing", 1, 50) if given.get("missing") else 1
    distance = whole(given, "distance", 1, 50) if given.get("distance") else missing
    if distance > missing:
        raise BadField("distance", f"the noise hides at most as many as are missing: 1 to {missing}")
    chosen = fraction(given, "study_epsilon", Fraction(LEAST_POLICY_EPSILON), Fraction(MOST_POLICY_EPSILON))
    groups = _universes(given.get("values", ""), missing, distance)
    results = {name: studies.study_risk(universe, statistic, requirement) for name, universe in groups.items()}
    marks = [e for study in results.values() for e in (study.epsilon_upper, study.epsilon_tight) if math.isfinite(e)]
    end = max(1.5 * max(marks, default=1.0), 1.2 * float(chosen))
    grid = [float(epsilon) for epsilon in np.linspace(0, end, POINTS)]
    seen = _Seen(float(chosen), _answer(given), _prior(given))
    return {
        "x": short(grid),
        "requirement": float(requirement),
        "epsilon": float(chosen),
        "universes": [
            {"name": name, **_bounds(study, grid, float(chosen)), **_beliefs(study, seen)}
            for name, study in results.items()
        ],
    }


def _universes(text: str, missing: int, distance: int) -> dict[str, Universe]:
    """Read a group of people a line: `absences: 1, 2, 3, 10`, or without a name."""
    lines = [line.strip() for line in text[:_LONGEST].splitlines() if line.strip()]
    if not 0 < len(lines) <= MOST_UNIVERSES:
        raise BadField("values", f"values must be 1 to {MOST_UNIVERSES} lines, each with everybody's value")
    universes: dict[str, Universe] = {}
    for place, line in enumerate(lines, 1):
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
        "upper": short(drawn.upper),
        "tight": short(drawn.tight),
        "upper_now": upper,
        "tight_now": tight,
        "epsilon_upper": _cut(study.epsilon_upper),
        "epsilon_tight": _cut(study.epsilon_tight),
        "noise_sensitivity": study.noise_sensitivity,
        "world_sensitivity": study.world_sensitivity,
    }


def _beliefs(study: studies.Study, seen: _Seen) -> Json:
    """Return each world's answer, prior and posterior after the answer that was seen, the likeliest first."""
    names, answers = _worlds(study.universe, study.statistic)
    prior = _weights(seen.prior, study.universe, len(answers))
    answer = float(answers[0]) if seen.answer is None else seen.answer
    after = risk.posterior(answers, answer, epsilon=seen.epsilon, sensitivity=study.noise_sensitivity, prior=prior)
    order = np.argsort(-after, kind="stable")[:_MOST_BARS]
    before = np.full(len(answers), 1 / len(answers)) if prior is None else prior
    return {
        "seen": answer,
        "risk": risk.disclosure_risk(after),
        "confidence": risk.confidence(after, prior),
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
    kept = combinations(range(universe.people), universe.released)
    gone = [sorted(set(range(universe.people)).difference(people)) for people in kept]
    return [", ".join(f"{universe.values[i]:g}" for i in out) for out in gone], brute.world_answers(universe, statistic)


def _weights(given: Sequence[float] | None, universe: Universe, worlds: int) -> Floats | None:
    """Return the prior of each world in its order, from a weight for each person in theirs."""
    if given is None:
        return None
    if universe.missing > 1:
        raise BadField("prior", "a prior of your own is for one missing person: a weight for each of them")
    if len(given) != worlds or min(given) <= 0:
        raise BadField("prior", f"the prior must have a weight above 0 for each of the {worlds} people, in their order")
    return np.array(given[::-1]) / sum(given)


def _prior(given: Mapping[str, str]) -> list[float] | None:
    text = given.get("prior", "").strip()
    return [float(fraction({"prior": part}, "prior", 0, 10**9)) for part in text.replace(",", " ").split()] or None


def _answer(given: Mapping[str, str]) -> float | None:
    return float(fraction(given, "seen", -(10**12), 10**12)) if given.get("seen", "").strip() else None


def _cut(epsilon: float) -> float | None:
    """Return the largest ε, rounded down to six digits so that it still meets the requirement; None if every ε does."""
    if not math.isfinite(epsilon):
        return None
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 5) if epsilon else 1.0
    return float(f"{math.floor(epsilon / step) * step:.6g}")
