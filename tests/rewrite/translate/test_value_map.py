"""Functions of something with few values, as the shadow evaluates them."""

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from tests.rewrite.translate.test_context import DEEP, nested
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory


@pytest.mark.parametrize("form", ["lower({})", "lower({}::text)", "upper({} || 'a')"])
def test_functions_in_functions_are_looked_into_once(form: str, policy: Policy, world: World) -> None:
    """Each part that is no column of few values is tried by itself once, not once for each function around it."""
    sql = f"SELECT count(*) FROM rides WHERE {nested(form, DEEP, 'note')} = 'x'"
    with pytest.raises(Unsupported, match="needs a column whose possible values are declared"):
        measurements(sql, policy, world, Memory(policy))


def test_an_expression_of_few_values_is_found_inside(policy: Policy, world: World) -> None:
    """A timestamp has too many values, its hour has not."""
    sql = "SELECT count(*) FROM rides WHERE lower(lpad(extract(hour FROM picked)::text, 2, '0')) = '07'"
    assert measurements(sql, policy, world, Memory(policy))
