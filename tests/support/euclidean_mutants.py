"""Mistakes in Gaussian noise: in what it is made for, in the ladder of lengths, and in who may have it; each as a patch."""

from collections.abc import Sequence
from typing import Any

import pytest

from dpsql.gateway.measuring import Measuring
from dpsql.policy.model import Policy, Role
from dpsql.privacy.measurement import rows_per_unit
from dpsql.privacy.measurement.contribution import ContributionBound
from dpsql.privacy.measurement.engine_sql import BoundedScan
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.gaussian import Gaussian
from dpsql.question import Asker
from dpsql.rewrite.dialects.base import Dialect


def rows_instead_of_squares(patch: pytest.MonkeyPatch) -> None:
    """Take the root of the rows, as if each were in a group of its own."""
    right = ContributionBound.weights_of_squares
    wrong = "least(n, 2147483647) * least(n, 2147483647)"

    def weights(self: ContributionBound, parts: str, dialect: Dialect) -> str:
        assert wrong in right(self, parts, dialect)
        return right(self, parts, dialect).replace(wrong, "n")

    patch.setattr(ContributionBound, "weights_of_squares", weights)


def a_root_one_too_low(patch: pytest.MonkeyPatch) -> None:
    """Cut the root off."""
    right = ContributionBound.weights_of_squares

    def weights(self: ContributionBound, parts: str, dialect: Dialect) -> str:
        least = "CASE WHEN (r - 1) * (r - 1) >= q THEN r - 1 WHEN r * r >= q THEN r ELSE r + 1 END"
        assert least in right(self, parts, dialect)
        return right(self, parts, dialect).replace(least, "r - 1")

    patch.setattr(ContributionBound, "weights_of_squares", weights)


def no_limit(patch: pytest.MonkeyPatch) -> None:
    """Let all rows count in full."""
    right = ContributionBound.weights_of_squares

    def weights(self: ContributionBound, parts: str, dialect: Dialect) -> str:
        return right(self, parts, dialect).replace(f"greatest(l, {self.rows})", f"greatest(0, {self.rows})")

    patch.setattr(ContributionBound, "weights_of_squares", weights)


def every_row_a_group(patch: pytest.MonkeyPatch) -> None:
    """Count the rows of all groups as if none were in the same one."""
    patch.setattr(BoundedScan, "_by_group", lambda _, rows: f"(SELECT u, 1 AS n FROM {rows}) AS g")


def one_dimension(patch: pytest.MonkeyPatch) -> None:
    """Forget that a row moves each of its statistics."""
    patch.setattr(Sums, "square", property(lambda self: self.sensitivity**2))


def rows_stand_for_units(patch: pytest.MonkeyPatch) -> None:
    """Let a unit stand once for each of its groups."""
    patch.setattr(
        BoundedScan,
        "lengths",
        lambda self: f"SELECT u, n, n AS l FROM {self._by_group(f'({self.rows(())}) AS r')}",
    )


def shares_that_do_not_add_up(patch: pytest.MonkeyPatch) -> None:
    """Give the rung below a whole unit as well."""
    right = rows_per_unit._places

    def places(rungs: Sequence[int], length: int) -> list[tuple[int, int]]:
        return [(place, rows_per_unit.WHOLE) for place, _ in right(rungs, length)]

    patch.setattr(rows_per_unit, "_places", places)


def half_the_sigma(patch: pytest.MonkeyPatch) -> None:
    """Draw half as much noise."""
    right = Gaussian.scale
    patch.setattr(Gaussian, "scale", lambda *given: max(right(*given) // 2, 1))


def whoever_adds_up(patch: pytest.MonkeyPatch) -> None:
    """Give it to roles whose users have shares in epsilon."""
    patch.setattr(Role, "counts_rho", property(lambda self: self.budget.concentrated is not None))


def whatever_the_data_set_adds_up(patch: pytest.MonkeyPatch) -> None:
    """Ask the role alone whether rho is counted."""
    patch.setattr(Policy, "counts_rho", lambda _, role: role.counts_rho)


def for_any_role(patch: pytest.MonkeyPatch) -> None:
    """Store it where every role finds it."""
    right = Measuring._key

    def key(self: Measuring, part: PricedMeasurement, asker: Asker, *rest: Any) -> str:
        return right(self, part, Asker("somebody", asker.role if not part.cost.rho else "owner"), *rest)

    patch.setattr(Measuring, "_key", key)
