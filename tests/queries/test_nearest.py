"""What no private system answers is refused before the engine is asked, with rule and hint; the nearest is answered."""

from pathlib import Path

import psycopg
import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy
from tests.support.exactness import measurements
from tests.support.fix_dirty import NewUser
from tests.support.fix_world import World
from tests.support.memory import Memory


def _cases() -> list[tuple[str, str, str]]:
    """Read the golden file: blocks of a rule, what is asked, and what is answered."""
    text = Path(__file__).with_name("nearest.txt").read_text(encoding="utf-8")
    cases = []
    for block in text.strip().split("\n\n"):
        if not block.startswith("#"):
            rule, asked, nearest = block.split("\n")
            cases.append((rule, asked.removeprefix("- "), nearest.removeprefix("+ ")))
    return cases


CASES = _cases()


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_it_is_refused_and_the_nearest_is_answered(
    case: tuple[str, str, str], user: NewUser, policy: Policy, world: World, dirty: Memory
) -> None:
    """The rule is named (or PostgreSQL's code), somebody is told what to do, nothing is charged; and that can be done."""
    rule, sql, nearest = case
    client = user("ana")
    before = client.charges
    with pytest.raises((DpsqlError, psycopg.Error)) as refused:
        client.ask(sql)
    match refused.value:
        case DpsqlError(because=because, hint=hint):
            assert (because, bool(hint)) == (rule, True)
        case psycopg.Error(sqlstate=code):
            assert code == rule
    assert client.charges == before
    assert measurements(nearest, policy, world, dirty)


def test_each_is_another_statement() -> None:
    """None is tried twice."""
    assert len({sql for _, sql, _ in CASES}) == len(CASES) >= 100
