"""Groups' noise is independent: every function that draws for several groups at once draws for each by itself.

What is drawn for 16 groups with the same rows, 300 times over, varies between the draws as much as within them. Were noise
shared, by all groups, by two, or by one of two draws behind an answer, what one group shows would tell what another hides: a
difference of two noisy sums would be exact.

False alarms: the ratio of variances has a standard deviation of 0.08, and is let be 0.5 to 1.6, beyond six of these.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.policy.model import MechanismName, Policy
from dpsql.privacy import mechanisms
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms import extreme, partition_selection, quantile
from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.privacy.mechanisms.discrete_laplace import cube, discrete_laplace, geometric
from dpsql.privacy.mechanisms.entropy import Entropy, below_each, coins, signs, uniform_words
from dpsql.privacy.mechanisms.gaussian import discrete_gaussian
from dpsql.privacy.mechanisms.gaussian_selection import selection
from dpsql.privacy.mechanisms.k_norm import draw
from dpsql.privacy.mechanisms.known_mechanisms import Mechanism, mechanism
from dpsql.privacy.mechanisms.quantile import permute_and_flip
from dpsql.privacy.release import release
from dpsql.privacy.release.exact import ExactBuckets, ExactCells, ExactSums
from dpsql.privacy.release.release import release_buckets, release_cells, release_sums
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

GROUPS, DRAWS = 16, 300
Drawn = Sequence[object] | NDArray[np.generic]
Draw = Callable[[Entropy, int], Drawn]
"""Returns what is drawn for each of so many groups that have the same rows: a number, or several."""
EPSILON, MASS = Fraction(1), 1
ROWS = np.array([3, 5, 8, 9, 5, 4, 2, 1])
WIDE, LONE, CELLS = Block((0, 1, 2), Norm.LARGEST), Block((0,), Norm.LARGEST), Block((0, 1, 2), Norm.TOTAL)
_KEYS = selection(EPSILON, Fraction(1, 100), 2)
_CHANCES = partition_selection.chances(EPSILON, Fraction(1, 100), 1)


def _same(groups: int, times: int = 1) -> NDArray[np.int64]:
    return np.tile(ROWS * times, (groups, 1)).astype(np.int64)


def _with_width(entropy: Entropy, groups: int) -> Drawn:
    """Return the bucket, its width, and whether there were too few rows for one: that hangs on other noise."""
    bucket, width = quantile.quantile_and_width(entropy, _same(groups), Fraction(1, 2), Fraction(3, 2), MASS)
    return np.stack([bucket, width, width == len(ROWS) - 1], axis=1)


def _named(law: Mechanism) -> str:
    return f"{type(law).__module__.rpartition('.')[2]}.{type(law).__name__}.sample"


def _noise_of(law: Mechanism) -> Draw:
    return lambda e, n: np.concatenate([law.sample(e, 9, block, n) for block in (WIDE, LONE, CELLS)], axis=1)


DRAWN: Mapping[str, Draw] = {
    "entropy.coins": lambda e, n: coins(e, np.ones(n, dtype=np.uint64), Fraction(1)),
    "gaussian.discrete_gaussian": lambda e, n: discrete_gaussian(e, 9, n),
    "discrete_laplace.discrete_laplace": lambda e, n: discrete_laplace(e, 9, n),
    "discrete_laplace.geometric": lambda e, n: geometric(e, 9, n),
    "discrete_laplace.cube": lambda e, n: cube(e, 9, 3, n),
    "entropy.uniform_words": uniform_words,
    "entropy.signs": signs,
    "entropy.below_each": lambda e, n: below_each(e, np.full(n, 7, dtype=np.uint64)),
    "extreme.maximum": lambda e, n: extreme.maximum(e, _same(n), EPSILON, MASS),
    "extreme.minimum": lambda e, n: extreme.minimum(e, _same(n), EPSILON, MASS),
    "gaussian_selection.GaussianSelection.shown": lambda e, n: _KEYS.shown(e, [_KEYS.least] * n),
    "k_norm.draw": lambda e, n: draw(e, 9, WIDE, n),
    "partition_selection.select_keys": lambda e, n: partition_selection.select_keys(
        e, [partition_selection.units_for_even_chance(_CHANCES)] * n, _CHANCES
    ),
    "quantile.permute_and_flip": lambda e, n: permute_and_flip(e, _same(n), EPSILON, MASS),
    "quantile.quantile": lambda e, n: quantile.quantile(e, _same(n), Fraction(1, 2), EPSILON, MASS),
    "quantile.quantile_and_width": _with_width,
    **{_named(mechanism(name)): _noise_of(mechanism(name)) for name in MechanismName},
}
"""Every function of the mechanisms that draws for several groups."""
OF_ONE = frozenset({"entropy.coin", "entropy.below"})
"""Those that draw one number."""
DECLARED = frozenset({"known_mechanisms.Mechanism.sample"})
"""What is written of all mechanisms, and draws nothing."""


def ratios(draw: Draw, seed: int) -> NDArray[np.float64]:
    """Return of each number by how much more draws differ than groups do that are independent: 1 if these are."""
    entropy = np.random.default_rng(seed).bytes
    drawn = np.array([draw(entropy, GROUPS) for _ in range(DRAWS)], dtype=np.float64).reshape(DRAWS, GROUPS, -1)
    within = drawn.var(axis=(0, 1))
    assert (within > 0).all(), "nothing is drawn"
    by_place: NDArray[np.float64] = drawn.mean(axis=1).var(axis=0) * GROUPS / within
    return by_place


def independent(draw: Draw, seed: int = 1) -> bool:
    """Return whether no group's number says anything of another's."""
    by_place = ratios(draw, seed)
    return bool(((by_place > 0.5) & (by_place < 1.6)).all())


def _functions(module: ModuleType) -> dict[str, object]:
    """Return the functions and methods of a module that are given entropy, by their names."""
    prefix, functions = module.__name__.rpartition(".")[2], dict[str, object]()
    for name, member in vars(module).items():
        if getattr(member, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        named = (
            {f"{name}.{n}": method for n, method in vars(member).items()} if inspect.isclass(member) else {name: member}
        )
        for full, function in named.items():
            if inspect.isfunction(function) and "entropy" in inspect.signature(function).parameters:
                functions[f"{prefix}.{full}"] = function
    return functions


def test_every_mechanism_is_tried() -> None:
    """A new one has to be added here."""
    names = [f"{mechanisms.__name__}.{each.name}" for each in pkgutil.iter_modules(mechanisms.__path__)]
    drawing = {name for module in names for name in _functions(importlib.import_module(module))}
    assert drawing - OF_ONE - DECLARED == DRAWN.keys()


@pytest.mark.parametrize("name", DRAWN)
def test_groups_are_independent(name: str) -> None:
    """Each number that is drawn for a group."""
    assert independent(DRAWN[name])


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("shared", [2, GROUPS])
def test_shared_noise_would_be_noticed(name: str, shared: int) -> None:
    """By all groups, or by two neighbours each."""

    def mistaken(entropy: Entropy, groups: int) -> Drawn:
        return np.repeat(np.array(DRAWN[name](entropy, groups // shared), dtype=np.float64), shared, axis=0)

    assert not independent(mistaken)


ASKED = {
    "sums of a cube": ("SELECT shared, count(*), sum(fare), avg(tip) FROM rides GROUP BY shared", "owner"),
    "sums by themselves": ("SELECT shared, count(*), sum(fare), avg(tip) FROM rides GROUP BY shared", "auditor"),
    "one point": ("SELECT late, median(seats) FROM rides GROUP BY late", "owner"),
    "a point with its margin": (
        "SELECT late, dpsql.margin(median(seats)), median(seats) FROM rides GROUP BY late",
        "owner",
    ),
    "the largest value": ("SELECT late, max(seats) FROM rides GROUP BY late", "owner"),
    "the least value": ("SELECT late, min(seats) FROM rides GROUP BY late", "owner"),
    "points of one noisy histogram": (
        "SELECT late, percentile_disc(ARRAY[0.1, 0.3, 0.5, 0.7, 0.9]) WITHIN GROUP (ORDER BY seats) FROM rides GROUP BY late",
        "owner",
    ),
}
"""What is released of groups, each way at least once."""
CHOSEN, NORMAL = "rows per unit", "sums with Gaussian noise"
WAYS = (*ASKED, CHOSEN, NORMAL)


Part = Sums | Histogram | RowsPerUnit


def _released(part: Part) -> Draw:
    """Return how a part draws for groups."""

    def drawn(entropy: Entropy, groups: int) -> Drawn:
        if isinstance(part, RowsPerUnit):  # of which each cell is to be independent
            return [[cell] for cell in release_cells(part, ExactCells([0] * groups), entropy).numbers[0]]
        if isinstance(part, Sums):
            exact = [[0] * len(part.features)] * groups
            return release_sums(part, ExactSums(None, exact), entropy).numbers
        rows = np.tile(np.resize(ROWS * 20, part.number), (groups, 1)).astype(np.int64)
        chosen = release_buckets(part, ExactBuckets(rows), entropy).numbers
        # Where there are too few rows for a width, that is other noise's doing.
        return [(*row, row[-1] >= part.number - 1) for row in chosen] if part.margin else chosen

    return drawn


@pytest.fixture(scope="module")
def parts(policy: Policy, world: World) -> Mapping[str, Part]:
    """Give a measurement of each kind, with little ε."""
    made: dict[str, Part] = {}
    for name, (sql, role) in ASKED.items():
        (part,) = measurements(sql, policy, world, Memory(policy), role)
        assert isinstance(part, (Sums, Histogram))
        made[name] = _with_epsilon(part)
    (counted,) = measurements("SELECT count(*) FROM rides", policy, world, Memory(policy))
    assert isinstance(counted, Sums)
    cube = made["sums of a cube"]
    assert isinstance(cube, Sums)
    euclidean = replace(cube.bound, form=Form.EUCLIDEAN)
    made[NORMAL] = replace(cube, mechanism=MechanismName.GAUSSIAN, bound=euclidean)
    made[CHOSEN] = RowsPerUnit(counted, Fraction(counted.row_norm_of_units, 2))
    return made


def _with_epsilon(part: Sums | Histogram) -> Sums | Histogram:
    """Return a measurement with an ε at which noise decides."""
    if isinstance(part, Sums):
        return replace(part, epsilon=Fraction(2))
    scale = 4 if part.extremes else 14 if part.margin else 90
    return replace(part, epsilon=Fraction(part.bound.mass, scale))


@pytest.mark.parametrize("name", WAYS)
def test_what_is_released_of_groups_is_independent(name: str, parts: Mapping[str, Part]) -> None:
    """Each number of each kind of release."""
    assert independent(_released(parts[name]), seed=2)


def test_every_kind_of_release_is_tried(parts: Mapping[str, Part]) -> None:
    """All mechanisms of sums, and all ways of `release_buckets`."""
    assert {part.mechanism for part in parts.values() if isinstance(part, Sums)} == {*MechanismName}
    ways = {
        (p.extremes, p.noisy, p.margin, p.extremes and p.points[0] > 0)
        for p in parts.values()
        if isinstance(p, Histogram)
    }
    ways_there_are = {(True, False, False, True), (True, False, False, False), (False, True, False, False)}
    assert ways == ways_there_are | {(False, False, True, False), (False, False, False, False)}
    tried = {"release.release_sums", "release.release_buckets", "release.release_cells"}
    # The choice of keys is `GaussianSelection.shown`, and `release_of` asks whichever of these a measurement needs.
    assert _functions(release).keys() - tried == {"release.release_keys", "release.release_of"}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("shared", [2, GROUPS])
def test_shared_noise_of_a_release_would_be_noticed(
    name: str, shared: int, parts: Mapping[str, Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where whoever draws gives several groups the same."""

    def same(draw: Callable[..., Sequence[object]]) -> Callable[..., list[object]]:
        def drawn(entropy: Entropy, scale: Fraction, n: int) -> list[object]:
            each = n // (GROUPS // shared)
            few = list(draw(entropy, scale, n // shared))
            size = each // shared
            return [x for i in range(0, len(few), size) for x in few[i : i + size] * shared]

        return drawn

    part = parts[name]
    if isinstance(part, Histogram) and part.noisy:
        monkeypatch.setattr(release, "discrete_laplace", same(discrete_laplace))
        mistaken = _released(part)
    elif isinstance(part, Histogram) and part.margin:
        monkeypatch.setattr(quantile, "discrete_laplace", same(discrete_laplace))
        mistaken = _with_width
    else:
        mistaken = _repeated(_released(part), shared)
    assert not independent(mistaken, seed=3)


def _repeated(draw: Draw, shared: int) -> Draw:
    return lambda entropy, groups: np.repeat(
        np.array(draw(entropy, groups // shared), dtype=np.float64), shared, axis=0
    )
