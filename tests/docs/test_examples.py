"""What the documentation shows is what happens.

The words after a block's language say what is tested: `sql run` is answered, `sql free` is answered and costs nothing,
`sql free-after` costs nothing but for its first statement,
`sql refused 42501` is refused with that SQLSTATE; `as collaborator` at the end asks as another role than the owner.
"""

from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from tests.docs.pages import Block, blocks, statements
from tests.support.connected import Connect, as_own

ANSWERED = [*blocks("sql", "run"), *blocks("sql", "free"), *blocks("sql", "free-after")]
REFUSED = blocks("sql", "refused")


def role_of(block: Block) -> str:
    """Return the role that asks a block's statements."""
    return block.info[-1] if "as" in block.info else "owner"


def spent(connection: psycopg.Connection) -> Decimal:
    """Return what a role has spent."""
    (row,) = connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()
    return Decimal(row[0])


@pytest.mark.parametrize("block", ANSWERED, ids=str)
def test_examples_are_answered(block: Block, ask: Connect) -> None:
    """Every statement of a block is answered; a block that is called free costs nothing."""
    connection = ask(role_of(block))
    before = None if block.info[1] == "free-after" else spent(connection)
    for statement in statements(block):
        cursor = connection.execute(statement.encode())
        assert cursor.statusmessage
        before = before or spent(connection)
    connection.execute("RESET ALL")
    assert not block.info[1].startswith("free") or spent(connection) == before


@pytest.mark.parametrize("block", REFUSED, ids=str)
def test_refusals_have_their_code(block: Block, ask: Connect) -> None:
    """Every statement of a block is refused with the SQLSTATE that the block names, and costs nothing."""
    connection = ask(role_of(block))
    before = spent(connection)
    for statement in statements(block):
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(statement.encode())
        assert (statement, caught.value.sqlstate) == (statement, block.info[2])
    assert spent(connection) == before


@pytest.mark.parametrize("block", blocks("python", "run"), ids=str)
def test_python_examples_run(block: Block, home: Path, served: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown in Python runs beside the demo's configuration."""
    monkeypatch.chdir(home)
    with as_own(home / "config.yaml", served):
        exec(compile(block.text, str(block), "exec"), {})  # noqa: S102  (our own pages)


def test_there_are_examples_of_each_kind() -> None:
    """So that the tests above can't become empty."""
    assert min(len(ANSWERED), len(REFUSED), len(blocks("python", "run"))) > 0
