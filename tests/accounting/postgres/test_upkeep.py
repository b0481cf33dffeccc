"""Looking at a ledger on a server: whether all of it is as it was written."""

from pathlib import Path

import psycopg
import pytest

from dpsql.accounting.postgres.ledger import PostgresLedger, examine_server, lines_on_server, missing_charges
from dpsql.accounting.sql.opening import Mark, write_mark
from dpsql.errors import ConfigError
from tests.support.fix_ledger import Clock, account_of, ask, item_of


def test_what_is_wrong_is_said(dsn: str, tmp_path: Path, clock: Clock) -> None:
    """A line that is gone, one without an amount, and what lets lines be changed."""
    with pytest.raises(ConfigError, match="there is no ledger"):
        examine_server(dsn)
    with PostgresLedger(dsn, tmp_path / "l", clock) as ledger:
        for key in "abc":
            ask(ledger, account_of(total="9"), item_of(key))
    whole = examine_server(dsn)
    assert (whole.charges, whole.statements, whole.wrong) == (3, 3, ())
    with psycopg.connect(dsn, options="-csearch_path=dpsql_ledger") as owner:
        owner.execute("SET LOCAL session_replication_role = replica")
        owner.execute("DELETE FROM charges WHERE id = 2")
        owner.execute("UPDATE charges SET epsilon = 'much' WHERE id = 3")
        owner.execute("DROP TRIGGER events_append_only ON events")
    assert examine_server(dsn).wrong == (
        "lines of events can be changed: its trigger is gone",
        "1 lines of charges are gone",
        "line 3 of charges has no amount",
    )


def test_lines_and_what_is_lacking_are_told(dsn: str, tmp_path: Path, clock: Clock) -> None:
    """By the mark of this machine."""
    with PostgresLedger(dsn, tmp_path / "l", clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
        ask(ledger, account_of("partner"), item_of("b"))
    examination = examine_server(dsn)
    assert [entry.key for entry in lines_on_server(dsn, None, 9)] == ["b", "a"]
    assert [entry.key for entry in lines_on_server(dsn, "analyst", 9)] == ["a"]
    assert (missing_charges(examination, tmp_path / "l"), missing_charges(examination, tmp_path / "other")) == (0, 0)
    write_mark(tmp_path / "l", Mark(examination.ledger, "", 5))
    assert missing_charges(examination, tmp_path / "l") == 3
    write_mark(tmp_path / "l", Mark("another", "", 1))
    assert missing_charges(examination, tmp_path / "l") is None
