"""Run a driver's script, and judge what it prints: a row of the matrix."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.clients.matrix.asked import environment
from tests.clients.matrix.driver import CLIENTS, Driver
from tests.clients.matrix.exceptions import EXCEPTIONS
from tests.clients.matrix.place import CERTIFICATE
from tests.clients.matrix.steps import STEPS, Step
from tests.clients.site import Site

_ROOT = Path(__file__).resolve().parents[3]
_SECONDS = 60
RIGHT, PARTLY, NONE, EXCEPT = "✓", "(✓)", "–", "✗"


class Wrong(AssertionError):
    """A step went wrong, and is no exception by name; or it is one, and went right."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a driver did: a cell for each step, and sentences by step for the cells that need one."""

    cells: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]


def row(driver: Driver, site: Site) -> Row:
    """Return a driver's row.

    Raises:
        Wrong: with all that went wrong.
    """
    told, why = _told(driver, site)
    wrong, cells, notes = [], [], []
    for step in STEPS:
        try:
            cell, note = _judged(driver.name, step, told.get(step.name, {}))
        except Wrong as failed:
            wrong.append(str(failed))
        else:
            cells.append(cell)
            notes += [(step.name, note)] if note else []
    if wrong:
        raise Wrong("\n".join([*wrong, f"{driver.name} {why}"]))
    return Row(tuple(cells), tuple(notes))


def times(driver: Driver, site: Site) -> dict[str, Any]:
    """Return what a driver's script got for each of the statements about times that it asks."""
    told, _ = _told(driver, site)
    steps = {step.name for step in STEPS}
    return {name: line.get("got", line) for name, line in told.items() if name not in steps}


@cache
def _told(driver: Driver, site: Site) -> tuple[dict[str, dict[str, Any]], str]:
    """Return a script's lines by step, and how it ended."""
    _build(driver)
    with nullcontext(site) if driver.before is None else driver.before(site) as reached:
        output, why = _run(driver, reached)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {line["step"]: line for line in lines}, why


def _judged(driver: str, step: Step, told: Mapping[str, Any]) -> tuple[str, str]:
    """Return the cell, and its note."""
    exception = EXCEPTIONS.get((driver, step.name))
    if "none" in told:
        return NONE, str(told["none"])
    if "got" in told and step.right(told["got"]):
        if exception is not None:
            raise Wrong(f"{driver}, {step.name}: is right, so it is no exception any more")
        return (PARTLY if "note" in told else RIGHT), str(told.get("note", ""))
    if exception is None:
        raise Wrong(f"{driver}, {step.name}: {told}")
    return EXCEPT, exception


def _build(driver: Driver) -> None:
    """Build a driver's program, as Debian packages what it is built from."""
    if driver.build:
        (CLIENTS / "bin").mkdir(parents=True, exist_ok=True)
        go = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(CLIENTS / "go")}
        subprocess.run(driver.build, env={**os.environ, **go}, check=True, timeout=300)  # noqa: S603


def _run(driver: Driver, site: Site) -> tuple[str, str]:
    """Return what a script printed, and why it printed no more."""
    told = _environment(driver, site)
    if shutil.which(driver.command[0]) is None:
        return "", f"{driver.command[0]} is not installed; `make test` and `make test-clients` install what they need"
    with subprocess.Popen(  # noqa: S603
        driver.command, env=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as child:
        try:
            output, complaint = child.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            output, complaint = child.communicate()
            return output, f"not within {_SECONDS} s; {complaint[-2000:]}"
    return output, f"ended with {child.returncode}; {complaint[-2000:]}"


def _environment(driver: Driver, site: Site) -> dict[str, str]:
    """Return what a script is told."""
    return {
        **os.environ,
        **environment(driver.mark),
        "CLIENTS": str(CLIENTS),
        "PYTHONPATH": str(_ROOT),
        "PYTHONUTF8": "1",
        "ASK_HOST": site.host,
        "ASK_PORT": str(site.port),
        "ASK_USER": site.user,
        "ASK_PASSWORD": site.password,
        "ASK_DATABASE": site.database,
        "ASK_ROOT": str(CERTIFICATE),
    }
