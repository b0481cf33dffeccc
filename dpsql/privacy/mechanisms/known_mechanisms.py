"""Every mechanism by the name that a policy has for it; one without a line here does not type-check."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Protocol, assert_never

from dpsql.policy.model import MechanismName, Privacy
from dpsql.privacy.mechanisms.block import Block
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.gaussian import Gaussian
from dpsql.privacy.mechanisms.k_norm import IndependentLaplace, KNorm
from dpsql.privacy.mechanisms.law import Law

# The protocol of noise for sums; another kind is a class with these methods and a line in `known_mechanisms`.
#
# A measurement's coordinates are in blocks, of which a row moves one. Its sensitivity is the most by which one unit moves
# them all together, in the norm Σ_groups Σ_blocks ‖block‖.


class Mechanism(Protocol):
    """Noise for the sums of a measurement."""

    def scale(self, sensitivity: int, together: Sequence[Block], epsilon: Fraction) -> int:
        """Return t, rounded up, at which noise for all blocks together is private to ε."""

    def sample(self, entropy: Entropy, t: int, block: Block, groups: int) -> Sequence[Sequence[int]]:
        """Draw one block's noise for every group."""

    def variance(self, block: Block, together: Sequence[Block]) -> Fraction:
        """Return the variance of each of a block's coordinates, in units of (sensitivity/ε)²."""

    def laws(self, block: Block) -> Sequence[tuple[Law, tuple[int, ...]]]:
        """Return a block's independent draws, each by its law at scale 1 and the places of its coordinates."""

    def threshold(self, t: int, block: Block, step: int, keys: int, delta: Fraction) -> int:
        """Return the least noisy count, the block's first coordinate, from which a group may be shown.

        A unit has at most `keys` rows, each of which adds `step` to the count.
        """

    def loss(self, epsilon: Fraction, delta: Fraction) -> Privacy:
        """Return what a measurement with this ε, and δ for finding groups, costs."""


@cache
def mechanism(name: MechanismName) -> Mechanism:
    """Return the record of a mechanism."""
    match name:
        case MechanismName.CUBE:
            return KNorm()
        case MechanismName.LAPLACE:
            return IndependentLaplace()
        case MechanismName.GAUSSIAN:
            return Gaussian()
        case _:
            assert_never(name)
