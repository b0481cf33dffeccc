"""Risk by ε as curves: what an adversary may come to believe, what is acceptable, and the ε that was chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dpsql.plots.charts import PRIVATE, RAW, SERIES, dressed

_COLOURS = (PRIVATE, RAW, *SERIES[2:])


@dataclass(frozen=True, slots=True)
class Mark:
    """A chosen ε: a vertical line with a name."""

    name: str
    epsilon: float


def risk_curves(
    epsilons: Sequence[float],
    risks: Mapping[str, Sequence[float]],
    *,
    requirements: Mapping[str, float],
    marks: Sequence[Mark] = (),
    title: str = "",
) -> go.Figure:
    """Return one curve a kind of risk, a horizontal line a requirement and a vertical line a mark."""
    figure = go.Figure()
    for place, (name, values) in enumerate(risks.items()):
        figure.add_scatter(x=epsilons, y=values, name=name, line_color=_COLOURS[place % len(_COLOURS)])
    for name, level in requirements.items():
        figure.add_hline(y=level, line={"color": "#555", "width": 1}, annotation_text=name)
    for place, mark in enumerate(marks):
        figure.add_vline(
            x=mark.epsilon,
            line={"color": _COLOURS[place % len(_COLOURS)], "dash": "dash", "width": 1},
            annotation_text=f"{mark.name} {mark.epsilon:.4g}",
            annotation_y=1.0 - 0.06 * place,
        )
    figure.update_yaxes(range=[0, 1.05])
    return dressed(figure, title, "ε", "probability")
