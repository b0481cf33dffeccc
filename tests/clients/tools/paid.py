"""What profiles pay, in another checkout and in this one: `python -m tests.clients.tools.paid ../older` writes the table.

The other has an environment of its own, `.venv`; both serve the same configuration, a server for each tool.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpsql.private_files import Scratch
from tests.clients.site import Site
from tests.clients.tools.catalogue import TOOLS, Tool
from tests.clients.tools.page import PAGE, read_table, table
from tests.clients.tools.place import configured, plain_with_rows
from tests.clients.tools.run import Lines, are_alike, lines_of

_PROFILES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Soda Core 3": {
        "profile of all columns, and what it has of each": ("a profile", "counts of", "means of", "values of"),
        "19 checks": ("checks",),
        "15 of them in one scan": ("together",),
    },
    "Great Expectations": {"30 expectations": ("expectations of a table",), "10 of them as a suite": ("suite",)},
    "dbt": {"10 tests of columns": ("tests",)},
    "ibis": {"`describe()` and `info()`": ("profile",)},
    "JupySQL": {"`%sqlcmd profile`": ("profile",)},
    "ydata-profiling": {"of an answer, of 1,000 rows, of a table": ("profile",)},
}
"""What is measured of each tool, and the parts of its script that do it."""
_PLACE = re.compile(r"(<!-- table paid, written by tests/clients/tools -->\n).*?(<!-- end -->)", re.DOTALL)
_HEAD = ("profile", "before: right", "before: pays", "now: right", "now: pays")


def main(other: Path, *names: str) -> None:
    """Measure these tools, all if none is named, and write the table."""
    table_place = _PLACE.search(PAGE.read_text(encoding="utf-8"))
    earlier = [] if table_place is None else read_table(table_place[0])
    rows = [_HEAD, ("---",) * len(_HEAD)]
    with Scratch("dpsql-paid-", mode=0o711) as place, plain_with_rows(place.path) as plain:
        for tool in TOOLS:
            if names and tool.name not in names:
                rows += [cells for cells in earlier if cells[0].startswith(f"{tool.name}: ")]
            elif tool.name in _PROFILES:
                theirs = lines_of(tool, plain)
                before, now = (_asked(tool, checkout) for checkout in (other, Path.cwd()))
                rows += _rows(tool.name, (before, now), theirs)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_PLACE.sub(lambda match: f"{match[1]}\n{table(rows)}\n{match[2]}", page), encoding="utf-8")


def _asked(tool: Tool, checkout: Path) -> Lines:
    with _serving(checkout) as site:
        return lines_of(tool, site)


@contextmanager
def _serving(checkout: Path) -> Iterator[Site]:
    """Serve the taxi by a checkout's dpsql, for a role that sees no rows; nothing was asked before."""
    with Scratch("dpsql-paid-", mode=0o711) as place:
        config = configured(place.path, seeing=False)
        command = [str(checkout.absolute() / ".venv" / "bin" / "dpsql"), "serve", "--config", str(config)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=place.path) as served:  # noqa: S603
            try:
                assert served.stdout is not None
                said = re.match(r"serving \S+ on \S+:(\d+)", served.stdout.readline())
                assert said, f"dpsql of {checkout} did not start"
                yield Site(int(said[1]))
            finally:
                served.terminate()


def _rows(tool: str, several: tuple[Lines, ...], theirs: Lines) -> Iterator[tuple[str, ...]]:
    for name, parts in _PROFILES[tool].items():
        cells = [cell for lines in several for cell in _cells(parts, lines, theirs)]
        yield f"{tool}: {name}", *cells


def _cells(parts: tuple[str, ...], lines: Lines, theirs: Lines) -> tuple[str, str]:
    """Return how many things of some parts came to the same as on PostgreSQL, and what they have paid."""
    these = {key: line for key, line in lines.items() if key[0] in parts}
    right = sum("got" in line and are_alike(line["got"], _got(theirs, key)) for key, line in these.items())
    return f"{right} of {len(these)}", f"{sum(line['paid'] for line in these.values()):g}"


def _got(lines: Lines, key: tuple[str, str]) -> Any:
    line: Mapping[str, Any] = lines.get(key, {})
    return line.get("got")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
