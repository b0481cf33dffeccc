"""The K-norm mechanism: one scale for all coordinates, with noise in the shape of what a row can be.

P(z) ∝ exp(−‖z‖ / t) per block with t = ⌈sensitivity / ε⌉ is ε-DP by the triangle inequality (Hardt and Talwar, "On the
Geometry of Differential Privacy", STOC 2010): the cube's where the largest coordinate bounds a row, independent discrete
Laplace noise where the sum of them does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.model import Privacy
from dpsql.privacy.mechanisms import independent_laplace
from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.privacy.mechanisms.discrete_laplace import cube
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.law import LAPLACE, CubeLaw, Law
from dpsql.privacy.mechanisms.threshold import threshold


@dataclass(frozen=True, slots=True)
class KNorm:
    """Noise in the shape of what a row can be."""

    def scale(self, sensitivity: int, together: Sequence[Block], epsilon: Fraction) -> int:
        """Return ⌈sensitivity / ε⌉: ε is not divided, however many coordinates there are."""
        _ = together
        return math.ceil(Fraction(sensitivity) / epsilon)

    def sample(self, entropy: Entropy, t: int, block: Block, groups: int) -> Sequence[Sequence[int]]:
        """Draw from the cube, or independently for cells."""
        if block.norm is Norm.LARGEST:
            return cube(entropy, t, len(block.places), groups)
        return independent_laplace.draw(entropy, t, block, groups)

    def variance(self, block: Block, together: Sequence[Block]) -> Fraction:
        """Return the cube's (d + 1)(d + 2)/3, or Laplace's 2 for cells."""
        _ = together
        return CubeLaw(len(block.places)).variance if block.norm is Norm.LARGEST else LAPLACE.variance

    def laws(self, block: Block) -> Sequence[tuple[Law, tuple[int, ...]]]:
        """Return one draw for a cube, and one for each cell."""
        if block.norm is Norm.LARGEST:
            return [(CubeLaw(len(block.places)), block.places)]
        return independent_laplace.each(block)

    def threshold(self, t: int, block: Block, step: int, keys: int, delta: Fraction) -> int:
        """Return τ under the marginal law of one of the cube's coordinates."""
        return threshold(t, len(block.places), step, keys, delta)

    def loss(self, epsilon: Fraction, delta: Fraction) -> Privacy:
        """Return (ε, δ): the noise itself is ε-DP."""
        return Privacy(epsilon, delta)
