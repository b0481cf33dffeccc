"""A unit's weights over a term, by exhaustion: rows that come late, move and vanish, in any order of measuring."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest

from dpsql.accounting.ledger import LastMeasurement
from dpsql.engines.snapshot.accounts import AccountedSums
from dpsql.privacy.release.exact import exact_sums
from dpsql.question import Cancellation
from dpsql.standing.questions import StandingPart
from tests.standing.histories import Copies, Row, copies, day_of, standing, table
from tests.support.samples import ALL

DAYS = 3
CHANGES = [
    (come, gone)
    for size in range(3)
    for come in itertools.combinations_with_replacement(range(DAYS), size)
    for gone in ((), (0,), (1,))
]
"""What may happen to a unit on a day: rows of some periods come, and one of a period vanishes. Both is a row that moves."""
HISTORIES = list(itertools.product(CHANGES, repeat=DAYS))
ORDERS = list(itertools.product([(), (0,), (1,), (2,), (2, 1), (1, 0), (2, 0, 1)], repeat=DAYS))
"""Which periods are measured on each day; one that was measured before is not measured again."""
_PART = random.Random(59)  # noqa: S311 # the same part in every run
SOME = HISTORIES if ALL else _PART.sample(HISTORIES, 2_000)


def _rows(history: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], day: int) -> list[int]:
    """Return the periods of a unit's rows on a day."""
    rows: list[int] = []
    for come, gone in history[: day + 1]:
        rows += come
        for period in gone:
            if period in rows:
                rows.remove(period)
    return rows


def _copy(units: Mapping[str, Sequence[tuple[tuple[int, ...], tuple[int, ...]]]], day: int) -> list[Row]:
    return [(unit, period, 8.0) for unit, history in units.items() for period in _rows(history, day)]


def _year(
    copied: Copies,
    part: StandingPart,
    units: Mapping[str, Sequence[tuple[tuple[int, ...], tuple[int, ...]]]],
    order: Sequence[Sequence[int]],
) -> dict[tuple[object, ...], Sequence[int]]:
    """Return the exact cells of all that is measured in a term, by period and unit."""
    cells: dict[tuple[object, ...], Sequence[int]] = {}
    done: set[int] = set()
    for day, wanted in enumerate(order):
        periods = [period for period in wanted if period not in done]
        if periods:
            copied.fill(_copy(units, day))
            cells |= copied.measured(part, "q", periods)
            done |= set(periods)
    return cells


def _by_hand(
    history: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], order: Sequence[Sequence[int]], c: int, w: int
) -> dict[int, int]:
    """Return by period what a unit's rows weigh together, as the lemma says."""
    used, weighed, done = 0, dict[int, int](), set[int]()
    for day, wanted in enumerate(order):
        periods = [period for period in wanted if period not in done]
        number = Counter(period for period in _rows(history, day) if period in periods)
        n = sum(number.values())
        weight = min(w, max(0, c * w - used) // n) if n else 0
        used += weight * n
        weighed |= {period: weight * number[period] for period in periods}
        done |= set(periods)
    return weighed


@pytest.mark.parametrize("c", [1, 2])
def test_no_history_weighs_more_than_c(c: int) -> None:
    """Every unit of one database has another history: its cells move by at most C·W·S, and are what the lemma says."""
    units = {f"u{number}": history for number, history in enumerate(SOME)}
    part = standing(table(c, list(units)), DAYS)
    w, s = part.asked.bound.weight, part.asked.row_norm
    orders = ORDERS if ALL else _PART.sample(ORDERS, 14)
    reached = 0
    for order in orders:
        with copies() as copied:
            cells = _year(copied, part, units, order)
            moved, rows = defaultdict[object, int](int), defaultdict[tuple[object, object], int](int)
            for (day, unit), coordinates in cells.items():
                moved[unit] += max(map(abs, coordinates))
                rows[day, unit] = coordinates[0]
            assert max(moved.values(), default=0) <= c * w * s == part.asked.sensitivity
            reached = max(reached, *moved.values(), 0)
            for unit, history in units.items():
                for period, weight in _by_hand(history, order, c, w).items():
                    assert rows[(day_of(period) - day_of(0)).days + _FIRST, unit] == weight * s
            if cells:
                assert all(0 <= used <= c * w for used in copied.used("q").values())
    assert reached == part.asked.sensitivity


_FIRST = 20_454
"""2026-01-01 in days since 1970, as cells have it."""


@pytest.mark.parametrize("c", [1, 3])
def test_who_is_taken_away_changes_nobody_else(c: int) -> None:
    """From every copy, and whatever the others do: their cells are the same to the last bit."""
    units = {f"u{number}": history for number, history in enumerate(SOME[:300])}
    part = standing(table(c, list(units)), DAYS)
    kept = {unit: history for place, (unit, history) in enumerate(units.items()) if place % 2}
    for order in _PART.sample(ORDERS, 5):
        with copies() as with_all, copies() as without:
            cells, others = _year(with_all, part, units, order), _year(without, part, kept, order)
        assert {key: cell for key, cell in cells.items() if key[1] in kept} == {
            key: cell for key, cell in others.items() if key[1] in kept
        }


def test_a_unit_without_an_account_never_counts() -> None:
    """Were accounts not written for all, their units would be left out, and not counted in full."""
    part = standing(table(2, ["a", "b"]), DAYS)
    with copies() as copied:
        copied.fill([("a", 0, 8.0), ("b", 0, 8.0)])
        sums = part.for_periods([day_of(0)])
        emitter = copied.emitter
        missing = sums.units_accounted(emitter).replace("WHERE", "WHERE s0.\"who\" <> 'a' AND", 1)
        statements = AccountedSums(missing, sums.sql(emitter), sums.bound.mass, datetime(2027, 1, 1, tzinfo=UTC))
        rows = copied.accounts.measure(
            "q", LastMeasurement(1, "x"), statements, timeout=60, cancellation=Cancellation()
        )
        cells = dict(zip(sums.groups.shown, exact_sums(sums, rows).coordinates, strict=True))
    assert [cells[_FIRST, unit][0] for unit in "ab"] == [0, part.asked.bound.weight * part.asked.row_norm]


def test_two_questions_have_accounts_of_their_own() -> None:
    """What one has used the other has still."""
    part = standing(table(1, ["a"]), DAYS)
    with copies() as copied:
        copied.fill([("a", 0, 8.0), ("a", 1, 8.0)])
        copied.measured(part, "p", [0])
        copied.number = 0
        first = copied.measured(part, "q", [1])
        assert copied.used("p") == copied.used("q") == {"a": part.asked.bound.mass}
    assert first[_FIRST + 1, "a"][0] == part.asked.sensitivity


def test_rows_of_nobody_and_without_a_time_are_in_no_period() -> None:
    """Nor are those of another period."""
    part = standing(table(5, ["a"]), DAYS)
    with copies() as copied:
        copied.fill([("a", 0, 8.0), (None, 0, 8.0), ("a", 300, 8.0), ("a", -3, 8.0), ("a", 2, 8.0)])
        copied.connection.execute("INSERT INTO records.main.t VALUES ('a', NULL, 'a', 8)")
        cells = copied.measured(part, "q", [0, 1])
        assert copied.used("q") == {"a": part.asked.bound.weight}
    whole = part.asked.steps_per_row
    assert {key: cell[0] for key, cell in cells.items()} == {(_FIRST, "a"): whole, (_FIRST + 1, "a"): 0}
