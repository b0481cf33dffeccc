"""A privacy audit as a picture: the ε that guesses have proved, beside what was paid, for each question."""

from collections.abc import Sequence

import plotly.graph_objects as go

from dpsql.plots.charts import PRIVATE, RAW, dressed
from dpsql.plots.page import Picture


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
