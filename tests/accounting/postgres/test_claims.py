"""Claims on what is measured, among servers that share a ledger."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from dpsql.accounting.postgres import ledger
from dpsql.accounting.postgres.ledger import ServerClaims
from dpsql.errors import LedgerFailed
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import account_of, ask, item_of, spent
from tests.support.plain_server import PlainServer, running_server


def _until_taken(claims: ServerClaims, *keys: str) -> None:
    """Wait until nobody else has them: a session ends a moment after its client has."""
    while not claims.take(keys):
        pass


def test_all_or_none_until_given_back(dsn: str) -> None:
    """Who can't have all keys has none; what is given back, or whose session ends, others may have."""
    with closing(ServerClaims(dsn)) as first, closing(ServerClaims(dsn)) as two:
        assert (first.take(["a", "b"]), two.take(["c", "b"]), first.take(["c"])) == (True, False, True)
        first.give_back(["b", "c"])
        assert (two.take(["c", "b"]), two.take(["a"])) == (True, False)
    with closing(ServerClaims(dsn)) as three:
        _until_taken(three, "a", "b", "c")


@pytest.fixture
def server() -> Iterator[PlainServer]:
    """A server that may be killed."""
    with running_server() as running:
        yield running


def test_they_outlive_the_server(server: PlainServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is back they are taken again; until then nobody has any, and in the end that is said."""
    with closing(ServerClaims(server.dsn())) as first, closing(ServerClaims(server.dsn())) as two:
        assert first.take(["a"])
        server.kill()
        assert not first.take(["b"])
        server.start()
        _until_taken(first, "b")
        assert not two.take(["a"])
        server.kill()
        monkeypatch.setattr(ledger, "_AWAY", 0.0)
        first.give_back(["b"])
        with pytest.raises(LedgerFailed):
            _until_taken(first, "c")
        server.start()


def test_who_asks_the_same_of_another_server_pays_nothing(opened: Opened) -> None:
    """They wait until it has measured, and are told what it has stored."""
    account = account_of(total="0.7")
    with opened() as first, opened() as two, ThreadPoolExecutor(1) as pool:
        with first.open_statement(account, "", [item_of("a")]) as statement:
            other = pool.submit(ask, two, account, item_of("a"), item_of("b", "0.2"))
            assert ask(two, account, item_of("c", "0.1")) == {"c": None}
            assert not other.done()
            statement.store("a", b"of one")
        assert other.result(20) == {"a": b"of one", "b": None}
        assert [round(float(each), 3) for each in spent(first, account)] == [0.7, 0.7]
