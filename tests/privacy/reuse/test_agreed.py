"""TreeEstimates of several releases: right on average, nearly as exact as can be, consistent, and within their margins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.gateway.reuse.agreeing import Agreeing
from dpsql.gateway.reuse.told_releases import Told
from dpsql.policy.model import Policy
from dpsql.privacy.features.feature import ONE, Feature
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.release.draws import Draws
from dpsql.privacy.release.exact import ExactSums
from dpsql.privacy.release.release import Release, release_sums
from dpsql.privacy.reuse.agreed import Agreed, TreeEstimates
from dpsql.privacy.reuse.lens import Lens, lens
from dpsql.rewrite.translate.rows.aggregates import Moment
from tests.support.exactness import plans
from tests.support.fix_world import World
from tests.support.memory import Memory

COUNT = "SELECT count(*) FROM rides"
DAY, WEEK, MONTH = (
    f"SELECT date_trunc('{unit}', day), count(*) FROM rides GROUP BY 1" for unit in ("day", "week", "month")
)
BY_ZONE = "SELECT from_zone, count(*) FROM rides GROUP BY 1"
BY_BOROUGH = "SELECT from_zone > 2, count(*) FROM rides GROUP BY 1"
BY_SEATS = "SELECT seats, count(*) FROM rides GROUP BY 1"
BY_BOTH = "SELECT seats, from_zone, count(*) FROM rides GROUP BY 1, 2"
TREES: Mapping[str, Sequence[tuple[str, str]]] = {
    "a total and its parts": [(COUNT, "1"), (BY_SEATS, "1")],
    "parts of different levels": [(COUNT, "0.3"), (WEEK, "1"), (DAY, "1")],
    "several of one level": [(COUNT, "1"), (COUNT, "0.5"), (BY_BOROUGH, "0.7"), (BY_ZONE, "1"), (BY_ZONE, "2")],
}


@dataclass(frozen=True, slots=True)
class Tree:
    """Releases whose groups are parts of each other's."""

    told: Sequence[Told]
    declared: Memory
    world: World

    def estimates(self, place: int, releases: Sequence[Release]) -> TreeEstimates:
        """Return what the releases say of the groups of one of them."""
        agreement = Agreeing(self.told, self.through).agreement(str(place), self.sums(place), (ONE,))
        assert agreement is not None
        pairs = zip(self.told, releases, strict=True)
        return agreement.estimates({source.key: Draws.of((source.measurement, release)) for source, release in pairs})

    def through(self, _: str, wanted: Sums | Histogram, needed: Sequence[Feature], told: Told) -> Lens | None:
        """Return how one is read off another."""
        return lens(wanted, needed, told.measurement, self.world.public.declared)

    def sums(self, place: int) -> Sums:
        """Return what one of them measured."""
        measured = self.told[place].measurement
        assert isinstance(measured, Sums)
        return measured


@pytest.fixture(params=TREES)
def tree(request: pytest.FixtureRequest, policy: Policy, world: World) -> Tree:
    """Give what was told of one of the trees: each unit has one row."""
    return _tree(TREES[request.param], policy, world)


def _tree(asked: Sequence[tuple[str, str]], policy: Policy, world: World) -> Tree:
    engine, told = Memory(policy, unique=("rider",)), []
    for place, (sql, epsilon) in enumerate(asked):
        (plan,) = plans(sql, policy, world, engine)
        (sums,) = plan.parts
        assert isinstance(sums, Sums)
        part = PricedMeasurement(replace(sums, epsilon=Fraction(epsilon)), "", str(place))
        told.append(Told(str(place), sql, part, Fraction(epsilon)))
    return Tree(told, engine, world)


def _counts(tree: Tree, releases: Sequence[Release], place: int) -> NDArray[np.float64]:
    return np.array([sums[ONE] for sums in tree.estimates(place, releases).estimates])


def _zeros(tree: Tree) -> list[list[list[int]]]:
    return [[[0] for _ in tree.sums(place).groups.grouped] for place in range(len(tree.told))]


def _map(tree: Tree, place: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how the estimates of one release's groups are made of all released numbers, and the variances of these."""
    columns, variances = [], []
    for i in range(len(tree.told)):
        sums = tree.sums(i)
        law, (block,) = mechanism(sums.mechanism), sums.blocks
        variance = float(law.variance(block, sums.blocks)) * float(sums.scale) ** 2 / sums.steps_per_row**2
        for group in range(len(sums.groups.grouped)):
            numbers = _zeros(tree)
            numbers[i][group][0] = sums.steps_per_row
            columns.append(_counts(tree, [Release(number) for number in numbers], place))
            variances.append(variance)
    return np.array(columns).T, np.array(variances)


def _incidence(tree: Tree) -> NDArray[np.float64]:
    """Return which of the finest groups each released number counts: one row a number."""
    finest = max(range(len(tree.told)), key=lambda place: len(tree.sums(place).groups.grouped))
    rows = []
    for place in range(len(tree.told)):
        made = lens(tree.sums(place), (ONE,), tree.sums(finest), tree.world.public.declared)
        assert made is not None
        for line in made.lines[0]:
            row = np.zeros(len(tree.sums(finest).groups.grouped))
            row[list(line)] = 1
            rows.append(row)
    return np.array(rows)


def test_estimates_are_right_on_average_and_nearly_the_best(tree: Tree) -> None:
    """As linear maps of what was released: exact counts stay as they are, and variances are those of least squares to 2 %."""
    incidence = _incidence(tree)
    for place in range(len(tree.told)):
        linear, variances = _map(tree, place)
        first = sum(len(tree.sums(i).groups.grouped) for i in range(place))
        own = incidence[first : first + len(tree.sums(place).groups.grouped)]
        assert np.allclose(linear @ incidence, own)
        best = own @ np.linalg.inv(incidence.T @ np.diag(1 / variances) @ incidence) @ own.T
        covariance = linear @ np.diag(variances) @ linear.T
        assert np.all(np.diag(covariance) <= np.diag(best) * 1.02 + 1e-9), (place, np.diag(covariance) / np.diag(best))
        alone = variances[first]
        assert np.all(np.diag(covariance) <= alone * (1 + 1e-9))


def test_parts_add_up_to_their_totals(tree: Tree) -> None:
    """To the digit, whatever was released."""
    random = np.random.default_rng(5)
    releases = [Release((random.normal(1000, 50, (len(zeros), 1))).astype(int).tolist()) for zeros in _zeros(tree)]
    (total,) = _counts(tree, releases, 0)
    for place in range(1, len(tree.told)):
        assert _counts(tree, releases, place).sum() == pytest.approx(total, rel=1e-12)


def test_what_is_divided_in_two_ways_is_one_whole(policy: Policy, world: World) -> None:
    """Groups by one key and by another add up to the same, though nobody has asked for it; a third release says no more."""
    tree = _tree([(BY_SEATS, "1"), (BY_ZONE, "0.5"), (BY_BOROUGH, "1")], policy, world)
    random = np.random.default_rng(3)
    releases = [Release((random.normal(1000, 50, (len(zeros), 1))).astype(int).tolist()) for zeros in _zeros(tree)]
    wholes = [_counts(tree, releases, place).sum() for place in range(3)]
    assert wholes == pytest.approx([wholes[0]] * 3, rel=1e-12)


@pytest.mark.parametrize("answers", [150, pytest.param(2_000, marks=pytest.mark.slow)])
def test_margins_cover(tree: Tree, answers: int) -> None:
    """In 95 of 100 answers, as all margins do."""
    bytes_, covered = np.random.default_rng(11).bytes, [list[bool]() for _ in tree.told]
    exact = [ExactSums(None, zeros) for zeros in _zeros(tree)]
    readout = Readout(Moment("count", ()), ONE)
    for _ in range(answers):
        releases = [release_sums(tree.sums(i), exact_sums, bytes_) for i, exact_sums in enumerate(exact)]
        for place in range(len(tree.told)):
            agreed = Agreed.of_estimates(tree.estimates(place, releases))
            read, margins = agreed.reader(), agreed.margins_by_place(missing=False)
            for group in range(min(agreed.groups, 1 if answers > 1000 else 3)):
                of_group = margins(group)
                assert of_group is not None
                width = of_group.half_width(readout, read(group))
                assert width is not None
                covered[place].append(abs(read(group)[ONE]) <= width)
    slack = 0.0 if answers > 1000 else 0.03
    for hits in covered:
        assert 0.935 - slack <= np.mean(hits) <= 0.965 + slack, [float(np.mean(each)) for each in covered]
