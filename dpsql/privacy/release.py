"""Add noise to exact coordinates, and read statistics off what comes out: the only way from `Exact` to an answer."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.policy.model import Mechanism
from dpsql.privacy.entropy import Entropy
from dpsql.privacy.exact import Exact
from dpsql.privacy.feature import Feature
from dpsql.privacy.noise import cube, discrete_laplace
from dpsql.privacy.sums import Sums


@dataclass(frozen=True, slots=True)
class Release:
    """Noisy coordinates of every group, in the groups' order: free to be shown to the role that paid."""

    noisy: Sequence[Sequence[int]]

    def to_bytes(self) -> bytes:
        """Return a form to be stored."""
        return zlib.compress(json.dumps([list(row) for row in self.noisy]).encode())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Release":
        """Return what `to_bytes` stored."""
        return cls(json.loads(zlib.decompress(stored)))


def release_sums(measurement: Sums, exact: Exact, entropy: Entropy) -> Release:
    """Return the coordinates with the measurement's noise."""
    groups, d = len(exact.coordinates), len(measurement.features)
    if not groups or not d:
        return Release(exact.coordinates)
    if measurement.mechanism is Mechanism.CUBE:
        noise: Sequence[Sequence[int]] = cube(entropy, measurement.scale, d, groups)
    else:
        flat = discrete_laplace(entropy, measurement.scale, groups * d)
        noise = [flat[i : i + d] for i in range(0, groups * d, d)]
    pairs = zip(exact.coordinates, noise, strict=True)
    return Release([[x + z for x, z in zip(row, drawn, strict=True)] for row, drawn in pairs])


def estimates(measurement: Sums, noisy: Sequence[int]) -> Mapping[Feature, float]:
    """Return one group's noisy features in rows: a row adds at most 1 to each."""
    return {feature: value / measurement.unit for feature, value in zip(measurement.features, noisy, strict=True)}
