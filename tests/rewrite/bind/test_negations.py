"""NOT within what it negates, as PostgreSQL judges it: the same rows of every kind are true, false and NULL."""

import pytest

from dpsql.rewrite.bind.deparsed import with_negations_within
from dpsql.rewrite.syntax.read.dialect import parse_query, render
from tests.support.fix_world import World

WITHIN = {
    "NOT a < b": "(a >= b)",
    "NOT (a = b)": "(a <> b)",
    "NOT (a >= 1 AND a <= 2)": "((a < 1) OR (a > 2))",
    "NOT (a < b OR NOT (b > 1 AND a = 2))": "((a >= b) AND NOT ((b <= 1) OR (a <> 2)))",
    "NOT (a < b AND a IS NULL)": "((a >= b) OR a IS NOT NULL)",
}
AS_THEY_ARE = ("a IS NOT NULL", "NOT ROW(a, b) < ROW(b, a)", "NOT a = ANY(ARRAY[b, 1])", "NOT a <> ALL(ARRAY[b, 1])")


def _within(condition: str) -> str:
    tree = parse_query(f"SELECT {condition}")
    assert tree is not None
    with_negations_within(tree)
    return render(tree).removeprefix("SELECT ")


@pytest.mark.parametrize("condition", [*WITHIN, *AS_THEY_ARE])
def test_a_negation_says_the_same_within(condition: str, world: World) -> None:
    """Of numbers, NaN and NULL beside each other."""
    values = "(VALUES (1), (2), ('NaN'), ('-Infinity'), (NULL::float8))"
    asked = f"SELECT {condition}, {_within(condition)} FROM {values} AS x (a), {values} AS y (b)"
    assert all(value == other for value, other in world.owner.execute(asked.encode()).fetchall())


@pytest.mark.parametrize("condition", WITHIN)
def test_comparisons_are_other_comparisons(condition: str) -> None:
    """Through AND and OR; what is no comparison keeps its NOT."""
    assert _within(condition) == WITHIN[condition]


@pytest.mark.parametrize("condition", AS_THEY_ARE)
def test_rows_and_lists_keep_their_not(condition: str) -> None:
    """And so does what is no comparison."""
    assert _within(condition) == condition
