"""What a role is told of when others have asked: the day, and no nearer time, however often it tries."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import BudgetExhausted
from tests.support.fix_ledger import Clock, account_of, ask, item_of

WINDOW = 2
BEGIN = datetime(2026, 1, 29, tzinfo=UTC)


def _heard(directory: Path, asked: datetime) -> Sequence[str]:
    """Return what a role hears that tries every ten minutes, after another one has asked at some time of the second day."""
    clock, heard = Clock(), list[str]()
    clock.now = asked
    with SqliteLedger(directory / f"{asked:%H%M}.db", clock) as ledger:
        ask(ledger, account_of("other", "9", dataset="1", window=WINDOW), item_of("a", "0.8"))
        tries = account_of("tries", "9", dataset="1", window=WINDOW)
        for number in range(6 * 24 * 5):
            clock.now = BEGIN + timedelta(days=2, minutes=10 * number)
            try:
                ask(ledger, tries, item_of(f"b{number}", "0.4"))
            except BudgetExhausted as refused:
                heard.append(f"{refused.message} {refused.hint}")
            else:
                heard.append(f"answered at {clock.now}")
                break
    return heard


def test_the_day_of_anothers_question_is_all_that_is_told(tmp_path: Path) -> None:
    """Asked at 00:01, at 10:18 or at 22:59, and told by refusals, by their words or by the first answer."""
    times = [BEGIN + timedelta(days=1, hours=hours, minutes=minutes) for hours, minutes in ((0, 1), (10, 18), (22, 59))]
    first, *others = (_heard(tmp_path, asked) for asked in times)
    assert others == [first] * 2
    assert first[-1] == "answered at 2026-02-02 00:00:00+00:00"
    assert "ε = 0.4 is free from 2026-02-02 (UTC) on" in first[0]


@pytest.mark.parametrize("minute", [0, 59])
def test_the_last_hour_of_a_day_is_told_as_the_next_day(minute: int, tmp_path: Path) -> None:
    """Records may be read after midnight then: who hears of a day does not know which it was."""
    late = _heard(tmp_path, BEGIN + timedelta(days=1, hours=23, minutes=minute))
    early = _heard(tmp_path, BEGIN + timedelta(days=2))
    assert late == early
