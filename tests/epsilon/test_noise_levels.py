"""Noise levels: targets, ε in closed form and by bisection on synthetic rows."""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.epsilon.noise.outputs import (
    TARGETS,
    OutputKind,
    SyntheticRows,
    level_epsilon,
    level_epsilon_of_query,
    rows_per_group,
    search_epsilon,
    synthetic_rows,
)
from dpsql.epsilon.numbers import BadInput
from dpsql.policy.model import NoiseLevel

AMPLE = Fraction(1000)
REGISTRY = Fraction(920)


@pytest.mark.parametrize(("level", "target"), [("low", 0.025), ("medium", 0.075), ("high", 0.15)])
def test_targets_are_the_middles_of_the_three_levels(level: str, target: float) -> None:
    """0–5, 5–10 and 10–20 %."""
    assert float(TARGETS[NoiseLevel(level)]) == target


@pytest.mark.parametrize(("level", "epsilon"), [("low", ".0435"), ("medium", ".0145"), ("high", ".0072")])
@pytest.mark.parametrize("output", [OutputKind.COUNT, OutputKind.SUM])
def test_levels_of_the_registry(level: str, epsilon: str, output: OutputKind) -> None:
    """With 920 rows and one row a person: .0435 / .0145 / .0072."""
    reached = level_epsilon(NoiseLevel(level), [output], contribution=1, rows=REGISTRY, cap=AMPLE)
    assert float(reached) == pytest.approx(float(epsilon), abs=5e-5)


def test_a_statement_takes_what_its_most_demanding_output_needs() -> None:
    """A variance four times √(10/3), whatever stands beside it."""
    count = level_epsilon(NoiseLevel.LOW, [OutputKind.COUNT], contribution=3, rows=Fraction(500), cap=AMPLE)
    both = level_epsilon(
        NoiseLevel.LOW, [OutputKind.COUNT, OutputKind.VARIANCE], contribution=3, rows=Fraction(500), cap=AMPLE
    )
    assert count == Fraction(3, 1) / (Fraction(1, 40) * 500)
    assert float(both / count) == pytest.approx(4 * (10 / 3) ** 0.5)


def test_level_is_never_more_than_the_cap() -> None:
    """Small groups would need more than the role may pay for one statement."""
    assert level_epsilon(
        NoiseLevel.LOW, [OutputKind.AVG], contribution=1, rows=Fraction(2), cap=Fraction(1, 5)
    ) == Fraction(1, 5)


def test_rows_are_shared_among_public_groups() -> None:
    """920 rows in 5 groups are 184 a group."""
    assert rows_per_group(920, 5) == 184
    with pytest.raises(BadInput, match="at least 1"):
        rows_per_group(0, 5)


def test_bisection_finds_the_closed_form() -> None:
    """The error of a count is 1/(920·ε): the search agrees with .0435 and stays on its safe side."""
    reached = search_epsilon(lambda epsilon: float(1 / (920 * epsilon)), Fraction(1, 40), AMPLE)
    exact = Fraction(40, 920)
    assert exact * Fraction(99_999, 100_000) < reached <= exact


@pytest.mark.parametrize(("error", "expected"), [(1.0, Fraction(2)), (0.0, Fraction(1, 10**9))])
def test_bisection_ends_whatever_the_error_is(error: float, expected: Fraction) -> None:
    """An error that no ε changes leads to one of the two ends."""
    assert search_epsilon(lambda _: error, Fraction(1, 40), Fraction(2)) == expected


def test_bisection_needs_a_positive_cap() -> None:
    """Nothing can be searched up to zero."""
    with pytest.raises(BadInput, match="positive"):
        search_epsilon(lambda _: 0.0, Fraction(1, 40), Fraction(0))


def test_synthetic_rows_fill_the_declared_ranges_evenly() -> None:
    """Means and halves of every column are those of the uniform distribution; nothing is random."""
    declared = {"age": (Fraction(0), Fraction(120)), "bmi": (Fraction(10), Fraction(60)), "sex": ("f", "m")}
    rows = synthetic_rows(declared, 1000)
    again = synthetic_rows(declared, 1000)
    for name, middle in (("age", 60.0), ("bmi", 35.0)):
        column = np.asarray(rows[name], dtype=float)
        assert column.mean() == pytest.approx(middle, rel=0.01)
        assert column.tolist() == np.asarray(again[name]).tolist()
    assert abs(list(rows["sex"]).count("f") - 500) <= 10
    ages, sexes = np.asarray(rows["age"], dtype=float), np.array(rows["sex"])
    assert ages[sexes == "f"].mean() == pytest.approx(60, rel=0.05)


def test_level_of_an_arbitrary_query_by_synthetic_rows() -> None:
    """For a filtered mean, whose group is known only on the rows: 600 of 1,200 remain, so ε = 1/(0.15·600)."""

    def error(rows: SyntheticRows, epsilon: Fraction) -> float:
        kept = np.asarray(rows["age"], dtype=float) < 60
        return float(1 / epsilon) / int(kept.sum())

    reached = level_epsilon_of_query(
        error, {"age": (Fraction(0), Fraction(120))}, level=NoiseLevel.HIGH, expected_rows=1200, cap=AMPLE
    )
    assert float(reached) == pytest.approx(1 / 90, rel=0.01)


def test_a_domain_must_have_values() -> None:
    """An empty list of values has no rows."""
    with pytest.raises(BadInput, match="without values"):
        synthetic_rows({"sex": ()}, 3)
