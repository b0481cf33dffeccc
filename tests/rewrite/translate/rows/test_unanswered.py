"""Aggregates that are not answered say what they are, and what is near, which is answered."""

import re

import psycopg
import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.aggregate_names import OF_SINGLE_ROWS
from dpsql.rewrite.translate.rows.aggregates import PLACES
from tests.support.fix_world import NewClient
from tests.support.memory import Memory

DISTINCT = (
    "corr(DISTINCT fare, tip)",
    "regr_slope(DISTINCT fare, tip)",
    "covar_pop(DISTINCT fare, tip)",
    "median(DISTINCT fare)",
)
SINGLE = (
    "string_agg(paid, ',')", "string_agg(paid, ',' ORDER BY fare)", "array_agg(fare)", "json_agg(fare)",
    "jsonb_agg(DISTINCT fare)", "json_object_agg(paid, fare)", "range_agg(numrange(0, 1))", "bit_and(seats)",
    "bit_or(DISTINCT seats)", "any_value(fare)",
)  # fmt: skip


@pytest.mark.parametrize(
    "asked", [*SINGLE, *DISTINCT, *(f"{name}(5) WITHIN GROUP (ORDER BY fare)" for name in sorted(PLACES))]
)
def test_what_is_not_answered_says_what_it_is(asked: str, new_client: NewClient, policy: Policy) -> None:
    """Not only that it is not supported; and the hint has what to ask instead."""
    with pytest.raises(Unsupported) as refused:
        new_client(Memory(policy)).ask(f"SELECT {asked} FROM rides")
    assert "not supported" not in refused.value.message
    assert refused.value.message.startswith(asked.partition("(")[0])
    assert refused.value.hint is not None
    assert "docs/" not in refused.value.hint


@pytest.mark.parametrize("name", ["string_agg", "array_agg", "json_agg", "json_object_agg", "any_value", "bit_and"])
def test_what_hints_name_is_answered(name: str, new_client: NewClient, policy: Policy) -> None:
    """With a column and a table in the places of x and …; a condition beside it is answered, too."""
    text = OF_SINGLE_ROWS[name].partition(": ")[2].replace("…", "rides")
    text = re.sub(r"\bx\b", "seats" if name.startswith(("bit", "json_object")) else "paid", text)
    statement = text if text.startswith("SELECT") else f"SELECT {text} FROM rides"
    assert len(new_client(Memory(policy)).ask(statement).rows) == 1


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("bool_and(DISTINCT fare > 3)", "bool_and(fare > 3)"),
        ("every(DISTINCT shared)", "every(shared)"),
        ("bool_or(DISTINCT shared)", "bool_or(shared)"),
        ("sum(fare ORDER BY tip)", "sum(fare)"),
        ("count(DISTINCT paid ORDER BY paid)", "count(DISTINCT paid)"),
    ],
)
def test_what_is_the_same_is_answered(asked: str, same: str, new_client: NewClient, policy: Policy) -> None:
    """The order of rows, and how often there is one, is nothing to these: they are one measurement, paid once."""
    client = new_client(Memory(policy))
    first = client.ask(f"SELECT {same} FROM rides").rows
    charges = client.charges
    assert client.ask(f"SELECT {asked} FROM rides").rows == first
    assert client.charges == charges


def test_an_order_by_what_does_not_exist_is_an_error(new_client: NewClient, policy: Policy) -> None:
    """PostgreSQL's own."""
    with pytest.raises(psycopg.errors.UndefinedColumn):
        new_client(Memory(policy)).ask("SELECT sum(fare ORDER BY nothing) FROM rides")
