"""Lines that cost nothing, of somebody who has had very many: they are counted, and fill no disk."""

import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.policy.model import Privacy
from dpsql.trail import trail as trail_trail
from dpsql.trail.folder import examine_trail, files_of, newest_first
from dpsql.trail.record import AuditEvent, AuditRecord, AuditVerdict
from dpsql.trail.trail import A_SECOND, BUCKET, AuditTrail, LineAllowance
from tests.trail.lines import NOON, record

PAID = Privacy(Fraction(1, 10))


def test_a_bucket_fills_by_time() -> None:
    """Each user has their own; who took more than there was waits for longer."""
    now = [0.0]
    allowance = LineAllowance(lambda: now[0])
    allowance.take("eve", BUCKET + 10 * A_SECOND)
    assert (allowance.admits("eve"), allowance.admits("ana")) == (False, True)
    now[0] = 10
    assert not allowance.admits("eve")
    now[0] = 11
    assert allowance.admits("eve")
    now[0] = 10**6
    allowance.take("eve", BUCKET - 1)
    assert allowance.admits("eve")


def test_what_was_counted_is_told_once_a_minute() -> None:
    """And at the end."""
    now = [0.0]
    allowance = LineAllowance(lambda: now[0])
    for _ in range(4_000):
        allowance.count(("eve", "analyst"), "public")
    for _ in range(210):
        allowance.count(("eve", "analyst"), "refused")
    assert list(allowance.due()) == []
    now[0] = 61
    assert list(allowance.due()) == [(("eve", "analyst"), "… and 4,210 more: 4,000 public, 210 refused")]
    assert list(allowance.due(now=True)) == []
    allowance.count(("ana", ""), "free")
    assert list(allowance.due(now=True)) == [(("ana", ""), "… and 1 more: 1 free")]


def _flood(trail: AuditTrail, lines: int) -> None:
    """Add long lines as fast as they can be, of which every hundredth was paid for."""
    long = record("SELECT " + "\x01" * 10_000)
    for number in range(lines):
        if number % 100 == 0:
            trail.write(replace(long, verdict=AuditVerdict.ANSWERED, cost=PAID, statement=f"paid {number}")).result(20)
        elif number % 2:
            trail.write(replace(long, user="eve")).result(20)
        else:
            trail.note(replace(long, user="eve", verdict=AuditVerdict.REFUSED, code="0A000"))


def test_clients_can_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood takes what a bucket has; all that was charged has its line, so have others, and the rest is counted."""
    monkeypatch.setattr(trail_trail, "BUCKET", 2**20)
    trail = AuditTrail(tmp_path / "audit", lambda: NOON)
    floods = [threading.Thread(target=_flood, args=(trail, 3_000)) for _ in range(4)]
    for each in floods:
        each.start()
    for each in floods:
        each.join()
    trail.write(record("of another")).result(20)
    trail.close()
    assert examine_trail(tmp_path / "audit").wrong == []
    lines = [line.fields for line in newest_first(tmp_path / "audit")]
    assert sum(path.stat().st_size for path in files_of(tmp_path / "audit")) < 16 * 2**20  # of 700
    assert sum(line.get("verdict") == "answered" for line in lines) == 120
    assert sum(line.get("statement") == "of another" for line in lines) == 1
    more = [line for line in lines if line["event"] == "more"]
    assert {(line["user"], line["role"]) for line in more} == {("eve", "owner")}
    counted = sum(int(str(line["about"]).split()[2].replace(",", "")) for line in more)
    assert counted + sum(line.get("user") == "eve" for line in lines) - len(more) == 4 * 3_000 - 120


def test_what_may_be_counted() -> None:
    """Statements that were not charged: no log-in, no start, and nothing that was paid for."""
    free = record("SELECT 1")
    assert free.counts_only
    assert replace(free, cost=Privacy(Fraction(0))).counts_only
    assert not replace(free, cost=PAID).counts_only
    assert not replace(free, verdict=AuditVerdict.FAILED, cost=PAID).counts_only
    assert not AuditRecord(NOON, AuditEvent.LOG_IN, "eve").counts_only
