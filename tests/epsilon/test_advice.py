"""Advice: budgets that keep the wish, and errors that follow from them."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.epsilon.advice import Wish, advise
from dpsql.epsilon.refusal import BadInput

WISH = Wish(
    people=10_000,
    max_posterior=Fraction("0.33"),
    membership=Fraction("0.75"),
    queries_per_day=50,
    days=30,
    rows=10_000,
    max_rows=1,
    groups=10,
)


def test_total_is_divided_among_the_questions() -> None:
    """1,500 questions share 1.0986, rounded down, and together never cost more."""
    advice = advise(WISH)
    assert (advice.total, advice.per_query) == (Fraction("1.0986"), Fraction("0.000732"))
    assert advice.per_query * 1500 <= advice.total


def test_beliefs_stay_within_the_wish() -> None:
    """After the whole period, both probabilities are within what was asked for."""
    name, belief = advise(WISH).beliefs[-1]
    assert name == "the period"
    assert belief.membership <= 0.75
    assert belief.singled_out <= 0.33


def test_errors_follow_from_the_query_epsilon() -> None:
    """A count's expected error is C/ε people."""
    example = advise(replace(WISH, max_rows=3)).examples[0]
    assert example.scale == pytest.approx(3 / 0.000732)
    assert example.relative == pytest.approx(3 / 0.000732 / 10_000)


def test_levels_say_how_many_questions_the_total_pays_for() -> None:
    """More noise a question, more questions."""
    affordable = advise(WISH).affordable
    assert [entry.questions for entry in affordable] == [27, 82, 164]
    assert all(entry.epsilon * entry.questions <= advise(WISH).total for entry in affordable)


def test_numbers_of_a_wish_are_positive() -> None:
    """The message names the number."""
    with pytest.raises(BadInput, match="queries per day"):
        replace(WISH, queries_per_day=0)
    with pytest.raises(BadInput, match="max rows"):
        replace(WISH, max_rows=0)
