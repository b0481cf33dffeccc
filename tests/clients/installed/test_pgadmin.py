"""pgAdmin 4, whose own application connects, shows its tree and its dashboards, asks in its query tool, and views data."""

import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dpsql.private_files import Scratch
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving

PYTHON = Path(os.environ.get("PGADMIN", ".venv/pgadmin")) / "bin" / "python"
_DRIVER = Path(__file__).parent.parent / "drivers" / "pgadmin.py"
DASHBOARDS = (
    "dashboard_stats",
    "dashboard_stats of the database",
    "activity",
    "activity of the database",
    "locks",
    "locks of the database",
    "prepared",
    "prepared of the database",
    "config",
    "replication_stats",
    "replication_slots",
)
_ONLY_HERE = {"schemas", "tree roles", "tree event_triggers", "databases", "tree row_security_policy"}
"""What dpsql has beside what a DBA would have made, or a plain server beside the tables."""


@cache
def _steps(site: Site) -> dict[str, Any]:
    """Return what came of each of pgAdmin's steps."""
    words = {"host": site.host, "port": site.port, "user": site.user, "password": site.password}
    with Scratch("dpsql-pgadmin-") as home:
        done = subprocess.run(  # noqa: S603
            [str(PYTHON), str(_DRIVER)],
            env={**os.environ, "HOME": str(home.path), "DPSQL": json.dumps({**words, "database": site.database})},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    steps: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return steps


@pytest.fixture(scope="module")
def previewed() -> Iterator[Site]:
    """Give a server whose role sees made-up rows."""
    with Scratch("dpsql-previews-", mode=0o711) as place:
        config = configure(place.path)
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("per_query: {epsilon: 1000}", "per_query: {epsilon: 1000}, preview: made-up"))
        with serving(config) as site:
            yield site


def test_pgadmin_connects_and_shows_the_tree_of_a_plain_server(here: Site, plain: Site) -> None:
    """Tables, columns, keys, properties, SQL and statistics."""
    ours, theirs = _steps(here), _steps(plain)
    assert (ours["connect"], ours["database"]) == (True, "connected")
    shown = {name for name in ours if name.startswith("tree ") or name in {"tables", "properties", "SQL", "statistics"}}
    assert {name: ours[name] for name in shown - _ONLY_HERE} == {name: theirs[name] for name in shown - _ONLY_HERE}


def test_pgadmin_shows_every_dashboard(here: Site) -> None:
    """Of one's own sessions, or empty."""
    assert {name: _steps(here)[f"dashboard {name}"] for name in DASHBOARDS} == dict.fromkeys(DASHBOARDS, "shown")


def test_pgadmin_asks_and_explains(here: Site) -> None:
    """In its query tool, where plans are drawn from JSON."""
    rows = [[paid, str(count)] for paid, count in BY_PAYMENT]
    assert _steps(here)["query"]["rows"] == rows
    (plan,) = json.loads(_steps(here)["explained"]["rows"][0][0])
    assert plan["Plan"]["Node Type"] == "Private Answer"


@pytest.mark.parametrize("step", ["refused", "first rows", "all rows"])
def test_pgadmin_says_what_to_ask_instead_of_rows(step: str, here: Site) -> None:
    """The message has it, which is what its pages show first."""
    assert "rows of trips are protected; ask for count(*)" in _steps(here)[step]


def test_pgadmin_shows_made_up_rows_to_roles_that_see_them(previewed: Site) -> None:
    """The first 100; all of them there are not."""
    steps = _steps(previewed)
    assert len(steps["first rows"]["rows"]) == 100
    assert "rows of trips are protected" in steps["all rows"]
    assert steps["query"] == {"rows": [[paid, str(count)] for paid, count in BY_PAYMENT], "messages": None}
