"""Each driver of npm and Debian takes the twelve steps, as docs/clients.md says it does."""

import pytest

from tests.clients.matrix.asked import TIMES
from tests.clients.matrix.catalogue import DEBIAN, NPM
from tests.clients.matrix.driver import Driver
from tests.clients.matrix.page import PAGE, rows
from tests.clients.matrix.run import row, times
from tests.clients.site import Site

_ROWS = rows(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("driver", [*NPM, *DEBIAN], ids=lambda driver: driver.name)
def test_driver_does_what_the_page_says(driver: Driver, matrix: Site) -> None:
    """`python -m tests.clients.matrix` writes the page."""
    assert row(driver, matrix) == _ROWS[driver.name]


@pytest.mark.parametrize(("client", "name"), [("Cube", "Cube"), ("Metabase", "pgjdbc")])
def test_statements_about_times_are_answered(client: str, name: str, matrix: Site) -> None:
    """What Cube writes through its driver, and Metabase through pgjdbc: as PostgreSQL does over the same rows."""
    driver = next(driver for driver in (*NPM, *DEBIAN) if driver.name == name)
    told = times(driver, matrix)
    assert list(told) == [asked for asked in TIMES if asked.startswith(client)]
    for answered, plain in told.values():
        assert [cells for cells in answered if int(cells[1])] == plain
