"""What is read off other answers means what PostgreSQL says: every golden statement, one after the other in one ledger."""

import random
from collections.abc import Sequence

import pytest

from dpsql.engines.base import Engine
from tests.queries.test_golden import COMPARED, compare
from tests.support.fix_world import USERS, Client, NewClient
from tests.support.golden import Golden
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
    assert _charged(golden, new_client(engine), reference) < _alone(golden) * (0.8 if one_of == 1 else 0.9)


@pytest.mark.parametrize(("seed", "one_of"), [(0, 4), *ORDERS[1:]])
def test_golden_statements_in_one_ledger_of_dirty_records(
    seed: int, one_of: int, soiled: Engine, soiled_reference: Reference, new_client: NewClient
) -> None:
    """Rows lack values that are declared to be there, and no engine sees to that: less is read off, and nothing wrongly."""
    golden = [each for each in COMPARED if each.user == "ana" and spread(each.sql, one_of) == 0]
    random.Random(seed).shuffle(golden)  # noqa: S311  # an order
    assert _charged(golden, new_client(soiled), soiled_reference) < _alone(golden)


def _alone(golden: Sequence[Golden]) -> int:
    """Return what statements cost where nothing was asked before."""
    return sum(each.cost for each in golden)


def _charged(golden: Sequence[Golden], client: Client, reference: Reference) -> int:
    """Ask statements one after the other, see that each means what PostgreSQL says, and return what was charged."""
    before, kind = client.charges, reference.policy.roles[USERS["ana"]].protects
    for statement in golden:
        answer = client.ask(statement.sql)
        expected = reference.answer(statement.reference or statement.sql, kind)
        assert (answer.names, answer.types) == (expected.names, expected.types)
        compare(answer, expected, statement)
    return client.charges - before
