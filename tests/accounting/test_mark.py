"""The mark beside a ledger is read as it was written, or not at all."""

from pathlib import Path

import pytest

from dpsql.accounting.sql.opening import Mark, mark_path, read_mark, write_mark


def test_a_mark_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The last one, also where it is shorter than the one before."""
    ledger = tmp_path / "ledger.db"
    for mark in (Mark("a" * 32, "a long name", 10_000), Mark("b", "x", 1)):
        write_mark(ledger, mark)
        assert read_mark(ledger) == mark


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"ledger": "a"}'])
def test_half_a_mark_is_none(tmp_path: Path, content: bytes) -> None:
    """What a power cut has left says nothing of the ledger."""
    ledger = tmp_path / "ledger.db"
    assert read_mark(ledger) is None
    mark_path(ledger).write_bytes(content)
    assert read_mark(ledger) is None


def test_a_mark_that_can_not_be_written_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """That the ledger goes on matters more; the log says so."""
    write_mark(tmp_path / "missing" / "ledger.db", Mark("a", "b", 1))
    assert "mark can't be written" in caplog.text
