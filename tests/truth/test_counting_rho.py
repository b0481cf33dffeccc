"""Counts by many groups are several times nearer where ρ is counted, and no further off by much where groups are few."""

from collections.abc import Sequence

import pytest

from dpsql.privacy.measurement.pricing import FEWEST_CHOSEN
from tests.truth.counting_rho import KEYS, cells
from tests.truth.data_sets import DataSet

pytestmark = pytest.mark.slow

_ANSWERS = 9


@pytest.mark.parametrize(("data", "keys"), KEYS, ids=lambda of: of.name if isinstance(of, DataSet) else "")
def test_they_are_nearer(data: DataSet, keys: Sequence[str]) -> None:
    """By half at least for more than three hundred groups of units with many rows; margins hold as well as elsewhere."""
    for cell in cells(data, keys, _ANSWERS):
        if cell.groups > 300 and cell.epsilon == 1 and data.name != "patients":
            assert cell.of_rho < cell.error / 1.5
        if cell.groups >= FEWEST_CHOSEN:  # of fewer both have the same noise, and what differs is chance
            assert cell.of_rho < cell.error * 1.7
        assert cell.covered > 0.7
