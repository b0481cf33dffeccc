"""Run drivers and write their rows into docs/clients.md: `python -m tests.clients.matrix [name …]`, all if none is named."""

import sys

from tests.clients.matrix.catalogue import DRIVERS
from tests.clients.matrix.page import PAGE, rows, written
from tests.clients.matrix.place import matrix_site
from tests.clients.matrix.run import Wrong, row


def main(names: list[str]) -> int:
    """Write the rows of these drivers; return how many went wrong."""
    page = PAGE.read_text(encoding="utf-8")
    cells = dict(rows(page))
    wrong = 0
    with matrix_site() as site:
        for driver in DRIVERS:
            if not names or driver.name in names:
                try:
                    cells[driver.name] = row(driver, site)
                except Wrong as failed:
                    wrong += 1
                    sys.stderr.write(f"{failed}\n")
    PAGE.write_text(written(page, cells), encoding="utf-8")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
