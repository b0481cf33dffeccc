"""A row of the matrix: how a driver is started, and how a person connects with it."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from tests.clients.matrix.asked import DOLLAR, Mark
from tests.clients.site import Site

SCRIPTS = Path(__file__).resolve().parents[1] / "drivers"
CLIENTS = Path(os.environ.get("CLIENTS", ".venv/clients")).absolute()
"""Where `make test-clients` puts what npm installs, and what is built."""
_OWN_PYTHON = Path(os.environ.get("DRIVERS", ".venv/drivers")).absolute() / "bin" / "python"
"""The Python of the drivers that would disturb what dpsql itself needs; `make test` installs them."""


@dataclass(frozen=True, slots=True)
class Driver:
    """One driver."""

    name: str
    command: tuple[str, ...]
    """Prints the steps."""
    connect: str
    """One line that connects; `…` stands for what is as everywhere."""
    mark: Mark = DOLLAR
    build: tuple[str, ...] = ()
    """Makes the program that `command` runs."""
    before: Callable[[Site], AbstractContextManager[Site]] | None = None
    """What stands between the driver and the server."""


def python(name: str, script: str, connect: str, mark: Mark = DOLLAR, *, own: bool = False) -> Driver:
    """Return a driver whose script is in Python; `own`: with packages that only drivers need."""
    file, *words = script.split(" ", 1)
    # -P keeps a script's own name from hiding the driver's.
    return Driver(
        name,
        (str(_OWN_PYTHON) if own else sys.executable, "-P", _script("python", f"{file}.py"), *words),
        connect,
        mark,
    )


def node(name: str, script: str, connect: str, mark: Mark = DOLLAR) -> Driver:
    """Return a driver whose script is for Node."""
    return Driver(name, ("node", _script("node", f"{script}.mjs")), connect, mark)


def interpreted(name: str, program: str, script: str, connect: str, mark: Mark = DOLLAR) -> Driver:
    """Return a driver whose script some other program reads."""
    return Driver(name, (*program.split(), _script(*script.split("/"))), connect, mark)


def built(name: str, program: str, build: str, connect: str) -> Driver:
    """Return a driver whose program is built: `OUT` stands for it, and `HERE` for the scripts."""
    into = str(CLIENTS / "bin" / program)
    words = (word.replace("OUT", into).replace("HERE", str(SCRIPTS)) for word in build.split())
    return Driver(name, (into,), connect, build=tuple(words))


def _script(*parts: str) -> str:
    return str(SCRIPTS.joinpath(*parts))
