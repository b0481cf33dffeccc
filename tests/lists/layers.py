"""The semantic layers, whose compilers write statements: `python -m tests.lists.layers` writes these anew, and the page.

It needs what `make test-tools` installs, by `TOOLS=.venv/tools`; without it only the page is written.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lists.conftest import rides_lists
from tests.lists.statements import PAGE, load
from tests.lists.verdict_page import Page, verdict_of
from tests.support import clusters, temporary

HERE = Path(__file__).parent
_BY_ONE = "each row of the answer is one rider"
_WHY = {
    "answered": "sums, counts, means and points by public keys, and what is computed of them",
    "public": "they read the calendar or the zones alone: PostgreSQL answers, for nothing",
    "key-is-unit": _BY_ONE,
    "rows-of-protected-table": "rows",
    "join-on-key": "a calendar of five years is joined by the day of a time",
    "subquery-by-unit": "a list of each rider's number from the table that is joined, joined again",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """A semantic layer."""

    page: Page
    command: tuple[str, ...]
    """What writes the statements: a program in the folder of tools, or of the system, and a script."""
    place: str
    """Its folder among the tools, which the script is told as `PLACE`."""

    def written(self, tools: Path) -> str:
        """Return the file of statements as the compiler writes it."""
        program, script = self.command
        place = (tools / self.place).absolute()
        found = place / program if "/" in program else program
        environment = {**os.environ, "PLACE": str(place)}
        return subprocess.run(  # noqa: S603
            [found, HERE / script], env=environment, check=True, capture_output=True, text=True
        ).stdout


METRICFLOW = Page(
    "metricflow",
    "MetricFlow",
    _WHY,
    {
        35: "pages are not declared: those that a few riders share are not shown",
        37: "the groups are single trips: none is shown",
    },
    frozenset({36, 37}),
)
CUBE = Page(
    "cube",
    "Cube",
    _WHY,
    {50: "pages are not declared: those that a few riders share are not shown"},
    frozenset({77, 78}),
)
LAYERS: Mapping[str, Layer] = {
    "metricflow": Layer(METRICFLOW, ("bin/python", "metricflow/write.py"), "metricflow"),
    "cube": Layer(CUBE, ("node", "cube/write.mjs"), "cube"),
}


def _page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as directory:
        for lists in rides_lists(Path(directory)):
            client = lists.clients["duckdb", "layers"]
            for name, layer in LAYERS.items():
                text = layer.page.written({n: verdict_of(sql, client) for n, sql in load(name).items()}, text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "TOOLS" in os.environ:
        for name, layer in LAYERS.items():
            (HERE / f"{name}.sql").write_text(layer.written(Path(os.environ["TOOLS"])), encoding="utf-8")
    os.umask(0o022)
    temporary.begin()
    clusters.begin()
    _page()
