"""What statistics pay and err by: simulated noise beside the closed forms, and the gateway's own prices and answers."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from dpsql.epsilon.noise.outputs import (
    TARGETS,
    OutputKind,
    expected_error,
    is_answered,
    level_epsilon,
    median_epsilon,
    share_of,
)
from dpsql.epsilon.numbers import BadInput
from dpsql.policy.model import NoiseLevel
from tests.support.connected import connections

Floats = NDArray[np.float64]
DRAWS = 400_000
LAW = np.random.default_rng(7)  # a fixed source: no false alarms
MEANS = np.linspace(-1, 1, 9)

_CONFIG = """\
dataset: rides
engine: {kind: duckdb, database: rides.duckdb}
schemas: schemas
ledger: sqlite:///ledger.db
budget: {passenger: {epsilon: 1000}}
roles:
  levelled: {protects: passenger, budget: {epsilon: 400}, per_query: {noise: medium, epsilon: 100, least: 1e-6}}
users: {}
"""
_RIDES = """\
table: rides
expected_rows: 100_000
privacy_units: {passenger: {column: passenger, max_rows: 1}}
columns:
  passenger: {type: integer}
  fare: {type: double precision, bounds: [0, 100]}
  zone: {type: integer, values: [VALUES]}
"""
ZONES, EACH = 100, 1000


def cube(d: int) -> Floats:
    """Return noise of d statistics with density exp(−‖z‖∞): the largest coordinate is Gamma(d)."""
    noise = LAW.uniform(-1, 1, (DRAWS, d))
    noise[np.arange(DRAWS), LAW.integers(0, d, DRAWS)] = LAW.choice([-1, 1], DRAWS)
    return np.asarray(noise * LAW.gamma(d, 1, (DRAWS, 1)))


def cells() -> Floats:
    """Return the noise of three cells: each is Laplace."""
    return np.asarray(LAW.laplace(size=(DRAWS, 3)))


def factor(output: OutputKind, *beside: OutputKind) -> float:
    """Return the claimed error in units of b/n."""
    return expected_error(output, Fraction(1), contribution=1, rows=Fraction(1), beside=frozenset(beside))


def mean_of(noise: Floats) -> float:
    """Return the mean absolute value."""
    return float(np.abs(noise).mean())


def test_errors_of_a_count_and_a_sum_alone() -> None:
    """Laplace noise."""
    assert factor(OutputKind.COUNT) == factor(OutputKind.SUM) == pytest.approx(mean_of(cube(1)), rel=0.01)


def test_errors_in_a_cube_of_two() -> None:
    """A count 3/2; a mean at most 1 of the declared range (2 of half of it), attained where all values lie at one end."""
    count, value = cube(2).T
    assert factor(OutputKind.COUNT, OutputKind.AVG) == pytest.approx(mean_of(count), rel=0.01)
    deviations = [mean_of(value - mean * count) / 2 for mean in MEANS]
    assert max(deviations) == pytest.approx(factor(OutputKind.AVG), rel=0.01)
    assert deviations.index(max(deviations)) in (0, len(deviations) - 1)


def test_errors_in_three_cells() -> None:
    """Of count, mean and variance; the largest variance is 1 in units of half the range, whatever mean and variance are."""
    high, low, middle = cells().T
    assert factor(OutputKind.COUNT, OutputKind.VARIANCE) == pytest.approx(mean_of(high + low + middle), rel=0.01)
    means = [mean_of((1 - m) * high - (1 + m) * low - m * middle) / 2 for m in MEANS]
    assert max(means) == pytest.approx(factor(OutputKind.AVG, OutputKind.VARIANCE), rel=0.01)
    spreads = [
        mean_of(((1 - m) ** 2 - v) * high + ((1 + m) ** 2 - v) * low - (1 - m**2 + v) * middle)
        for m in MEANS
        for v in np.linspace(0, 1 - m**2, 4)
    ]
    assert max(spreads) == pytest.approx(factor(OutputKind.VARIANCE), rel=0.01)


def test_errors_of_sums_beside_others() -> None:
    """At most 3/2, and 15/8, of the larger bound, wherever the bounds lie."""
    count, value = cube(2).T
    high, low, middle = cells().T
    shares = np.linspace(0, 1, 5)
    two = max(mean_of((1 - s) * value + s * count) for s in shares)
    three = max(mean_of((1 - s) * (high - low) + s * (high + low + middle)) for s in shares)
    assert two == pytest.approx(factor(OutputKind.SUM, OutputKind.COUNT), rel=0.01)
    assert three == pytest.approx(factor(OutputKind.SUM, OutputKind.VARIANCE), rel=0.01)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give 100 zones with 1,000 rides each: fares at 0 in the first 50, spread evenly in the others."""
    path = tmp_path_factory.mktemp("outputs")
    path.chmod(0o711)
    (path / "schemas").mkdir()
    (path / "config.yaml").write_text(_CONFIG, encoding="utf-8")
    values = ", ".join(map(str, range(ZONES)))
    (path / "schemas" / "rides.yaml").write_text(_RIDES.replace("VALUES", values), encoding="utf-8")
    with duckdb.connect(str(path / "rides.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE rides AS SELECT i::INTEGER AS passenger, (i % 100)::INTEGER AS zone, "
            "CASE WHEN i % 100 < 50 THEN 0 ELSE (i // 100) / 10 END::DOUBLE AS fare FROM range(100000) r(i)"
        )
    return path


@pytest.fixture(scope="module")
def levelled(home: Path) -> "Iterator[psycopg.Connection[tuple[object, ...]]]":
    """Give a connection of a role with a noise level."""
    with connections(home / "config.yaml") as connect:
        yield connect("levelled")


SELECT = {
    OutputKind.COUNT: "count(*)",
    OutputKind.SUM: "sum(fare)",
    OutputKind.AVG: "avg(fare)",
    OutputKind.VARIANCE: "variance(fare)",
    OutputKind.MEDIAN: "median(fare)",
}


@pytest.mark.parametrize(
    "outputs",
    [
        *((output,) for output in OutputKind),
        (OutputKind.COUNT, OutputKind.AVG),
        (OutputKind.COUNT, OutputKind.SUM),
        (OutputKind.COUNT, OutputKind.AVG, OutputKind.VARIANCE),
        (OutputKind.COUNT, OutputKind.MEDIAN),
        (OutputKind.AVG, OutputKind.MEDIAN),
    ],
    ids="-".join,
)
def test_prices_are_the_gateways(
    levelled: "psycopg.Connection[tuple[object, ...]]", outputs: tuple[OutputKind, ...]
) -> None:
    """EXPLAIN says the ε that the advice says, to the six digits that the gateway rounds up to."""
    levelled.execute(b"RESET dpsql.epsilon")
    query = f"EXPLAIN SELECT {', '.join(SELECT[output] for output in outputs)} FROM rides WHERE zone >= 0"
    (line,) = levelled.execute(query.encode()).fetchone() or ("",)
    paid = Fraction(str(line).split("ε = ")[1].split(",")[0])
    said = level_epsilon(NoiseLevel.MEDIUM, outputs, contribution=1, rows=Fraction(100_000), cap=None)
    assert 0 <= paid - said <= Fraction(3, 10**6)


def answers(
    connection: "psycopg.Connection[tuple[object, ...]]", output: OutputKind, epsilon: Fraction
) -> list[object]:
    """Return a statistic of every zone in order, paid with so much."""
    connection.execute(f"SET dpsql.epsilon = '{float(epsilon):.6f}'".encode())
    query = f"SELECT zone, {SELECT[output]} FROM rides GROUP BY zone ORDER BY zone"
    return [value for _, value in connection.execute(query.encode()).fetchall()]


@pytest.mark.parametrize("output", [OutputKind.COUNT, OutputKind.AVG])
def test_answers_err_by_what_is_said(levelled: "psycopg.Connection[tuple[object, ...]]", output: OutputKind) -> None:
    """50 zones at the bounds' end, 50 in their middle, within a factor of about two: one run of a million is outside."""
    numbers = np.array([float(str(value)) for value in answers(levelled, output, Fraction(1, 2))])
    claim = expected_error(output, Fraction(1, 2), contribution=1, rows=Fraction(EACH))
    truth, unit = (np.full(ZONES, EACH), EACH) if output is OutputKind.COUNT else (np.repeat([0, 49.95], 50), 100)
    first, rest = (float(np.abs(part).mean()) / unit for part in np.split(numbers - truth, 2))
    assert first < 1.9 * claim
    if output is OutputKind.COUNT:
        assert 0.45 * claim < first
        assert 0.45 * claim < rest < 1.9 * claim
    else:
        assert 0.3 * claim < rest < 1.4 * claim


def test_a_median_needs_enough_rows(levelled: "psycopg.Connection[tuple[object, ...]]") -> None:
    """At a tenth of `median_epsilon` most groups are NULL, at twice as much few."""
    enough = median_epsilon(contribution=1, rows=Fraction(EACH))
    less, more = (answers(levelled, OutputKind.MEDIAN, epsilon).count(None) for epsilon in (enough / 10, enough * 2))
    assert less > 0.7 * ZONES
    assert more < 0.2 * ZONES


def test_medians_lie_within_the_rank_that_is_said(levelled: "psycopg.Connection[tuple[object, ...]]") -> None:
    """In at least 95 % of the zones with spread fares; in fact much nearer."""
    epsilon = Fraction(1, 4)
    claim = expected_error(OutputKind.MEDIAN, epsilon, contribution=1, rows=Fraction(EACH))
    values = [value for value in answers(levelled, OutputKind.MEDIAN, epsilon)[50:] if value is not None]
    assert len(values) > 40
    assert sum(abs(float(str(value)) / 100 - 0.5) <= claim for value in values) >= 0.95 * len(values)


def test_levels_are_met_or_bettered() -> None:
    """At a level's ε no statistic but the median's bound is further off than the level says."""
    for level in NoiseLevel:
        for output in set(OutputKind) - {OutputKind.MEDIAN}:
            epsilon = level_epsilon(level, [output], contribution=7, rows=Fraction(300), cap=None)
            error = expected_error(output, epsilon, contribution=7, rows=Fraction(300))
            assert error <= float(TARGETS[level]) * (1 + 1e-9)


def test_every_error_says_of_what_it_is_a_share() -> None:
    """No percentage stands alone."""
    assert len({share_of(output) for output in OutputKind}) == len(OutputKind)


def test_a_median_with_a_wide_bound_is_no_answer() -> None:
    """Half the ranks either way is everything."""
    assert is_answered(OutputKind.COUNT, 0.9)
    assert not is_answered(OutputKind.MEDIAN, 0.6)
    with pytest.raises(BadInput, match="positive"):
        expected_error(OutputKind.COUNT, Fraction(0), contribution=1, rows=Fraction(1))
