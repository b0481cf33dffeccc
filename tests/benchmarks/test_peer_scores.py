"""How the comparison with other systems judges answers: what is far off, wrong, missing, and whose error is the smaller."""

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.peers.asked import Run
from benchmarks.peers.questions import Question, questions
from benchmarks.peers.scores import columns_of, errors, ratio, shown, telling, wrongness

_GROUPED = Question("q04", "group by 1", "passenger", "SELECT …", ("k",))
_RANKED = Question("q22", "rank", "passenger", "SELECT …", ("k",), "r")


def _run(*rows: Sequence[Any], columns: Sequence[str] = ("k", "n")) -> Run:
    return Run(0.1, columns, rows)


def test_all_questions_are_read() -> None:
    """There are 22, numbered in order, and each names its keys where it has groups."""
    asked = questions()
    assert [question.name for question in asked] == [f"q{number:02}" for number in range(1, 23)]
    assert all(bool(question.keys) == ("GROUP BY" in question.sql) for question in asked if question.name != "q14")


def test_error_is_the_median_over_groups() -> None:
    """A run is as far off as its typical group."""
    exact = _run(("a", 100), ("b", 200), ("c", 400))
    assert errors(_GROUPED, exact, [_run(("a", 110), ("b", 210), ("c", 404))], "n") == [pytest.approx(0.05)]


def test_a_group_that_is_not_shown_is_all_off() -> None:
    """Leaving out groups does not make an answer more exact."""
    exact = _run(("a", 100), ("b", 200), ("c", 400))
    assert errors(_GROUPED, exact, [_run(("a", 100))], "n") == [1.0]
    assert shown(_GROUPED, exact, [_run(("a", 100)), _run(("b", 1), ("d", 7))]) == pytest.approx(1 / 3)


def test_a_group_without_a_value_is_all_off() -> None:
    """NULL and infinity are no values."""
    exact = _run(("a", 100), ("b", 200))
    assert errors(_GROUPED, exact, [_run(("a", None), ("b", float("inf")))], "n") == [1.0]


def test_groups_that_are_nothing_are_not_judged() -> None:
    """There is no relative error to 0."""
    assert errors(_GROUPED, _run(("a", 0)), [_run(("a", 3))], "n") == []


def test_keys_are_equal_however_a_system_writes_them() -> None:
    """3, 3.0 and '3' are one key."""
    exact = _run((3, 100))
    assert errors(_GROUPED, exact, [_run(("3", 100)), _run((3.0, 100))], "n") == [0, 0]


def test_columns_that_follow_from_others_are_not_measured() -> None:
    """A rank is as good as the counts that it ranks."""
    assert columns_of(_RANKED, _run(columns=("k", "n", "r"))) == ["n"]


def test_counting_rows_instead_of_units_is_wrong() -> None:
    """Though in most groups both are the same."""
    exact = _run(("a", 3), ("b", 3), ("c", 283))
    assert wrongness(_GROUPED, exact, [_run(("a", 3), ("b", 3), ("c", 708))], "n") > 1
    assert wrongness(_GROUPED, exact, [_run(("a", 2.98), ("b", 3), ("c", 283.1))], "n") < 0.01


def test_an_answer_without_the_column_is_wrong() -> None:
    """Nothing was found that could be right."""
    assert wrongness(_GROUPED, _run(("a", 3)), [_run(("a",), columns=("k",))], "n") == 1


def test_half_the_error_is_beaten() -> None:
    """Enough runs, and by far more than a tenth."""
    ours = [0.1 + 0.001 * index for index in range(50)]
    compared = ratio([error / 2 for error in ours], ours)
    assert compared.beaten
    assert compared.middle == pytest.approx(0.5)


def test_few_runs_leave_it_open() -> None:
    """Three runs may all be lucky."""
    compared = ratio([0.01] * 3, [0.1] * 3)
    assert compared.doubtful
    assert not compared.beaten


def test_equal_errors_are_not_beaten() -> None:
    """Nor doubtful."""
    ours = [0.1 + 0.001 * index for index in range(50)]
    compared = ratio(ours, ours)
    assert not compared.beaten
    assert not compared.doubtful


def test_errors_that_tell_nothing_are_not_compared() -> None:
    """Who shows no group is 100 % off, and not better than one whose noise is larger than that."""
    assert not telling([1.0] * 50, [2.0] * 50)
    assert telling([0.9] * 50, [2.0] * 50)
