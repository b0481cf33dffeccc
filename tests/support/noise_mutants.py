"""Mistakes in what is drawn and in what it costs, each as a patch: noise, thresholds, shares of ε and δ."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpsql.gateway import measuring
from dpsql.policy.model import Privacy
from dpsql.privacy.measurement import pricing
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.mechanisms import (
    discrete_laplace,
    entropy,
    gaussian_selection,
    k_norm,
    partition_selection,
    quantile,
    threshold,
)
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.gaussian_selection import GaussianSelection
from dpsql.privacy.mechanisms.k_norm import IndependentLaplace, KNorm
from dpsql.privacy.release import release


def threshold_by_one(patch: pytest.MonkeyPatch) -> None:
    """Show a group one row too early."""
    right = threshold._least_excess
    patch.setattr(threshold, "_least_excess", lambda *args: right(*args) - 1)


def selection_by_one(patch: pytest.MonkeyPatch) -> None:
    """Show a key one step too early."""
    right = GaussianSelection.shown
    patch.setattr(GaussianSelection, "shown", lambda s, e, sums: right(s, e, [n + 1 for n in sums]))


def least_sigma_of_all_delta(patch: pytest.MonkeyPatch) -> None:
    """Let the noise of a search have all of δ, and the threshold half of it once more."""
    right = gaussian_selection.least_sigma
    patch.setattr(gaussian_selection, "least_sigma", lambda e, d, s: right(e, min(2 * d, Fraction(1, 2)), s))


def delta_for_each_key(patch: pytest.MonkeyPatch) -> None:
    """Let each of a unit's keys have all of δ."""
    for module in (threshold, gaussian_selection, partition_selection):
        patch.setattr(module, "per_key", lambda delta, _: delta)


def keys_by_their_units(patch: pytest.MonkeyPatch) -> None:
    """Show each key that somebody has."""
    patch.setattr(partition_selection, "select_keys", lambda _, units, __: [n > 0 for n in units])


def no_noise_on_keys(patch: pytest.MonkeyPatch) -> None:
    """Compare the threshold with what units have added, without noise."""
    patch.setattr(gaussian_selection, "discrete_gaussian", lambda _, __, n: [0] * n)


def shared_noise(patch: pytest.MonkeyPatch) -> None:
    """Give all groups the same noise."""
    for law in (KNorm, IndependentLaplace):
        patch.setattr(law, "sample", _same(law.sample))


def _same(right: Any) -> Any:
    def sample(self: object, source: Entropy, t: int, block: object, groups: int) -> Sequence[Sequence[int]]:
        return [right(self, source, t, block, 1)[0]] * groups if groups else []

    return sample


def noise_of_a_seed(patch: pytest.MonkeyPatch) -> None:
    """Draw the same noise in every run."""
    right, seeded = release.release_of, random.Random(1)  # noqa: S311  (that is the mistake)
    patch.setattr(measuring, "release_of", lambda part, rows, finder, _: right(part, rows, finder, seeded.randbytes))


def noise_once_more(patch: pytest.MonkeyPatch) -> None:
    """Begin each release with the same bytes."""
    right = release.release_of

    def release_of(part: Any, rows: Any, finder: Any, _: Entropy) -> Any:
        return right(part, rows, finder, random.Random(2).randbytes)  # noqa: S311  (that is the mistake)

    patch.setattr(measuring, "release_of", release_of)


def half_scale(patch: pytest.MonkeyPatch) -> None:
    """Make the noise half as wide as it has to be."""
    for law in (KNorm, IndependentLaplace):
        patch.setattr(law, "scale", _halved(law.scale))


def _halved(right: Any) -> Any:
    return lambda *args: max(right(*args) // 2, 1)


def one_part_of_epsilon(patch: pytest.MonkeyPatch) -> None:
    """Take independent noise for as good as that of a cube."""
    patch.setattr(k_norm, "epsilon_parts", lambda _: 1)


def cubes_of_single_draws(patch: pytest.MonkeyPatch) -> None:
    """Draw each coordinate by itself, with the scale of a cube."""
    patch.setattr(KNorm, "sample", lambda _, source, t, block, groups: k_norm.draw(source, t, block, groups))


def noise_of_one_sign(patch: pytest.MonkeyPatch) -> None:
    """Add what is never negative."""
    right = entropy.signs
    patch.setattr(discrete_laplace, "signs", lambda source, n: right(source, n) & False)


def coins_that_lean(patch: pytest.MonkeyPatch) -> None:
    """Let coins fall on tails a tenth too often."""
    single, many = entropy.coin, entropy.coins
    patch.setattr(discrete_laplace, "coin", lambda source, over, under: single(source, 11 * over, 10 * under))
    patch.setattr(discrete_laplace, "coins", lambda source, counts, rate: many(source, counts, rate * Fraction(11, 10)))


def remainders_that_lean(patch: pytest.MonkeyPatch) -> None:
    """Take remainders of words for uniform."""
    patch.setattr(entropy, "below", lambda source, limit: source(1)[0] % limit)


def no_noise_on_cells(patch: pytest.MonkeyPatch) -> None:
    """Release histograms and searches for C as they are."""
    patch.setattr(release, "discrete_laplace", lambda _, __, n: [0] * n)


def half_scale_of_shares(patch: pytest.MonkeyPatch) -> None:
    """Make the noise on a profile's shares half as wide as it has to be."""
    patch.setattr(BeyondBounds, "scale", property(lambda m: Fraction(m.sensitivity) / m.epsilon / 2))


def half_scale_of_ladders(patch: pytest.MonkeyPatch) -> None:
    """Make the noise on a ladder's cells half as wide as it has to be."""
    patch.setattr(RowsPerUnit, "scale", property(lambda m: Fraction(m.sensitivity) / m.epsilon / 2))


def choice_of_half(patch: pytest.MonkeyPatch) -> None:
    """Choose quantiles as if a unit moved them half as far."""
    right = quantile.quantile
    patch.setattr(quantile, "quantile", lambda source, rows, q, e, mass: right(source, rows, q, 2 * e, mass))


def all_of_epsilon_for_each(patch: pytest.MonkeyPatch) -> None:
    """Let each measurement of a statement have what they have together."""
    patch.setattr(pricing, "equal_share", lambda whole, _: whole)


def free_delta(patch: pytest.MonkeyPatch) -> None:
    """Charge no δ for keys that are found."""
    right = PricedMeasurement.cost
    assert isinstance(right, property)
    assert right.fget is not None
    whole = right.fget
    patch.setattr(PricedMeasurement, "cost", property(lambda p: Privacy(whole(p).epsilon, Fraction(0))))


def half_price(patch: pytest.MonkeyPatch) -> None:
    """Charge half of the ε that was spent."""
    right = PricedMeasurement.cost
    assert isinstance(right, property)
    assert right.fget is not None
    whole = right.fget
    patch.setattr(PricedMeasurement, "cost", property(lambda p: Privacy(whole(p).epsilon / 2, whole(p).delta)))
