"""However a column of a table is written, a statement is the same: nothing is measured anew, and the answer is equal."""

import pytest

from dpsql.policy.model import Policy
from tests.queries.spellings import SPELLINGS, spelled
from tests.queries.test_golden import ANSWERED, compare
from tests.support.fix_dirty import NewUser
from tests.support.golden import Golden
from tests.support.samples import in_one_way

STILL = [golden for golden in ANSWERED if golden.still and golden.sql.lower().startswith(("select", "with"))]


@pytest.mark.parametrize(
    ("golden", "spelling"), in_one_way({golden.name: (golden,) for golden in STILL}, SPELLINGS, SPELLINGS, 2)
)
def test_all_spellings_of_columns_are_one(golden: Golden, spelling: str, user: NewUser, policy: Policy) -> None:
    """What was released for the bare names is the answer to all others; outer stages are known by their inner ones' text."""
    client, sql = user(golden.user), spelled(golden.sql, policy, spelling)
    if sql == golden.sql:
        return
    if client.gateway.examine(golden.sql, client.asker) is None:
        assert client.gateway.examine(sql, client.asker) is None
        return
    expected, before = client.ask(golden.sql), client.charges
    answer = client.ask(sql)
    further = client.charges - before
    assert (answer.names, answer.types) == (expected.names, expected.types)
    if not further:
        assert answer.rows == expected.rows
        return
    assert further < golden.cost or golden.file == "two_stage", "measured anew"
    assert not compare(answer, expected, golden)


def test_there_are_statements_to_spell(policy: Policy) -> None:
    """Most have a column of a table without an alias."""
    changed = [golden for golden in STILL if spelled(golden.sql, policy, SPELLINGS[0]) != golden.sql]
    assert len(changed) > 400
