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
from dpsql.privacy.mechanisms.block import Block, Norm, epsilon_parts
from dpsql.privacy.mechanisms.discrete_laplace import cube, discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.law import LAPLACE, CubeLaw, Law
from dpsql.privacy.mechanisms.threshold import threshold

# Independent discrete Laplace noise, for auditors who want nothing else: each coordinate has its part of ε.
#
# Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis" (2006), and basic composition
# over the coordinates of one block, since a row moves those of one block alone.


@dataclass(frozen=True, slots=True)
class IndependentLaplace:
    """Noise of its own for every coordinate."""

    def scale(self, sensitivity: int, together: Sequence[Block], epsilon: Fraction) -> int:
        """Return ⌈d·sensitivity / ε⌉, d being the number of coordinates of the largest block."""
        return math.ceil(Fraction(sensitivity * epsilon_parts(together)) / epsilon)

    def sample(self, entropy: Entropy, t: int, block: Block, groups: int) -> Sequence[Sequence[int]]:
        """Draw independently."""
        return draw(entropy, t, block, groups)

    def variance(self, block: Block, together: Sequence[Block]) -> Fraction:
        """Return 2·d²."""
        _ = block
        return LAPLACE.variance * epsilon_parts(together) ** 2

    def laws(self, block: Block) -> Sequence[tuple[Law, tuple[int, ...]]]:
        """Return one draw for each coordinate."""
        return draw_each(block)

    def threshold(self, t: int, block: Block, step: int, keys: int, delta: Fraction) -> int:
        """Return τ under the discrete Laplace."""
        _ = block
        return threshold(t, 1, step, keys, delta)

    def loss(self, epsilon: Fraction, delta: Fraction) -> Privacy:
        """Return (ε, δ): the noise itself is ε-DP."""
        return Privacy(epsilon, delta)


def draw(entropy: Entropy, t: int, block: Block, groups: int) -> Sequence[Sequence[int]]:
    """Draw a block's noise for every group, each number by itself."""
    d = len(block.places)
    flat = discrete_laplace(entropy, t, groups * d)
    return [flat[i : i + d] for i in range(0, groups * d, d)]


def draw_each(block: Block) -> Sequence[tuple[Law, tuple[int, ...]]]:
    """Return a draw of one coordinate for each of a block's."""
    return [(LAPLACE, (place,)) for place in block.places]


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
        return draw(entropy, t, block, groups)

    def variance(self, block: Block, together: Sequence[Block]) -> Fraction:
        """Return the cube's (d + 1)(d + 2)/3, or Laplace's 2 for cells."""
        _ = together
        return CubeLaw(len(block.places)).variance if block.norm is Norm.LARGEST else LAPLACE.variance

    def laws(self, block: Block) -> Sequence[tuple[Law, tuple[int, ...]]]:
        """Return one draw for a cube, and one for each cell."""
        if block.norm is Norm.LARGEST:
            return [(CubeLaw(len(block.places)), block.places)]
        return draw_each(block)

    def threshold(self, t: int, block: Block, step: int, keys: int, delta: Fraction) -> int:
        """Return τ under the marginal law of one of the cube's coordinates."""
        return threshold(t, len(block.places), step, keys, delta)

    def loss(self, epsilon: Fraction, delta: Fraction) -> Privacy:
        """Return (ε, δ): the noise itself is ε-DP."""
        return Privacy(epsilon, delta)
