"""Pictures from the command line; the drawing library is an extra, so it is imported when it is needed."""

from importlib.util import find_spec
from pathlib import Path

import typer

from dpsql.epsilon.advising.promises import Promises
from dpsql.epsilon.risks.study import Study

_OWNER = (
    "Data: everybody's values, as given; statistic: the largest posterior after one answer, by its ε. For the owner only: "
    "the picture must not be published."
)
_PUBLIC = (
    "Data: none, only how many people there are; statistic: what can be believed at worst, by the total ε of a role."
)


def need_plots() -> None:
    """Refuse at once where the extra is not installed."""
    if find_spec("plotly") is None:
        raise typer.BadParameter("plots need an extra; in a checkout of dpsql: pip install '.[plots]'")


def draw_study(study: Study, path: Path) -> None:
    """Write the risk curves of a study."""
    from dpsql.plots import page, risk_chart  # noqa: PLC0415 -- an extra

    page.write_page([page.Picture(risk_chart.study_figure(study), _OWNER)], "Disclosure risk", path)


def draw_rule(promises: Promises, path: Path) -> None:
    """Write the curves of the rule for a total."""
    from dpsql.plots import page, risk_chart  # noqa: PLC0415 -- an extra

    page.write_page([page.Picture(risk_chart.rule_figure(promises), _PUBLIC)], "What ε allows", path)
