"""A trial whose time is up: what is proved passes if one database was gone through, all else is refused."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dpsql.errors import TrialFailed
from dpsql.policy.model import TrialMode
from dpsql.privacy.release.exact import EngineRow
from dpsql.trial import trial
from dpsql.trial.database_comparison import TimeLimit
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from dpsql.trial.engine import OptimizerLevel, TrialEngineFailed, TrialEngineLate
from dpsql.trial.trial import StatementTrial
from dpsql.trial.tried_forms import TriedForms
from tests.support.tried import Court

COUNT = "SELECT count(*) FROM orders WHERE total > 7"


class Slow(DuckDbTrialEngine):
    """It gives up after some statements, asked one after the other: else one of a later database may be among them."""

    most = 0
    at_once = 1

    def run(self, *given: Any, **named: Any) -> Sequence[EngineRow]:
        """Count them."""
        if self.most <= 0:
            raise TrialEngineLate
        self.most -= 1
        return super().run(*given, **named)


def _court(courts: Mapping[str, Court], most: int) -> Court:
    court = courts["duckdb"]
    subject = court.trial._subject

    def prepare(_: object) -> Slow:
        made = Slow(subject)
        made.most = most
        return made

    made = StatementTrial(subject, prepare, "tests", court.emitter, TriedForms(None), TrialMode.FORMS)
    return replace(court, trial=made)


def _of_one(court: Court) -> int:
    """Return how many statements go through one database."""
    places = court.trial.places(court.policy.roles["owner"].protects)
    return sum(2 if place.whole else 1 for place in places if place.world == places[0].world)


def test_what_is_proved_passes_after_one_database(shop_courts: Mapping[str, Court]) -> None:
    """It says so, and how many there are."""
    some = shop_courts["duckdb"]
    told = _court(shop_courts, _of_one(some)).tried(COUNT, "owner")
    assert (told.new, told.short) == (1, 1)
    assert "1 of them only on some, since time was up" in str(told)


def test_before_one_database_is_gone_through_nothing_passes(shop_courts: Mapping[str, Court]) -> None:
    """Its last statement is the individual of more than C rows."""
    some = shop_courts["duckdb"]
    with pytest.raises(TrialFailed):
        _court(shop_courts, _of_one(some) - 1).tried(COUNT, "owner")


def test_what_is_not_proved_is_refused(shop_courts: Mapping[str, Court], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes a slow statement does not get round the trial."""
    court = _court(shop_courts, _of_one(shop_courts["duckdb"]))
    monkeypatch.setattr(trial, "is_proved", lambda *_: False)
    with pytest.raises(TrialFailed):
        court.tried(COUNT, "owner")


def test_no_text_says_that_time_is_up(shop_courts: Mapping[str, Court]) -> None:
    """A client's words may stand in what an engine says: what fails with these does not pass as late."""

    class Failing(Slow):
        def run(self, *given: Any, **named: Any) -> Sequence[EngineRow]:
            try:
                return super().run(*given, **named)
            except TrialEngineLate as late:
                raise TrialEngineFailed(str(late)) from None

    court = shop_courts["duckdb"]
    subject = court.trial._subject

    def prepare(_: object) -> Failing:
        made = Failing(subject)
        made.most = _of_one(court)
        return made

    made = StatementTrial(subject, prepare, "tests", court.emitter, TriedForms(None), TrialMode.FORMS)
    with pytest.raises(TrialFailed):
        replace(court, trial=made).tried(COUNT, "owner")


def test_a_join_without_order_is_given_one(shop_courts: Mapping[str, Court]) -> None:
    """What takes long without any optimizer is compared with joins that are put in order."""
    asked: list[OptimizerLevel] = []

    class Joining(DuckDbTrialEngine):
        def run(self, *given: Any, **named: Any) -> Sequence[EngineRow]:
            how = given[3] if len(given) > 3 else OptimizerLevel.AS_SERVED
            asked.append(how)
            if how is OptimizerLevel.NOT:
                raise TrialEngineLate
            return super().run(*given, **named)

    court = shop_courts["duckdb"]
    made = StatementTrial(court.trial._subject, Joining, "tests", court.emitter, TriedForms(None), TrialMode.FORMS)
    assert replace(court, trial=made).tried(COUNT, "owner").short == 0
    assert asked.count(OptimizerLevel.NOT) == 1
    assert asked.count(OptimizerLevel.JOINS_ALONE) >= 1


def test_load_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this process does the work its processor time counts, a third of the clock's at the least."""
    limits = [TimeLimit(20.0, in_process=there) for there in (True, False)]
    clock = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: clock + 30)
    assert [round(limit.used) for limit in limits] == [10, 30]
    assert [limit.left > 0 for limit in limits] == [True, False]
