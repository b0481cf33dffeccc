"""Each tool does what docs/clients.md says: as on PostgreSQL with the same rows, or not, and why."""

from collections.abc import Iterator

import pytest

from tests.clients.site import Site
from tests.clients.tools.catalogue import TOOLS, Tool
from tests.clients.tools.page import PAGE, row, rows
from tests.clients.tools.place import sites
from tests.clients.tools.run import tried

pytestmark = pytest.mark.tools
_ROWS = rows(PAGE.read_text(encoding="utf-8"))


@pytest.fixture
def places() -> Iterator[tuple[Site, Site, Site]]:
    """Give dpsql for a role that sees no rows and for one that sees made-up ones, and PostgreSQL; nothing was asked."""
    with sites() as three:
        yield three


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_tool_does_what_the_page_says(tool: Tool, places: tuple[Site, Site, Site]) -> None:
    """`python -m tests.clients.tools` writes the page."""
    assert row(tool.name, tried(tool, *places)) == _ROWS[tool.name]
