"""What becomes of standing questions over months, whatever happens: transcripts of random moves over real copies and ledgers.

Two roles ask, of two servers with a store each; clocks jump, rows come late, move and vanish, processes die between accounts
and release, stores are put back. What a unit weighs in all that was released of one question is C at most.
"""

import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dpsql.accounting.ledger import LastMeasurement
from dpsql.engines.snapshot.accounts import AccountedSums, HeldAccounts
from dpsql.errors import DpsqlError
from dpsql.standing import measuring
from tests.gateway.growing_ward import DAILY, TABLE, Visit, Ward
from tests.gateway.test_standing_reading import BY_WARD, SO_FAR
from tests.support.samples import ALL

_ROWS = 1
"""C."""
_STATEMENTS = (
    DAILY,
    DAILY.replace("2026-03-01", "2026-03-03"),
    DAILY.replace("count(*)", "sum(cost)"),
    BY_WARD,
    SO_FAR,
    DAILY.replace("admitted_at::date", "date_trunc('week', admitted_at)::date"),
    DAILY.replace("03-01", "04-01").replace("2026-04-01' GROUP", "2026-05-01' GROUP"),
)
_MOVES = (
    ("ask",) * 6 + ("copy",) * 3 + ("die before", "die after", "restart", "other server", "back up", "put back", "back")
)
_YEAR = TABLE.replace("term: month", "term: year").replace("max_rows: 5", f"max_rows: {_ROWS}")
_OF_YEAR = "admitted_at >= '2026-01-01' AND admitted_at < '2027-01-01'"
_OF_MARCH = "admitted_at >= '2026-03-01' AND admitted_at < '2026-04-01'"
_STATEMENTS_OF_A_YEAR = (
    *(sql.replace(_OF_MARCH, _OF_YEAR) for sql in (DAILY, DAILY.replace("count(*)", "sum(cost)"), BY_WARD)),
    DAILY,
    DAILY.replace(_OF_MARCH, "admitted_at >= '2026-06-01' AND admitted_at < '2026-12-01'"),
    SO_FAR.replace("2026-03-01", "2026-01-01"),
    DAILY.replace(_OF_MARCH, _OF_YEAR).replace("admitted_at::date", "date_trunc('month', admitted_at)::date"),
)
Weighed = dict[str, list[tuple[str, int]]]


@pytest.fixture
def weighed(monkeypatch: pytest.MonkeyPatch) -> Weighed:
    """What each unit has weighed in each measurement, by the name of its claim."""
    right, by_claim = HeldAccounts.measure, Weighed()

    def measure(held: HeldAccounts, question: str, to: LastMeasurement, statements: AccountedSums, **more: Any) -> Any:
        answer = right(held, question, to, statements, **more)
        added = held._connection.execute("SELECT unit, added FROM dpsql_measured WHERE unit IS NOT NULL").fetchall()
        by_claim[to.claim] = added
        return answer

    monkeypatch.setattr(HeldAccounts, "measure", measure)
    return by_claim


def _changed(draw: random.Random, visits: Sequence[Visit], today: int) -> list[Visit]:
    """Return the rows of a later copy: some have come, for today or late, some have moved or gone."""
    kept = [visit for visit in visits if draw.random() > 0.1]
    moved: list[Visit] = [
        (who, draw.randint(1, today), ward, cost) for who, _, ward, cost in kept if draw.random() < 0.1
    ]
    come: list[Visit] = [
        ("pqrs"[draw.randrange(4)], draw.randint(max(1, today - 4), today), draw.choice("ab"), 50.0) for _ in range(4)
    ]
    return [*kept[len(moved) :], *moved, *come]


@pytest.mark.parametrize("seed", range(40 if ALL else 4))
def test_no_transcript_tells_more_than_c_of_anybody(
    ward: Ward, weighed: Weighed, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """No period is released twice, what was told stays, no charge is forgotten, and none is paid twice."""
    ward.declare(TABLE.replace("max_rows: 5", f"max_rows: {_ROWS}"))
    _go_on(random.Random(seed), ward, monkeypatch, _STATEMENTS, 60)  # noqa: S311 # the same in every run
    assert _check(ward, weighed) > 1


@pytest.mark.parametrize("seed", range(10 if ALL else 1))
def test_no_year_tells_more_than_c_of_anybody(
    ward: Ward, weighed: Weighed, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """One term over hundreds of days, with clocks that jump by weeks, and nothing after its last moment."""
    ward.declare(_YEAR)
    told = _go_on(random.Random(seed), ward, monkeypatch, _STATEMENTS_OF_A_YEAR, 150, (1, 2, 5, 9, 30))  # noqa: S311
    assert ward.now > datetime(2026, 8, 1, tzinfo=UTC)
    assert _check(ward, weighed) > 100
    before = _claims(ward)
    ward.copy([("p", 200, "a", 50.0)], datetime(2027, 3, 1, tzinfo=UTC))
    for sql in _STATEMENTS_OF_A_YEAR:
        _ask(ward, monkeypatch, "ask", (sql, "ana"), told)
    assert _claims(ward) == before


def _go_on(
    draw: random.Random,
    ward: Ward,
    monkeypatch: pytest.MonkeyPatch,
    statements: Sequence[str],
    moves: int,
    days: Sequence[int] = (0, 1, 1, 2, 5),
) -> dict[tuple[str, object], object]:
    """Make random moves; return what was told of standing questions."""
    told, visits = dict[tuple[str, object], object](), list[Visit]()
    stores = [ward.place, ward.place.with_name("other accounts")]
    backup = ward.directory / "backup"
    for _ in range(moves):
        move = draw.choice(_MOVES)
        today = (ward.now - datetime(2026, 2, 28, tzinfo=UTC)).days
        match move:
            case "copy":
                visits = _changed(draw, visits, max(today, 1))
                when = ward.now + timedelta(days=draw.choice(days))
                ward.copy(visits, when, whole=draw.random() < 0.4)
            case "back":
                ward.now -= timedelta(days=1)
            case "restart":
                monkeypatch.setattr(measuring, "_LINEAGES", measuring._Lineages())
            case "other server":
                _swapped(*stores)
                monkeypatch.setattr(measuring, "_LINEAGES", measuring._Lineages())
            case "back up" if ward.place.exists():
                shutil.rmtree(backup, ignore_errors=True)
                shutil.copytree(ward.place, backup)
            case "put back" if backup.exists():
                shutil.rmtree(ward.place, ignore_errors=True)
                shutil.copytree(backup, ward.place)
            case "ask" | "die before" | "die after":
                sql, user = draw.choice(statements), draw.choice(("ana", "bob"))
                _ask(ward, monkeypatch, move, (sql, user), told)
    return told


def _swapped(one: Path, other: Path) -> None:
    """Let the server of the other store answer from now on."""
    third = one.with_name("between")
    for here, there in ((one, third), (other, one), (third, other)):
        if here.exists():
            here.rename(there)


def _ask(
    ward: Ward,
    monkeypatch: pytest.MonkeyPatch,
    move: str,
    asked: tuple[str, str],
    told: dict[tuple[str, object], object],
) -> None:
    sql, user = asked
    with monkeypatch.context() as patch:
        if move == "die before":
            patch.setattr(HeldAccounts, "_add", _killed)
        elif move == "die after":
            patch.setattr(measuring, "release_sums", _killed)
        try:
            rows = ward.ask(sql, user)
        except (DpsqlError, KeyboardInterrupt):
            ward.ledger.unlock("owner")
            ward.ledger.unlock("other")
            return
    if move != "ask" or any("computed from" in said or "no standing" in said for said in ward.said):
        return
    for *keys, value in rows:
        assert told.setdefault((sql.split("WHERE")[0], str(keys)), value) == value


def _killed(*_: object) -> object:
    raise KeyboardInterrupt


def _claims(ward: Ward) -> list[tuple[str, str, str, str]]:
    with ward.ledger._store.read(None) as connection:
        return connection.execute(
            "SELECT key, name, state, periods FROM standing_claims ORDER BY key, number"
        ).fetchall()


def _check(ward: Ward, weighed: Weighed) -> int:
    """See that no unit weighs more than C in what was released; return how many periods were."""
    charged = Counter(
        (entry.role, entry.key) for entry in ward.ledger.entries(None, 10_000) if entry.key.startswith("standing")
    )
    assert max(charged.values(), default=1) == 1
    of_unit, periods = defaultdict[tuple[str, str], int](int), Counter[tuple[str, str]]()
    for key, name, state, days in _claims(ward):
        assert any(key == paid for _, paid in charged)
        if state == "kept":
            periods.update((key, day) for day in days.split())
            for unit, added in weighed[name]:
                of_unit[key, unit] += added
    assert max(periods.values()) == 1
    assert max(of_unit.values(), default=0) <= _ROWS * 2**16
    return len(periods)
