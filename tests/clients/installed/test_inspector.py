"""The Model Context Protocol's inspector, which starts `dpsql mcp` as programs do that run agents."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.clients.data import TRIPS
from tests.clients.site import Site

INSPECTOR = Path(os.environ.get("CLIENTS", ".venv/clients")) / "node_modules" / ".bin" / "mcp-inspector"
_DPSQL = Path(sys.executable).parent / "dpsql"


def _inspected(site: Site, *arguments: str) -> Any:
    address = f"host={site.host} port={site.port} user={site.user} dbname={site.database} sslmode=disable"
    done = subprocess.run(  # noqa: S603
        [str(INSPECTOR), "--cli", str(_DPSQL), "mcp", address, *arguments],
        env={**os.environ, "PGPASSWORD": site.password},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_inspector_lists_what_there_is(here: Site) -> None:
    """Tools and resources."""
    listed = _inspected(here, "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in listed] == ["describe", "plan", "ask", "budget"]
    listed = _inspected(here, "--method", "resources/list")["resources"]
    pages = ["answers", "sql", "sql/tables", "sql/expressions", "sql/prices", "errors"]
    assert [resource["uri"] for resource in listed] == [f"dpsql://{page}" for page in pages]


def test_inspector_asks_and_is_refused(here: Site) -> None:
    """An answer is a value, a refusal an error with what to write."""
    call = ("--method", "tools/call", "--tool-name", "ask", "--tool-arg")
    assert _inspected(here, *call, "statement=SELECT count(*) FROM trips")["structuredContent"]["rows"] == [[TRIPS]]
    refused = _inspected(here, *call, "statement=SELECT * FROM trips")
    assert refused["isError"]
    assert "ask for count(*)" in refused["content"][0]["text"]
