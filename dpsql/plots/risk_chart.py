"""Risk by ε as curves: what an adversary may come to believe, what is acceptable, and the ε that was chosen."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import plotly.graph_objects as go

from dpsql.epsilon.advising.rule import Promises, belief_after
from dpsql.epsilon.risks.study import Study, risk_curve
from dpsql.plots.charts import PRIVATE, RAW, SERIES, dressed
from dpsql.plots.page import Picture

_COLOURS = (PRIVATE, RAW, *SERIES[2:])
_POINTS = 200


def study_figure(study: Study) -> go.Figure:
    """Return both bounds of a study by ε, the requirement, and the ε that meet it."""
    bounds = {"upper bound": study.epsilon_upper, "tight bound": study.epsilon_tight}
    marks = {name: epsilon for name, epsilon in bounds.items() if math.isfinite(epsilon)}
    epsilons = _grid(3 * max(marks.values(), default=1.0))
    risks = risk_curve(study, epsilons)
    return risk_curves(
        epsilons,
        {"upper bound": risks.upper, "tight bound": risks.tight},
        requirements={"requirement": float(study.requirement)},
        marks=marks,
        title=f"Largest posterior: {study.universe.people} people, {study.universe.missing} missing",
    )


def rule_figure(promises: Promises) -> go.Figure:
    """Return worst-case inference by total ε, the acceptable risks, and the total that meets all of them."""
    total = promises.largest()
    epsilons = _grid(5 * float(total))
    beliefs = [belief_after(Fraction(epsilon), promises.people) for epsilon in epsilons]
    return risk_curves(
        epsilons,
        {
            "re-identification": [belief.singled_out for belief in beliefs],
            "membership inference": [belief.membership for belief in beliefs],
            "attribute inference": [belief.value for belief in beliefs],
        },
        requirements={
            "re-identification": float(promises.naming),
            "membership inference": float(promises.membership),
            "attribute inference": float(promises.value),
        },
        marks={"total": float(total)},
        title=f"Worst case for {promises.people:,} people",
    )


def risk_curves(
    epsilons: Sequence[float],
    risks: Mapping[str, Sequence[float]],
    *,
    requirements: Mapping[str, float],
    marks: Mapping[str, float],
    title: str = "",
) -> go.Figure:
    """Return one curve a kind of risk, a horizontal line a requirement and a vertical line a chosen ε."""
    figure = go.Figure()
    for place, (name, values) in enumerate(risks.items()):
        figure.add_scatter(x=epsilons, y=values, name=name, line_color=_COLOURS[place % len(_COLOURS)])
    for name, level in requirements.items():
        figure.add_hline(y=level, line={"color": "#555", "width": 1}, annotation_text=name)
    for place, (name, epsilon) in enumerate(marks.items()):
        figure.add_vline(
            x=epsilon,
            line={"color": _COLOURS[place % len(_COLOURS)], "dash": "dash", "width": 1},
            annotation_text=f"{name}: ε = {epsilon:.4g}",
            annotation_y=1.0 - 0.07 * place,
            # The first is the smallest: its text stands to the left of it, off the lines that follow.
            annotation_xanchor="right" if place < len(marks) - 1 else "left",
        )
    figure.update_yaxes(range=[0, 1.05])
    return dressed(figure, title, "ε", "probability")


def _grid(end: float) -> list[float]:
    return [float(epsilon) for epsilon in np.linspace(0.0, end, _POINTS)]


# A privacy audit as a picture: the ε that guesses have proved, beside what was paid, for each question.


def audit_picture(questions: Sequence[tuple[str, str, float, float]]) -> Picture:
    """Return bars of what was proved, with marks at what was paid; `questions` have person, question, paid and proved ε."""
    names = [f"{question} ({person})" for person, question, _, _ in questions]
    paid, proved = [row[2] for row in questions], [row[3] for row in questions]
    figure = go.Figure()
    figure.add_bar(x=proved, y=names, orientation="h", name="proved by inference (95 %)", marker_color=RAW)
    mark = {"symbol": "line-ns", "size": 14, "line": {"width": 3, "color": PRIVATE}}
    figure.add_scatter(x=paid, y=names, mode="markers", name="paid", marker=mark)
    figure.update_layout(height=160 + 28 * len(names), showlegend=True)
    figure.update_yaxes(autorange="reversed")
    return Picture(
        dressed(figure, "", "ε", "", category=False),
        "Data: synthetic people of the policy's shape, in DuckDB; statistic: a lower bound of the privacy loss ε by "
        "membership inference, at 95 % confidence. A bar beyond its mark would be a breach.",
    )
