"""The configuration read again under fifty sessions of three roles, which all ask: with each kind of change there is."""

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from dpsql.wire.protocol.scram import Verifier
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving
from tests.faults.controls import not_reloaded, reload
from tests.faults.controls import write as replace
from tests.support.demo_schemas import copy_with_numbers

SESSIONS = 50
PEOPLE = {"ana": "analyst", "bea": "second", "cid": "third"}
_SECRET = "known to all of them"  # noqa: S105  (of a server that lives for one test)
_MANY, _EACH = "{protects: passenger, budget: {epsilon: ", "per_query: {epsilon:"
_ROLE = "  {}: {{protects: passenger, budget: {{epsilon: 3000000}}, per_query: {{epsilon: 1000}}}}\n"
_NEW, _OTHER = (
    f'  dan: {{{{role: second, password: "{Verifier.of(word)}"}}}}\n'.format() for word in ("first", "second")
)
_THIRD = "third: {"
_IN_PART = "third: {columns: {trips: [payment_type, fare, passenger_id]}, "
KINDS: Mapping[str, tuple[str, str, str]] = {
    "a description": ("schemas/trips.yaml", "metered fare in dollars", "what the meter said"),
    "bounds": ("schemas/trips.yaml", "bounds: [0, 150]", "bounds: [0, 140]"),
    "how many rows count": ("schemas/trips.yaml", "max_rows: 20", "max_rows: 19"),
    "a new user": ("config.yaml", "users:\n", f"users:\n{_NEW}"),
    "another password": ("config.yaml", _NEW, _OTHER),
    "a user who leaves": ("config.yaml", _OTHER, ""),
    "a new role": ("config.yaml", "roles:\n", f"roles:\n{_ROLE.format('fourth')}"),
    "a role that goes": ("config.yaml", _ROLE.format("fourth"), ""),
    "a role's budget": (
        "config.yaml",
        "second: {protects: passenger, budget: {epsilon: 3",
        "second: {protects: passenger, budget: {epsilon: 4",
    ),
    "a role's price": ("config.yaml", f"4000000}}, {_EACH} 1000}}", f"4000000}}, {_EACH} 900}}"),
    "a role's tables": ("config.yaml", _THIRD, "third: {tables: [trips], "),
    "all tables again": ("config.yaml", "third: {tables: [trips], ", _THIRD),
    "a role's columns": ("config.yaml", _THIRD, _IN_PART),
    "a role's rows": ("config.yaml", _IN_PART, f"{_IN_PART}where: {{trips: payment_type = 'cash'}}, "),
    "all rows again": ("config.yaml", f"{_IN_PART}where: {{trips: payment_type = 'cash'}}, ", _THIRD),
    "the epoch's length": ("config.yaml", "dataset: taxi\n", "dataset: taxi\nrefresh: monthly\n"),
}
"""By what changes: the file, the old text, and the new; no session ends for any."""


@dataclass(slots=True)
class Asking:
    """One session, and what becomes of it."""

    user: str
    site: Site
    over: threading.Event
    answered: int = 0
    failed: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Ask until it is over; each answer is one that the role may have."""
        try:
            with psycopg.connect(self.site.words.replace("user=ana", f"user={self.user}"), autocommit=True) as session:
                while not self.over.is_set():
                    rows = session.execute(GROUPED.encode()).fetchall()
                    assert rows == BY_PAYMENT or (self.user == "cid" and rows == _cash_alone()), rows
                    self.answered += 1
        except BaseException as error:  # noqa: BLE001
            self.failed.append(repr(error))


def _cash_alone() -> list[tuple[object, ...]]:
    return [row for row in BY_PAYMENT if row[0] == "cash"]


@pytest.fixture
def served() -> Iterator[tuple[Site, Path]]:
    """Give a server with three roles, and where its configuration is."""
    with TemporaryDirectory(prefix="dpsql-load-") as made:
        place = Path(made)
        place.chmod(0o711)
        copy_with_numbers(place / "schemas")
        config = configure(place, schemas=Path("schemas/"))
        verifier = config.read_text().partition("  ana: ")[2].partition("password: ")[2].strip()
        users = (f"  {name}: {{role: {role}, password: {verifier}\n" for name, role in PEOPLE.items() if name != "ana")
        replace(config, "users:\n", f"users:\n{''.join(users)}")
        replace(config, "roles:\n", f"roles:\n{_ROLE.format('second')}{_ROLE.format('third')}")
        with (place / "log").open("w") as log, serving(config, log=log) as site:
            yield site, place


def _wait_for_all(sessions: list[Asking]) -> None:
    """Wait until each has asked anew twice: what is read again counts for it then."""
    before, deadline = [session.answered for session in sessions], time.monotonic() + 120
    while any(
        session.answered < answered + 2 and not session.failed
        for session, answered in zip(sessions, before, strict=True)
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert [failed for session in sessions for failed in session.failed] == []


def test_no_session_notices_what_is_not_its_own(served: tuple[Site, Path]) -> None:
    """Each kind of change counts at once, ends no session and fails no statement; a mistake changes nothing."""
    site, place = served
    over = threading.Event()
    sessions = [Asking([*PEOPLE][number % 3], site, over) for number in range(SESSIONS)]
    threads = [threading.Thread(target=session.run) for session in sessions]
    for thread in threads:
        thread.start()
    try:
        _wait_for_all(sessions)
        for kind, (file, old, new) in KINDS.items():
            replace(place / file, old, new)
            reload(site)
            _wait_for_all(sessions)
            assert kind
        replace(place / "config.yaml", "dataset: taxi\n", "dataset: taxi\ncolour: green\n")
        assert "everything goes on as before" in not_reloaded(site, place / "log")
        _wait_for_all(sessions)
        replace(place / "config.yaml", "colour: green\n", "")
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert [failed for session in sessions for failed in session.failed] == []


@pytest.mark.slow
def test_what_ends_sessions_is_told_to_each(served: tuple[Site, Path]) -> None:
    """Other columns: they hear why, and are answered as soon as they log in again."""
    site, place = served
    over = threading.Event()
    sessions = [Asking([*PEOPLE][number % 3], site, over) for number in range(SESSIONS)]
    threads = [threading.Thread(target=session.run) for session in sessions]
    for thread in threads:
        thread.start()
    _wait_for_all(sessions)
    trips = place / "schemas" / "trips.yaml"
    trips.write_text("".join(line for line in trips.read_text().splitlines(True) if "  tip:" not in line))
    reload(site)
    for thread in threads:
        thread.join()
    told = [said for session in sessions for said in session.failed]
    assert len(told) == SESSIONS
    # Of whoever was just sending a statement the farewell may be lost with the connection.
    assert all("the declared tables have changed" in said or "closed the connection" in said for said in told), told
    assert sum("the declared tables have changed" in said for said in told) > SESSIONS / 2
    for user in PEOPLE:
        with psycopg.connect(site.words.replace("user=ana", f"user={user}")) as again:
            assert again.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
