"""Standing questions whose C is chosen: once a term, over the last one, by a ladder that is paid with them."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dpsql.errors import EngineFailed
from dpsql.gateway import standing
from dpsql.question import Settings
from tests.gateway.growing_ward import DAILY, FIRST, FOURTH, MORE, TABLE, Visit, Ward
from tests.gateway.test_standing_reading import SO_FAR

AUTO = TABLE.replace("max_rows: 5", "max_rows: auto")
FEBRUARY: list[Visit] = [(f"f{n}", -9, "a", 1.0) for n in range(40)] + [("many", -d, "b", 1.0) for d in range(12)]


@pytest.fixture
def auto(ward: Ward) -> Ward:
    """The ward, whose units have one row in the last month, but for one with a dozen."""
    ward.declare(AUTO)
    ward.copy([*FEBRUARY, *FIRST])
    return ward


def _c(ward: Ward, user: str = "ana") -> set[int]:
    """Return the C of the questions that a statement asks."""
    client = ward.client(user)
    question = client.gateway.examine(DAILY, client.asker)
    assert question is not None
    request = client.request(question)
    analyzed = client.gateway.analyzed(request)
    assert analyzed is not None
    found = client.gateway._standing.of(client.gateway.priced(analyzed, request), request)
    assert isinstance(found, standing.StandingStatement)
    return {asked.part.asked.bound.rows for asked in found.questions.values() if not asked.part.waits}


def test_c_is_chosen_once_for_a_term(auto: Ward) -> None:
    """And stays what it is, however many rows units have in later copies; another role has the same."""
    assert _c(auto) == set()
    assert auto.told() == {1: 2, 2: 1}
    assert _c(auto) == {32}
    assert any("was paid once for 2026-03" in said for said in auto.said)
    auto.copy([*FEBRUARY, *MORE, *[("p", 4, "a", 1.0)] * 40], FOURTH)
    told = auto.told()
    assert [told[day] for day in (1, 2, 3)] == [2, 1, 2]
    assert told[4] == 30
    assert _c(auto) == {32}
    assert auto.told(user="bob") == told
    assert _c(auto, "bob") == {32}
    assert auto.charges == 2


def test_the_choice_is_part_of_the_price(auto: Ward) -> None:
    """No more than the statement's ε is charged, and all of it."""
    auto.ask(settings=Settings(epsilon="1000000"))
    (entry,) = auto.ledger.entries(None, 10)
    assert Fraction(999_999) < entry.cost.epsilon <= 10**6
    auto.ask(DAILY.replace("count(*)", "count(*), sum(cost) FILTER (WHERE ward = 'a')"))
    assert sum(line.cost.epsilon for line in auto.ledger.entries(None, 10)) <= 2 * 10**6


def test_without_a_whole_term_behind_it_is_an_ordinary_question(auto: Ward) -> None:
    """By the bounds of the time, and by what has closed."""
    auto.declare(AUTO.replace("2020-01-01", "2026-02-02"))
    auto.copy(FIRST)
    auto.ask()
    assert any("C is chosen over a whole month that has closed, from 2026-04-02 on" in said for said in auto.said)
    auto.declare(AUTO)
    auto.copy(FIRST, datetime(2026, 3, 1, 12, tzinfo=UTC))
    auto.ask()
    assert any("from 2020-02-02 on" in said for said in auto.said)


def test_what_follows_is_read_off_it(auto: Ward) -> None:
    """With the C that was chosen."""
    auto.ask()
    assert auto.ask(SO_FAR) == [(3,)]
    assert auto.charges == 1


def test_a_ladder_that_fails_is_not_tried_again(auto: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its failure is stored, and the same for all who ask."""
    with monkeypatch.context() as patch:
        patch.setattr(standing, "release_of", _broken)
        with pytest.raises(EngineFailed):
            auto.ask()
    for _ in range(2):
        with pytest.raises(EngineFailed):
            auto.ask()
    assert _c(auto) == set()


def test_a_kill_before_the_ladder_is_stored_is_paid_again(auto: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second ladder is another release, and another charge."""
    with monkeypatch.context() as patch:
        patch.setattr(standing, "release_of", _killed)
        with pytest.raises(KeyboardInterrupt):
            auto.ask()
    assert auto.told() == {1: 2, 2: 1}
    assert auto.charges == 2


def _broken(*_: object) -> object:
    raise RuntimeError


def _killed(*_: object) -> object:
    raise KeyboardInterrupt
