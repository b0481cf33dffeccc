"""Every mechanism by the name that a policy has for it; one without a line here does not type-check."""

from functools import cache
from typing import assert_never

from dpsql.policy.model import MechanismName
from dpsql.privacy.mechanisms.gaussian import Gaussian
from dpsql.privacy.mechanisms.independent_laplace import IndependentLaplace
from dpsql.privacy.mechanisms.k_norm import KNorm
from dpsql.privacy.mechanisms.mechanism import Mechanism


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
