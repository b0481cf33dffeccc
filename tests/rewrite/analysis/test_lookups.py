"""Public rows that are found by comparisons: which ones, and how many are looked at."""

from random import Random
from typing import Any

import pytest

from dpsql.policy.model import Column
from dpsql.rewrite.analysis import same_rows
from dpsql.rewrite.analysis.bounds import evaluate
from dpsql.rewrite.analysis.same_rows import FoundRow, Lookup
from dpsql.rewrite.ir.expr import Expr, Ref
from dpsql.rewrite.ir.relation import Join
from tests.rewrite.refs import BIGINT, BOOL, DAY_OF, SEATS, apply

DS = Ref(1, "spine", "ds", Column("ds", BIGINT, BIGINT.value))
MONTH = Ref(1, "spine", "month", Column("month", BIGINT, BIGINT.value))
DAYS = 885
OPERATORS = ("lt", "le", "gt", "ge", "eq", "ne")


def _compared(op: str, a: Expr, b: Expr) -> Expr:
    return apply(op, a, b, type_=BOOL)


def _since_the_month(days: int) -> Lookup:
    """Return the join of the issue: every day of a month up to now."""
    conditions = (_compared("le", SEATS, DS), _compared("ge", SEATS, MONTH))
    return Lookup(1, Join.INNER, conditions, (DS, MONTH), [(day, day - day % 30) for day in range(days)], adds=False)


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what is evaluated."""
    counted = [0]

    def counting(expr: Expr, row: FoundRow) -> Any:
        counted[0] += 1
        return evaluate(expr, row)

    monkeypatch.setattr(same_rows, "evaluate", counting)
    return counted


def test_rows_that_are_not_found_are_not_looked_at(evaluations: list[int]) -> None:
    """Of 885 days each finds those that are left of its month: as many are compared, and not all with all."""
    lookup = _since_the_month(DAYS)
    found = sum(len(list(lookup.joined_rows({SEATS: day}))) for day in range(DAYS))
    assert DAYS < found < 16 * DAYS
    assert evaluations[0] < 4 * (DAYS + found)


def _made_up(random: Random) -> Lookup:
    some = (DS, MONTH)
    conditions = []
    for _ in range(random.randint(1, 3)):
        sides = [random.choice(some), random.choice((SEATS, DAY_OF))]
        conditions.append(_compared(random.choice(OPERATORS), *random.sample(sides, 2)))
    values = [None, *range(6)]
    rows = [(random.choice(values), random.choice(values)) for _ in range(random.randint(0, 12))]
    return Lookup(1, random.choice(list(Join)), tuple(conditions), some, rows, adds=False)


@pytest.mark.parametrize("seed", range(300))
def test_the_same_rows_are_found(seed: int) -> None:
    """As by trying each, whatever is compared and however rows are ordered."""
    random = Random(seed)  # noqa: S311 # which rows are tried
    lookup = _made_up(random)
    for seats in (None, 0, 2, 5, 7):
        row = {SEATS: seats, DAY_OF: random.choice([None, 1, 3])}
        each = [{**row, DS: ds, MONTH: month} for ds, month in lookup.rows]
        kept = [one for one in each if all(evaluate(condition, one) is True for condition in lookup.conditions)]
        assert sorted(map(repr, lookup.joined_rows(row))) == sorted(map(repr, kept))
