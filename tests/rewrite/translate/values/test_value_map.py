"""Functions of something with few values, as the shadow evaluates them."""

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.rewrite.emit.emitter import Emitter
from tests.rewrite.translate.values.test_context import DEEP, nested
from tests.support.dialects import DUCKDB
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


def test_functions_of_several_columns_are_evaluated_for_all_combinations(policy: Policy, world: World) -> None:
    """Once each, NULL among the values; looked up by a combination's number."""
    (measurement,) = measurements(
        "SELECT concat(paid, stars), count(*) FROM rides GROUP BY 1", policy, world, Memory(policy)
    )
    paid, stars = ("card", "cash", "it's free", ""), (1, 2, 5)
    shown = {f"{a}{b}" for a in paid for b in stars}
    text = measurement.sql(Emitter(DUCKDB, world.public.declared))
    assert {text.count("'" + value.replace("'", "''") + "'") for value in shown} == {1}


def test_too_many_combinations_are_refused(policy: Policy, world: World) -> None:
    """Three small domains can be a large one together."""
    sql = "SELECT concat(age, ' ', extract(day FROM picked), ' ', seats, stars, shared), count(*) FROM rides GROUP BY 1"
    with pytest.raises(Unsupported, match=r"over 30,\d+ possible combinations of values, the limit is 10,000"):
        measurements(sql, policy, world, Memory(policy))


def test_one_column_without_values_is_too_many(policy: Policy, world: World) -> None:
    """The others' values do not help."""
    with pytest.raises(Unsupported, match="needs a column whose possible values are declared"):
        measurements("SELECT concat(paid, note), count(*) FROM rides GROUP BY 1", policy, world, Memory(policy))


def test_a_label_is_looked_up_by_what_it_is_made_of(policy: Policy, world: World) -> None:
    """Not for each of the many values of the column: an engine takes seconds to read a CASE of thousands."""
    sql = "SELECT (floor(age / 20) * 20)::text || '-' || (floor(age / 20) * 20 + 20)::text, count(*) FROM rides GROUP BY 1"
    (measurement,) = measurements(sql, policy, world, Memory(policy))
    text = measurement.sql(Emitter(DUCKDB, world.public.declared))
    assert text.count("'20-40'") <= 2


def test_a_label_of_parts_that_have_no_fewer_values_is_looked_up_by_the_column(policy: Policy, world: World) -> None:
    """What is inside is taken apart only where that helps."""
    sql = "SELECT (age + 1)::text || '-' || (age * 2)::text, count(*) FROM rides GROUP BY 1"
    (measurement,) = measurements(sql, policy, world, Memory(policy))
    text = measurement.sql(Emitter(DUCKDB, world.public.declared))
    assert "'31-60'" in text
    assert "'31-62'" not in text
