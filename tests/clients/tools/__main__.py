"""Run tools and write their rows into docs/clients.md: `python -m tests.clients.tools [name …]`, all if none is named."""

import sys

from tests.clients.tools.catalogue import TOOLS
from tests.clients.tools.page import PAGE, Row, UnexplainedError, row, rows, written
from tests.clients.tools.place import sites
from tests.clients.tools.run import Tried, tried


def main(names: list[str]) -> int:
    """Write the rows of these tools; return how many went wrong."""
    made, wrong = dict[str, Row](), 0
    for tool in TOOLS:
        if names and tool.name not in names:
            continue
        with sites() as (here, seeing, plain):  # what others have paid for would be free
            try:
                lines = tried(tool, here, seeing, plain)
                _show(lines)
                made[tool.name] = row(tool.name, lines)
            except (AssertionError, UnexplainedError) as failed:
                wrong += 1
                sys.stderr.write(f"{failed}\n")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(written(page, {**rows(page), **made}), encoding="utf-8")
    return wrong


def _show(lines: tuple[Tried, ...]) -> None:
    for line in lines:
        if not line.is_right:
            ours, theirs = line.failed or line.got, line.plain_failed or line.plain
            sys.stdout.write(f"{line.part}, {line.name}:\n  {ours!s:.600}\n  {theirs!s:.600}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
