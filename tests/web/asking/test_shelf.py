"""Links of statements: for one role, by a name that says nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpsql.web.page_context import _MOST_ON_SHELF, SharedStatements
from dpsql.web.site import Answer
from tests.web.conftest import POLICY, Connection, Server

ANALYST, TESS = POLICY.roles["analyst"], POLICY.roles["third_party"]


@dataclass(slots=True)
class Charged(Connection):
    """Has this one charge."""

    found: str | None = None
    asked: list[str] = field(default_factory=list)

    async def answer(self, statement: str, settings: Mapping[str, str] | None = None) -> Answer:
        """Return it."""
        del settings
        self.asked.append(statement)
        rows = () if self.found is None else ((self.found,),)
        return Answer(("statement",), (25,), rows, cut=False, notices=())


def test_only_the_same_role_finds_a_statement() -> None:
    """Whoever else has the link looks among what their own role was charged for."""
    shelf, client = SharedStatements(), Charged(Server(), "ana")
    name = shelf.put(ANALYST, "SELECT 'secret'")
    assert "secret" not in name
    assert asyncio.run(shelf.find(ANALYST, name, client)) == "SELECT 'secret'"
    assert asyncio.run(shelf.find(TESS, name, client)) is None
    assert len(client.asked) == 1


def test_what_was_charged_is_found_after_a_restart() -> None:
    """By the same name, over the visitor's own connection."""
    name = SharedStatements().put(ANALYST, "SELECT 1")
    client = Charged(Server(), "ana", found="SELECT 1")
    assert asyncio.run(SharedStatements().find(ANALYST, name, client)) == "SELECT 1"
    assert name in client.asked[0]


def test_a_name_that_is_none_is_not_looked_up() -> None:
    """Nothing of an address gets into a statement."""
    client = Charged(Server(), "ana", found="SELECT 1")
    for name in ("", "x" * 32, "' OR true --" + "a" * 20, "A" * 32, "a" * 31):
        assert asyncio.run(SharedStatements().find(ANALYST, name, client)) is None
    assert client.asked == []


def test_the_shelf_is_bounded() -> None:
    """The oldest links are forgotten, of all roles together."""
    shelf = SharedStatements()
    names = [shelf.put(replace(ANALYST, name=f"r{i % 3}"), f"SELECT {i}") for i in range(_MOST_ON_SHELF + 5)]
    assert len(shelf._kept) == _MOST_ON_SHELF
    assert ("r0", names[0]) not in shelf._kept
