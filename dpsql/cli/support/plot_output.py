"""Pictures from the command line; the drawing library is an extra, so it is imported when it is needed."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpsql.epsilon.advising.rule import Promises
from dpsql.epsilon.risks.study import Study

if TYPE_CHECKING:
    from dpsql.plots import charts

_PNG = "in a checkout of dpsql pip install -e '.[png]', and Chrome or Chromium"
_FREE = "the answer is paid for, so asking again with a name that ends with .html is free in this epoch"
_OWNER = (
    "Data: everybody's values, as given; statistic: the largest posterior after one answer, by its ε. For the owner only: "
    "the picture must not be published."
)
_PUBLIC = "Data: none, only how many people there are; statistic: worst-case inference, by the total ε of a role."


def require_plots() -> None:
    """Refuse at once where the extra is not installed."""
    # Found, and not imported: that waits until there is something to draw.
    if find_spec("plotly") is None:
        raise typer.BadParameter("plots need an extra; in a checkout of dpsql: pip install -e '.[plots]'")


def picture_writer(path: Path) -> "Callable[[charts.Picture, str, Path], None]":
    """Return what writes a picture into a file of this name, or refuse one that can't be written."""
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"{path}: there is no folder {path.absolute().parent}; make it first")
    match path.suffix.lower():
        case ".html":
            return _write_html
        case ".png" if find_spec("kaleido") is not None:
            return _write_png
        case ".png":
            raise typer.BadParameter(f"{path}: PNG needs an extra, {_PNG}; HTML needs none")
        case other:
            raise typer.BadParameter(f'{path}: "{other}" is no kind of picture: the name must end with .html or .png')


def _write_html(picture: "charts.Picture", title: str, path: Path) -> None:
    from dpsql.plots import charts  # noqa: PLC0415 -- an extra

    charts.write_page([picture], title, path)


def _write_png(picture: "charts.Picture", title: str, path: Path) -> None:
    """Draw it with its title and caption by Chromium, which kaleido starts."""
    from dpsql.plots import charts  # noqa: PLC0415 -- an extra

    try:
        charts.write_image(picture, title, path)
    except Exception as error:  # noqa: BLE001  whatever keeps Chromium from drawing
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise typer.BadParameter(
            f"{path}: PNG needs Chrome or Chromium, which did not draw it: {reason}; {_FREE}"
        ) from None


def draw_study(study: Study, path: Path) -> None:
    """Write the risk curves of a study."""
    from dpsql.plots import charts  # noqa: PLC0415 -- an extra

    charts.write_page([charts.Picture(charts.study_figure(study), _OWNER)], "Disclosure risk", path)


def draw_rule(promises: Promises, path: Path) -> None:
    """Write the curves of the rule for a total."""
    from dpsql.plots import charts  # noqa: PLC0415 -- an extra

    charts.write_page([charts.Picture(charts.rule_figure(promises), _PUBLIC)], "What ε allows", path)
