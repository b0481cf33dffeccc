"""What must hold after everything has gone wrong: each complaint is a failure of the test."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from tests.faults.chaos.fleet import FRESH, PIPELINE, Done, expected
from tests.faults.chaos.saboteur import Fault
from tests.faults.chaos.scene import Scene, Size

PATIENCE = 10.0
"""Seconds that a client may wait."""

_CHARGES = """
SELECT s.text, r.key FROM charges AS c JOIN statements AS s ON s.id = c.statement LEFT JOIN releases AS r ON r.key = c.key
"""
_ENDS_SESSIONS = {"kill_shadow", "kill_session"}
_ENGINE = {"kill_engine", "end_engine_sessions"}
_ALLOWED = {
    "42501": None,  # rows were asked for
    "25P02": None,  # what follows an error in a pipeline
    "08001": _ENGINE,
    "57P03": _ENGINE | _ENDS_SESSIONS,
    "08006": _ENGINE,
    "57P01": _ENDS_SESSIONS,
    "57P02": _ENDS_SESSIONS,
    "58030": {"move_ledger"},
}
"""The errors that clients may be told, and what must have happened then."""
_REMEMBERED = 64
"""Megabytes: what is remembered has room for 40 MiB, which a while fills, and takes more as Python's values."""


def complaints(scene: Scene, faults: Sequence[Fault], before: Size, after: Size) -> Iterator[str]:
    """Yield what does not hold."""
    records = scene.records()
    yield from of_clients(records, faults)
    yield from of_ledger(scene.ledger, records, faults)
    yield from of_log(scene.log, faults)
    if after.descriptors > before.descriptors + 16:  # the pool to the engine
        yield f"{before.descriptors} descriptors were open, and {after.descriptors} are"
    if after.sessions > before.sessions + 4:  # in which constants are evaluated
        yield f"the shadow had {before.sessions} processes, and has {after.sessions}"
    if after.megabytes > before.megabytes * 1.25 + _REMEMBERED:
        yield f"dpsql had {before.megabytes} MB, and has {after.megabytes}"


def of_clients(records: Sequence[Done], faults: Sequence[Fault]) -> Iterator[str]:
    """Yield what clients should not have lived through.

    Who rests while their session ends is told when they ask next.
    """
    rests: dict[int, float] = {}
    for done in records:
        rested = min(rests.get(done.client, done.began), done.began)
        rests[done.client] = done.began + done.took
        if done.took > PATIENCE:
            yield f"{done.client} waited {done.took:.1f} s: {done}"
        if (
            done.value is not None
            and done.what != "connect"
            and not done.given_up
            and done.value != expected(done.statement)
        ):
            yield f"the answer is wrong: {done}"
        if done.failed is not None and not done.given_up and not _may_fail(done, rested, faults):
            yield f"nothing explains it: {done}"


def _may_fail(done: Done, rested: float, faults: Sequence[Fault]) -> bool:
    """Return whether something that was done explains what a client was told who rested since a moment."""
    causes = _ENDS_SESSIONS if done.sqlstate is None else _ALLOWED.get(done.sqlstate, set())
    if causes is None:
        return True
    return _met(done, causes, faults, rested if causes is _ENDS_SESSIONS else done.began)


def _met(done: Done, causes: set[str], faults: Sequence[Fault], since: float) -> bool:
    return any(fault.what in causes and fault.meets(since, done.began + done.took) for fault in faults)


def of_ledger(ledger: Path, records: Sequence[Done], faults: Sequence[Fault]) -> Iterator[str]:
    """Compare what was told with what was charged and stored; each question was asked once."""
    with closing(sqlite3.connect(ledger)) as connection:
        charges = connection.execute(_CHARGES).fetchall()
    charged, stored = Counter(text for text, _ in charges), {text for text, key in charges if key is not None}
    told = {done.statement: done for done in records if FRESH in done.statement}
    for text, done in told.items():
        if done.value is not None and not charged[text]:
            yield f"answered and not charged: {done}"
        uncharged = done.what != PIPELINE and "nothing was charged" in (done.failed or "")
        if uncharged and charged[text]:
            yield f"charged against its word: {done}"
        if done.value is not None and text not in stored and not _met(done, {"move_ledger"}, faults, done.began):
            yield f"answered and not stored: {done}"
    killed = any(fault.what == "kill_fleet" for fault in faults)
    for text, times in charged.items():
        if FRESH in text and times > 1:
            yield f"charged {times} times: {text}"
        if FRESH in text and text not in told and not killed:
            yield f"charged, and nobody asked: {text}"


def of_log(log: str, faults: Sequence[Fault]) -> Iterator[str]:
    """See that every death is told, and nothing that is a bug."""
    deaths = sum(fault.what == "kill_shadow" for fault in faults)
    logged = log.count("the shadow died or was left half made") + log.count("the shadow died while the configuration")
    if logged < deaths:
        yield f"the shadow died {deaths} times, and the log tells of {logged}"
    for told in re.findall(r"Traceback .*?\n(?=\S)[^\n]*", log, re.DOTALL):
        yield f"the log has a traceback: {told[-600:]}"
