"""Claims on what is measured, among processes that share a file."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from dpsql.accounting.sqlite.ledger import FileClaims, SqliteLedger
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent
from tests.support.forked import Forked

CHILD = """
import signal
from pathlib import Path
from dpsql.accounting.sqlite.ledger import FileClaims
claims = FileClaims(Path({path!r}))
print(claims.take(["a", "b"]), flush=True)
signal.pause()
raise SystemExit
"""


def test_all_or_none_until_given_back(tmp_path: Path) -> None:
    """Who can't have all keys has none; what is given back others may have."""
    with closing(FileClaims(tmp_path / "l")) as first, closing(FileClaims(tmp_path / "l")) as two:
        assert (first.take(["a", "b"]), two.take(["c", "b"]), first.take(["c"])) == (True, False, True)
        first.give_back(["b", "c"])
        assert (two.take(["c", "b"]), two.take(["a"])) == (True, False)
    with closing(FileClaims(tmp_path / "l")) as three:
        assert three.take(["a", "b", "c"])


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    """However that ends."""
    child = Forked([], before=CHILD.format(path=str(tmp_path / "l")), modules=["dpsql.accounting.sqlite.ledger"])
    assert child.stdout
    assert child.stdout.readline() == "True\n"
    with closing(FileClaims(tmp_path / "l")) as claims:
        assert not claims.take(["b"])
        child.kill()
        child.wait()
        assert claims.take(["b"])
    child.stdout.close()


def test_who_asks_the_same_of_another_process_pays_nothing(tmp_path: Path, clock: Clock) -> None:
    """They wait until it has measured, and are told what it has stored."""
    path, account = tmp_path / "ledger.db", account_of(total="0.7")
    with SqliteLedger(path, clock) as first, SqliteLedger(path, clock) as two, ThreadPoolExecutor(1) as pool:
        with first.open_statement(account, "", [item_of("a")]) as statement:
            other = pool.submit(ask, two, account, item_of("a"), item_of("b", "0.2"))
            assert ask(two, account, item_of("c", "0.1")) == {"c": None}
            assert not other.done()
            statement.store("a", b"of one")
        assert other.result(20) == {"a": b"of one", "b": None}
        assert [round(float(each), 3) for each in spent(first, account)] == [0.7, 0.7]
