"""Run a tool's script on dpsql and on a PostgreSQL with the same rows: what works is what comes to the same."""

import json
import math
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsql.private_files import Scratch
from tests.clients.site import Site
from tests.clients.tools.catalogue import PLACE, Tool

_SECONDS = 600
_NEARLY = 0.01
Lines = Mapping[tuple[str, str], dict[str, Any]]
"""What a script says of each thing that it tried, by part and name."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Tried:
    """One thing that a tool was to do."""

    part: str
    name: str
    got: Any
    """What came of it on dpsql, and on PostgreSQL."""
    plain: Any
    failed: str
    """How it failed on dpsql."""
    plain_failed: str
    paid: float
    """What it paid: how many times as much as a statement does."""

    made_up: bool
    """Whether it comes to the same where the role sees made-up rows."""

    @property
    def is_right(self) -> bool:
        """Return whether it came to the same as on PostgreSQL."""
        return not self.failed and not self.plain_failed and are_alike(self.got, self.plain)


def tried(tool: Tool, here: Site, seeing: Site, plain: Site) -> tuple[Tried, ...]:
    """Return what came of everything that a tool's script does."""
    ours, seen, theirs = lines_of(tool, here), lines_of(tool, seeing), lines_of(tool, plain)
    return tuple(
        Tried(
            *key,
            line.get("got"),
            theirs.get(key, {}).get("got"),
            line.get("failed", ""),
            theirs.get(key, {"failed": "not tried"}).get("failed", ""),
            max(line["paid"], seen.get(key, line)["paid"]),
            "got" in seen.get(key, {}) and are_alike(seen[key]["got"], theirs.get(key, {}).get("got")),
        )
        for key, line in ours.items()
    )


def are_alike(value: Any, other: Any) -> bool:
    """Return whether two values are the same, numbers nearly so: extremes, quantiles and means err by a little."""
    match value, other:
        case (list(), list()):
            return len(value) == len(other) and all(map(are_alike, value, other))
        case (dict(), dict()):
            return value.keys() == other.keys() and all(are_alike(value[key], other[key]) for key in value)
        case (bool(), _) | (_, bool()):
            return value is other
        case (int() | float(), int() | float()):
            return math.isclose(value, other, rel_tol=_NEARLY, abs_tol=_NEARLY)
        case (str(), str()):
            return _words(value) == _words(other) and are_alike(_numbers(value), _numbers(other))
        case _:
            return bool(value == other)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def _words(text: str) -> list[str]:
    return _NUMBER.sub("0", text).split()


def lines_of(tool: Tool, site: Site) -> Lines:
    """Return what a tool's script says of one server."""
    with Scratch("dpsql-tool-") as home:
        done = subprocess.run(  # noqa: S603
            tool.command,
            env={**os.environ, **_told(site, home.path)},
            cwd=home.path,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    lines = {(line["part"], line["name"]): line for line in _read(done.stdout)}
    assert lines, done.stderr[-3000:]
    return lines


def _read(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        if line.startswith('{"part"'):
            yield json.loads(line)


def _told(site: Site, home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "TOOLS_NODE": str(PLACE / "node"),
        "ASK_HOST": site.host,
        "ASK_PORT": str(site.port),
        "ASK_USER": site.user,
        "ASK_PASSWORD": site.password,
        "ASK_DATABASE": site.database,
        "PGSSLMODE": "disable",
    }
