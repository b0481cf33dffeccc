"""What is free, since a release says it, and what is not: each question after one that was paid for."""

from pathlib import Path

import pytest

from dpsql.engines.base import Engine
from tests.queries.test_golden import compare
from tests.support.fix_world import USERS, NewClient
from tests.support.golden import Golden
from tests.support.memory import Memory
from tests.support.reference import Reference

ROUNDED = ("median", "percentile")


def pairs(name: str) -> list[tuple[str, str]]:
    """Return the pairs of a file: what was asked before, and what is asked then."""
    pairs, told = [], ""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for line in filter(str.strip, text.splitlines()):
        if line.startswith("    "):
            pairs.append((told, line.strip()))
        else:
            told = line
    return pairs


@pytest.mark.parametrize(("told", "wanted"), pairs("contained.sql"))
def test_what_a_release_says_is_free(
    told: str, wanted: str, enforcing: Engine, reference: Reference, new_client: NewClient
) -> None:
    """And means what PostgreSQL says."""
    client = new_client(enforcing)
    client.ask(told)
    before = client.charges
    answer = client.ask(wanted)
    assert client.charges == before
    within = 0.3 if any(word in wanted for word in ROUNDED) else 1e-6
    expected = reference.answer(wanted, client.gateway._deps.policy.roles[USERS["ana"]].protects)
    extra = compare(answer, expected, Golden("reuse", wanted, wanted, "answered", within=within))
    assert all(row[-1] in (0, None) or abs(float(str(row[-1]))) < within for row in extra)


@pytest.mark.parametrize(("told", "wanted"), pairs("not_contained.sql"))
def test_what_no_release_says_is_charged(told: str, wanted: str, engine: Memory, new_client: NewClient) -> None:
    """A near miss is a question of its own."""
    client = new_client(engine)
    client.ask(told)
    before = client.charges
    client.ask(wanted)
    assert client.charges > before
