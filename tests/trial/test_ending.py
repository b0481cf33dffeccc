"""What costs nothing is kept within bounds: no trial takes long, and no failure is tried twice."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dpsql.errors import TrialFailed
from dpsql.policy.model import TrialMode
from dpsql.privacy.release.exact import EngineRow
from dpsql.trial import trial
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from dpsql.trial.subject import TrialSubject
from dpsql.trial.trial import StatementTrial
from dpsql.trial.tried_forms import TriedForms
from tests.support.tried import Court

COUNT = "SELECT count(*) FROM orders"


def test_a_trial_ends(
    shop_courts: Mapping[str, Court], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its statement is refused; asked again soon it is refused by the same number, and nothing is tried; later it is."""
    trial_court = shop_courts["duckdb"]
    trial_court = replace(
        trial_court,
        trial=StatementTrial(
            trial_court.trial._subject,
            DuckDbTrialEngine,
            "tests",
            trial_court.emitter,
            TriedForms(None),
            TrialMode.FORMS,
        ),
    )
    assert trial_court.tried(COUNT, "owner").new
    numbers = []
    for longest in (0.0, 100.0):
        monkeypatch.setattr(trial, "_LONGEST", longest)
        with caplog.at_level(logging.ERROR, "dpsql.trial"), pytest.raises(TrialFailed) as failed:
            trial_court.tried(f"{COUNT} WHERE total > 3", "owner")
        numbers.append(failed.value.message)
    assert numbers[0] == numbers[1]
    assert caplog.text.count("it takes too long") == 1
    assert "try again" in str(failed.value.hint)
    monkeypatch.setattr(time, "monotonic", lambda: time.monotonic_ns() / 10**9 + trial._LATE)
    assert trial_court.tried(f"{COUNT} WHERE total > 3", "owner").new


def test_making_the_databases_is_no_part_of_a_trial(
    shop_courts: Mapping[str, Court], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine that takes longer than the trial of any statement; the first one waits for it."""
    trial_court = shop_courts["duckdb"]
    passed = 0.0

    def slow(subject: TrialSubject) -> DuckDbTrialEngine:
        nonlocal passed
        passed = 10 * trial._LONGEST
        return DuckDbTrialEngine(subject)

    monkeypatch.setattr(time, "monotonic", lambda: time.monotonic_ns() / 10**9 + passed)
    made = StatementTrial(
        trial_court.trial._subject, slow, "tests", trial_court.emitter, TriedForms(None), TrialMode.FORMS
    )
    assert replace(trial_court, trial=made).tried(COUNT, "owner").new


def test_a_trial_that_will_be_late_ends_early(
    shop_courts: Mapping[str, Court], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As soon as that is to be foreseen: else whoever writes slow statements has the engine for all that time."""
    asked = 0

    class Slow(DuckDbTrialEngine):
        def run(self, *given: Any, **named: Any) -> Sequence[EngineRow]:
            nonlocal asked
            asked += 1
            return super().run(*given, **named)

    monkeypatch.setattr(time, "monotonic", lambda: time.monotonic_ns() / 10**9 + asked * trial._LONGEST / 4)
    monkeypatch.setattr(time, "process_time", time.monotonic)
    court = shop_courts["duckdb"]
    slow = StatementTrial(court.trial._subject, Slow, "tests", court.emitter, TriedForms(None), TrialMode.FORMS)
    with caplog.at_level(logging.ERROR, "dpsql.trial"), pytest.raises(TrialFailed):
        replace(court, trial=slow).tried(f"{COUNT} WHERE total > 5", "owner")
    assert asked <= 4
    assert "synthetic rows: {}" in caplog.text
