"""`dpsql.noise`: what it says of values, how far off that is, and what it refuses."""

from collections import Counter
from fractions import Fraction
from statistics import fmean, pvariance

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpsql
from dpsql import noising
from dpsql.epsilon.numbers import BadInput
from dpsql.noising import PARTS, NoisyValue

AGES = [31.0, 44.5, 60.0, 62.0, 67.0, 71.5, 80.0, 58.0] * 50
BOUNDS = (0, 100)
TRUTH = {"count": len(AGES), "sum": sum(AGES), "mean": fmean(AGES), "variance": pvariance(AGES), "median": 61.0}


@pytest.mark.parametrize("statistic", TRUTH)
def test_a_large_epsilon_is_near_the_truth(statistic: str) -> None:
    """At ε = 50 noise is far below a thousandth."""
    noised = dpsql.noise(AGES, BOUNDS, 50, statistic)
    near = 1.1 if statistic == "median" else 0.005 * TRUTH[statistic]
    assert isinstance(noised.value, int | float)
    assert abs(noised.value - TRUTH[statistic]) <= near


@pytest.mark.parametrize("statistic", ["count", "sum", "mean", "variance"])
def test_margins_hold_95_of_100(statistic: str) -> None:
    """Of 400 answers 350 at least, where 380 are expected: fewer have odds below 1e-8; and half of the margin holds fewer."""
    inside, half = 0, 0
    for _ in range(400):
        noised = dpsql.noise(AGES, BOUNDS, 0.5, statistic)
        assert isinstance(noised.value, int | float)
        assert noised.margin is not None
        off = abs(noised.value - TRUTH[statistic])
        inside, half = inside + (off <= noised.margin), half + (off <= noised.margin / 2)
    assert inside >= 350
    assert half < 350


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series, iter])
def test_values_come_from_anywhere(kind: object) -> None:
    """Lists, arrays, columns of pandas and polars, and whatever can be read once; what is missing counts nowhere."""
    assert callable(kind)
    assert dpsql.noise(kind([1.0, 2.0, float("nan"), 4.0]), (0, 5), 1e6, "count").value == 3
    assert dpsql.noise([1, None, "x", Fraction(2)], (0, 5), 1e6, "count").value == 2


def test_the_four_outputs_come_together() -> None:
    """As PyDPLib returns them: data, ε, sensitivity, and how noisy that is."""
    value, epsilon, sensitivity, error = dpsql.noise(AGES, BOUNDS, "0.5", "count")
    assert isinstance(value, int)
    assert (epsilon, sensitivity) == (Fraction(1, 2), 1)
    assert error == pytest.approx(2 / value, rel=0.1)


@pytest.mark.parametrize(
    ("level", "epsilon"),
    [("low", "1/23"), ("medium", "1/69"), ("high", "1/138"), ("owner", "1/23"), ("third_party", "1/138"), (1, "1/69")],
)
def test_levels_and_users_decide_epsilon(level: str | int, epsilon: str) -> None:
    """920 reports: ε = 1 / (target · 920), by public numbers alone."""
    noised = dpsql.noise([1] * 10, (0, 1), statistic="count", level=level, expected_rows=920)
    assert noised.epsilon == Fraction(epsilon)


def test_histograms_have_all_declared_categories() -> None:
    """Also the empty ones; what is not declared counts nowhere, and equal buckets are named by where they begin."""
    kinds = ["y", "n", "y", "chr", "secret"]
    assert dpsql.noise(kinds, ["y", "n", "chr", "acute"], 1e6, "histogram").value == {
        "y": 2,
        "n": 1,
        "chr": 1,
        "acute": 0,
    }
    assert dpsql.noise([True, False, True], [False, True], 1e6, "histogram").value == {False: 1, True: 2}
    assert dpsql.noise([0, 9, 10, 99], (0, 10), 1e6, "histogram", buckets=2).value == {0.0: 1, 5.0: 3}


def test_a_median_of_few_values_is_none() -> None:
    """And not any bucket, but once in thirty times."""
    assert any(dpsql.noise([50], BOUNDS, 0.001, "median").value is None for _ in range(6))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], Fraction]]:
    """Give what noise is put on, and its scale."""
    seen: list[tuple[list[int], Fraction]] = []

    def spied(question: noising._Question, exact: list[int], unit: int) -> list[int]:
        seen.append((list(exact), question.rows * unit / question.epsilon))
        return list(exact)

    monkeypatch.setattr(noising._Question, "cells", spied)
    return seen


@pytest.mark.parametrize("statistic", ["count", "sum", "mean", "variance", "histogram"])
@pytest.mark.parametrize("value", [-1e9, 0, 3.7, 50, 99.99, 1e9, None, "x", float("nan"), float("inf")])
def test_one_value_moves_the_cells_by_no_more_than_the_noise_hides(
    measured: list[tuple[list[int], Fraction]], statistic: str, value: object
) -> None:
    """Whatever value it is: all cells together by scale · ε at most, and of cells that share a value by exactly that."""
    for values in ([3, 60.5], [3, 60.5, value]):
        dpsql.noise(values, BOUNDS, Fraction(1, 3), statistic, buckets=10 if statistic == "histogram" else None)
    (without, scale), (with_it, _) = measured
    moved = sum(abs(a - b) for a, b in zip(without, with_it, strict=True))
    assert moved <= scale / 3
    assert statistic == "sum" or moved in (0, scale / 3)


def test_the_noise_is_that_of_its_scale() -> None:
    """P(0) = tanh(ε/2): of 4,000 counts at ε = 1, 1,848 ± 200 are exact, which fails with odds below 1e-9."""
    counts = Counter(dpsql.noise([1] * 100, (0, 1), 1, "count").value for _ in range(4_000))
    assert abs(counts[100] - 1_848) < 200
    assert abs(counts[101] - counts[99]) < 250


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"statistic": "mode"}, 'no statistic "mode"'),
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"epsilon": "much"}, "above 0"),
        ({"epsilon": float("nan")}, "above 0"),
        ({"epsilon": None}, "give epsilon, or a level"),
        ({"level": "low"}, "not both"),
        ({"epsilon": None, "level": "low"}, "a level needs expected_rows, a public number"),
        ({"epsilon": None, "level": "huge", "expected_rows": 5}, 'no level "huge"'),
        ({"epsilon": None, "level": 3, "expected_rows": 5}, 'no level "3"'),
        ({"bounds": (1, 1)}, "two numbers"),
        ({"bounds": (0, float("inf"))}, "two numbers"),
        ({"max_rows": 0}, "at least 1"),
        ({"statistic": "histogram", "bounds": ["a", "a"]}, "each once"),
        ({"statistic": "histogram", "buckets": 0}, "at least 1 bucket"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], message: str) -> None:
    """With what would."""
    with pytest.raises(BadInput, match=message):
        dpsql.noise(**{"values": [1, 2], "bounds": (0, 5), "epsilon": 1, **given})  # type: ignore[arg-type]  # on purpose


def test_more_rows_of_one_person_are_more_noise() -> None:
    """C times as much, in every statistic's own unit."""
    assert dpsql.noise(AGES, BOUNDS, 1, "sum", max_rows=5).sensitivity == 500
    margins = [dpsql.noise(AGES, BOUNDS, 1, "count", max_rows=rows).margin for rows in (1, 5)]
    assert margins[0] is not None
    assert margins[1] == pytest.approx(5 * margins[0])


def test_notebooks_show_a_table() -> None:
    """With the margin; names are text and not markup."""
    shown = NoisyValue({"<b>": 3}, Fraction(1), 1, None, 2.5, "histogram")._repr_html_()
    assert "<th>&lt;b&gt;</th><td>3 ± 2.5</td>" in shown
    assert "NULL" in NoisyValue(None, Fraction(1), 1, None, None, "median")._repr_html_()


def test_the_grid_is_fine() -> None:
    """A millionth of the range: rounding is far below any noise that hides a person among as many."""
    assert PARTS >= 10**6
