"""What is read off other answers means what PostgreSQL says: every golden statement, one after the other in one ledger."""

import random

import pytest

from tests.queries.test_golden import COMPARED, compare
from tests.support.fix_world import USERS, NewClient
from tests.support.memory import Memory
from tests.support.reference import Reference
from tests.support.samples import spread

ORDERS = [(0, 2), *(pytest.param(seed, 1, marks=pytest.mark.slow) for seed in range(8))]
"""By seed, of how many statements one is asked."""


@pytest.mark.parametrize(("seed", "one_of"), ORDERS)
def test_golden_statements_in_one_ledger(
    seed: int, one_of: int, engine: Memory, reference: Reference, new_client: NewClient
) -> None:
    """In any order, so that each is read off others somewhere; many are, and what is charged is less than the files say."""
    golden = [each for each in COMPARED if each.user == "ana" and spread(each.sql, one_of) == 0]
    random.Random(seed).shuffle(golden)  # noqa: S311  # an order
    client, charged = new_client(engine), 0
    kind = reference.policy.roles[USERS["ana"]].protects
    for statement in golden:
        before = client.charges
        answer = client.ask(statement.sql)
        charged += client.charges - before
        expected = reference.answer(statement.reference or statement.sql, kind)
        assert (answer.names, answer.types) == (expected.names, expected.types)
        compare(answer, expected, statement)
    assert charged < sum(each.cost for each in golden) * (0.8 if one_of == 1 else 0.9)
