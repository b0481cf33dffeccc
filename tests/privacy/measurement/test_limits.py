"""What is too large to be measured."""

from dataclasses import replace

import pytest

from dpsql.errors import AccessDenied, Unsupported
from dpsql.policy.model import Policy, Reference
from dpsql.privacy.features.feature import MOST_FEATURES
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory


def sums(number: int) -> str:
    """Return a statement that measures the sums of so many expressions, and the rows."""
    return f"SELECT {', '.join(f'sum(fare * {n + 2} + seats)' for n in range(number))} FROM rides"


def test_one_cube_has_few_statistics(policy: Policy, world: World) -> None:
    """As many as the limit are measured, one more is refused."""
    assert measurements(sums(MOST_FEATURES // 2 - 1), policy, world, Memory(policy))
    with pytest.raises(Unsupported, match=f"statistics at once, the limit is {MOST_FEATURES}"):
        measurements(sums(2 * MOST_FEATURES), policy, world, Memory(policy))


def test_expressions_together_have_an_end(policy: Policy, world: World) -> None:
    """Each of them is small enough by itself."""
    looked_up = "length(concat(age, seats, shared, late))"
    sql = f"SELECT {', '.join(f'sum({n} * {looked_up})' for n in range(2, 8))} FROM rides"
    with pytest.raises(Unsupported, match="parts, the limit is 25,000"):
        measurements(sql, policy, world, Memory(policy))


@pytest.mark.parametrize("unit", ["rider", "driver"])
def test_a_key_that_is_a_unit_of_any_kind_is_refused(unit: str, policy: Policy, world: World) -> None:
    """Also one of a kind that the role does not protect."""
    with pytest.raises(AccessDenied, match="would show single individuals"):
        measurements(f"SELECT {unit}, count(*) FROM rides GROUP BY 1", policy, world, Memory(policy))


def test_who_else_is_in_a_row_is_no_key(policy: Policy, world: World) -> None:
    """Of such a column a row of individuals is found, which is one of them; nor is what stands there read beside this one."""
    rides = policy.tables["rides"]
    guest = replace(rides.columns["number"], references=Reference("rides", "rider", public=False))
    policy = replace(
        policy, tables={**policy.tables, "rides": replace(rides, columns={**rides.columns, "number": guest})}
    )
    memory = Memory(policy)
    for key in ("number", "number % 7"):
        with pytest.raises(AccessDenied, match="would show single individuals"):
            measurements(f"SELECT {key}, count(*) FROM rides GROUP BY 1", policy, world, memory)
    with pytest.raises(Unsupported) as refused:
        measurements("SELECT count(*) FROM rides a JOIN rides b ON b.rider = a.number", policy, world, memory)
    assert "points to another passenger" in str(refused.value.hint)
