"""What costs nothing is kept within bounds: few trials at once, one of each user, none for long, and no failure twice."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace

import pytest

from dpsql.errors import QueryCanceled, TrialFailed
from dpsql.policy.choices import TrialMode
from dpsql.question import Cancellation
from dpsql.trial import trial
from dpsql.trial.duckdb_ground import DuckDbGround
from dpsql.trial.trial import StatementTrial
from dpsql.trial.tried_forms import TriedForms
from dpsql.trial.turns import TrialTurns
from tests.support.tried import Court

COUNT = "SELECT count(*) FROM orders"


def test_a_user_waits_for_an_own_trial_and_others_for_two() -> None:
    """Who waits may cancel."""
    turns, cancelled = TrialTurns(), Cancellation()
    cancelled.cancel()
    with turns.of("ana", Cancellation()):
        with pytest.raises(QueryCanceled), turns.of("ana", cancelled):
            pass
        with turns.of("eve", Cancellation()), pytest.raises(QueryCanceled), turns.of("leo", cancelled):
            pass
        with turns.of("leo", Cancellation()):
            pass


def test_who_waits_comes_next() -> None:
    """As soon as the one before is through."""
    turns, came = TrialTurns(), threading.Event()

    def next_one() -> None:
        with turns.of("ana", Cancellation()):
            came.set()

    with turns.of("ana", Cancellation()):
        waiting = threading.Thread(target=next_one)
        waiting.start()
        assert not came.wait(0.05)
    assert came.wait(5)
    waiting.join()


def test_a_trial_ends(
    shop_courts: Mapping[str, Court], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its statement is refused; asked again it is refused by the same number, and nothing is tried."""
    one = shop_courts["duckdb"]
    one = replace(
        one,
        trial=StatementTrial(one.trial._subject, DuckDbGround, "tests", one.emitter, TriedForms(None), TrialMode.FORMS),
    )
    assert one.tried(COUNT, "owner").new
    numbers = []
    for longest in (0.0, 100.0):
        monkeypatch.setattr(trial, "_LONGEST", longest)
        with caplog.at_level(logging.ERROR, "dpsql.trial"), pytest.raises(TrialFailed) as failed:
            one.tried(f"{COUNT} WHERE total > 3", "owner")
        numbers.append(failed.value.message)
    assert numbers[0] == numbers[1]
    assert caplog.text.count("it takes too long") == 1
    one.trial._failures.clear()
    assert one.tried(f"{COUNT} WHERE total > 3", "owner").new
