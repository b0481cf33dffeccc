"""The three promises that a total ε keeps to each person, and which of them binds."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from dpsql.epsilon.advising.rule import membership_epsilon, singling_out_epsilon, value_epsilon


class Promise(StrEnum):
    """The promises to each person; see `rule` for the proofs."""

    NAMING = "naming"
    """Somebody who has the data of all others names the last one with no more than this probability."""
    MEMBERSHIP = "membership"
    """Somebody who thought 50 to 50 whether they are in the data becomes no surer than this."""
    VALUE = "value"
    """Somebody who is sure that they are in the data, and thought 50 to 50 which of two values theirs is, becomes no
    surer."""

    @property
    def risk(self) -> str:
        """What it limits, in the field's words."""
        match self:
            case Promise.NAMING:
                return "re-identification"
            case Promise.MEMBERSHIP:
                return "membership inference"
            case Promise.VALUE:
                return "attribute inference"


@dataclass(frozen=True, slots=True)
class Promises:
    """The largest acceptable probability of each kind, and how many people could be named."""

    people: int
    naming: Fraction
    membership: Fraction
    value: Fraction

    def limits(self) -> Mapping[Promise, Fraction]:
        """Return the largest total ε that keeps each promise, rounded down.

        Raises:
            BadInput: a probability out of range, or one that a blind guess already exceeds.
        """
        return _limits(self)

    def largest(self) -> Fraction:
        """Return the largest total ε that keeps all three; see `limits`."""
        return min(self.limits().values())

    def binding(self) -> tuple[Promise, ...]:
        """Return the promises that allow no more than that: a larger ε would break them."""
        limits = self.limits()
        return tuple(promise for promise, limit in limits.items() if limit == min(limits.values()))


@lru_cache(maxsize=256)
def _limits(promises: Promises) -> Mapping[Promise, Fraction]:
    return {
        Promise.NAMING: singling_out_epsilon(promises.people, promises.naming),
        Promise.MEMBERSHIP: membership_epsilon(promises.membership),
        Promise.VALUE: value_epsilon(promises.value),
    }
