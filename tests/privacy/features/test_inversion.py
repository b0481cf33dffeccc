"""Intervals by inversion."""

import pytest

from dpsql.privacy.features.known_statistics import inverted_width


def test_noise_that_is_the_same_everywhere_reaches_as_far() -> None:
    """The interval is the value and its noise to both sides."""
    assert inverted_width(0.2, lambda _: 0.1, (-1.0, 1.0)) == pytest.approx(0.1)


def test_noise_that_grows_with_the_value_reaches_farther_above() -> None:
    """Values up to x = 0.1 + x/2 could have become 0, and down to x = −0.1 − x/2: half of what lies between is the width."""
    assert inverted_width(0.0, lambda value: 0.1 + value / 2, (-1.0, 1.0)) == pytest.approx(
        (0.2 + 0.2 / 3) / 2, rel=0.03
    )


def test_a_side_that_is_cut_off_does_not_shorten_the_other() -> None:
    """Nothing is above 1: all the interval is below."""
    assert inverted_width(1.0, lambda _: 0.1, (-1.0, 1.0)) == pytest.approx(0.1)


def test_an_impossible_value_is_not_said_to_be_exact() -> None:
    """A variance released as −0.5 is shown as 0, which no noise of 0.1 explains; its margin is that of noise all the same."""
    assert inverted_width(-0.5, lambda _: 0.1, (0.0, 1.0)) == pytest.approx(0.1)
    assert inverted_width(1.5, lambda value: 0.1 * value, (0.0, 1.0)) == pytest.approx(0.1)


def test_an_impossible_root_is_not_said_to_be_exact() -> None:
    """A variance that noise could have anywhere, released as −100: the deviation shown as 0 may be half of the most."""
    assert inverted_width(-100, lambda _: 5.0, (0.0, 1.0), lambda v: v**0.5, 1 / 4) == pytest.approx(1 / 2)


def test_the_width_of_a_root_is_nearer_to_its_longer_side() -> None:
    """Of a standard deviation the sides differ by much; the mean of both would cover too little, the longer too much."""
    width = inverted_width(0.25, lambda _: 0.11, (0.0, 1.0), lambda v: v**0.5)
    shorter, longer = 0.36**0.5 - 0.5, 0.5 - 0.14**0.5
    assert (shorter + longer) / 2 < width < longer
