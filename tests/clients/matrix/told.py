"""What a script in Python is told by the environment, and how it tells what it got: a line of JSON a step."""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

HOST, PORT, WHO, PASSWORD, DATABASE, ROOT = (
    os.environ[f"ASK_{name}"] for name in ("HOST", "PORT", "USER", "PASSWORD", "DATABASE", "ROOT")
)
TABLES, COLUMNS, GROUPED, IN, ARRAY, ROWS, SLOW, SERIES = (
    os.environ[f"ASK_{name}"] for name in ("TABLES", "COLUMNS", "GROUPED", "IN", "ARRAY", "ROWS", "SLOW", "SERIES")
)
TYPES = [line.split("\t") for line in os.environ["ASK_TYPES"].split("\n")]
"""Name, statement, value as text."""
WORDS = dict(line.split("\t") for line in os.environ["ASK_WORDS"].split("\n"))
"""Statements by encoding."""
DSN = f"host={HOST} port={PORT} user={WHO} password='{PASSWORD}' dbname={DATABASE}"
CHECKED = f"sslmode=verify-full sslrootcert={ROOT}"
BOUND = f"{DSN} {CHECKED} channel_binding=require"
WHERE = "SELECT current_user, current_database()"


class NoSuchThing(Exception):
    """The driver has nothing for this step; says why."""


class Partly:
    """What a step got, and what of it the driver does not have."""

    def __init__(self, got: object, note: str) -> None:
        self.got, self.note = got, note


def url(scheme: str = "postgresql", **options: str) -> str:
    """Return the server as an address."""
    password = PASSWORD.replace(" ", "%20").replace(":", "%3A")
    asked = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{scheme}://{WHO}:{password}@{HOST}:{PORT}/{DATABASE}{'?' * bool(asked)}{asked}"


def tell(step: str, ask: Callable[[], object]) -> None:
    """Print what a step got, as a line."""
    told: dict[str, object]
    try:
        got = ask()
        told = {"got": got.got, "note": got.note} if isinstance(got, Partly) else {"got": got}
    except NoSuchThing as reason:
        told = {"none": str(reason)}
    except Exception as failed:  # noqa: BLE001  (whatever a driver raises is what is asked for)
        told = {"failed": f"{type(failed).__name__}: {failed}"}
    sys.stdout.write(json.dumps({"step": step, **told}) + "\n")
    sys.stdout.flush()


def code(ask: Callable[[], object], of: Callable[[Any], object] = lambda failed: failed.sqlstate) -> object:
    """Return the SQLSTATE that a question fails with, as the driver tells it."""
    try:
        ask()
    except Exception as failed:
        state = of(failed)
        if state is None:
            raise
        return state
    return "answered"


@contextmanager
def stopping(cancel: Callable[[], object]) -> Iterator[None]:
    """Call `cancel` from beside, again and again while the block runs: the first may come before the statement."""
    done = threading.Event()

    def stop() -> None:
        while not done.wait(0.1):
            cancel()

    beside = threading.Thread(target=stop)
    beside.start()
    try:
        yield
    finally:
        done.set()
        beside.join()
