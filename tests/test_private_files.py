"""What dpsql writes is its account's alone, whatever the umask is, and goes through no link that another has planted."""

import os
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dpsql.accounting.sql import opening
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.engines.duckdb.opening import spill
from dpsql.engines.snapshot.directory import SnapshotDirectory
from dpsql.errors import ConfigError
from dpsql.private_files import make_directory, open_private, prepare_file, require_private_directory
from dpsql.secret import read_or_make_secret
from dpsql.shadow.server.directory import home_of, lock
from tests.support.ordinary import NOBODY


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set what the operator's shell may have set."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _clock() -> datetime:
    return datetime(2020, 1, 1, tzinfo=UTC)


def _modes(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): oct(stat.S_IMODE(path.stat().st_mode)) for path in place.rglob("*")}


@pytest.mark.usefixtures("umask")
def test_modes_do_not_follow_the_umask(tmp_path: Path) -> None:
    """Of all that lies below the state's directory; others may pass through that itself, as the shadow's account has to."""
    state = tmp_path / "deep" / "state"
    SnapshotDirectory(state / "taxi" / "snapshot")
    with SqliteLedger(state / "taxi" / "ledger.db", _clock):
        read_or_make_secret(state / "secret")
        spilled = spill(state / "spill")
        lock(home_of(state / "shadow", None)).close()
        modes = _modes(tmp_path)
        spilled.remove()
    assert (modes.pop("deep"), modes.pop("deep/state")) == ("0o711", "0o711")
    assert len(modes) > 8
    assert {name: mode for name, mode in modes.items() if mode not in ("0o700", "0o600")} == {}


@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal"])
@pytest.mark.parametrize("planted", ["link", "link to nothing", "second name", "pipe", "directory"])
def test_the_ledger_is_not_written_to_what_was_planted(tmp_path: Path, name: str, planted: str) -> None:
    """It is said what is there instead of a file, and whatever it leads to stays as it is."""
    victim, state = tmp_path / "victim", tmp_path / "state"
    state.mkdir()
    victim.write_bytes(b"")
    victim.chmod(0o644)
    match planted:
        case "link":
            (state / name).symlink_to(victim)
        case "link to nothing":
            (state / name).symlink_to(tmp_path / "nothing")
        case "second name":
            os.link(victim, state / name)
        case "pipe":
            os.mkfifo(state / name)
        case _:
            (state / name).mkdir()
    with pytest.raises(ConfigError, match="can't be opened"):
        SqliteLedger(state / "ledger.db", _clock).close()
    assert (victim.read_bytes(), oct(victim.stat().st_mode & 0o777)) == (b"", "0o644")
    assert not (tmp_path / "nothing").exists()


def test_neither_mark_nor_lock_is_written_through_a_link(tmp_path: Path) -> None:
    """The mark is not kept then, and the shadow does not start."""
    victim, home = tmp_path / "victim", tmp_path / "shadow"
    victim.write_text("precious")
    home.mkdir()
    for link in (tmp_path / "ledger.db.mark", home / "lock"):
        link.symlink_to(victim)
    opening.write_mark(tmp_path / "ledger.db", opening.Mark("x", "taxi", 1))
    assert opening.read_mark(tmp_path / "ledger.db") is None
    with pytest.raises(OSError, match="symbolic link"):
        lock(home)
    assert victim.read_text() == "precious"


def test_a_file_is_emptied_only_once_it_is_known_to_be_ours(tmp_path: Path) -> None:
    """A second name of another file is refused before anything is done to it."""
    (tmp_path / "victim").write_text("precious")
    os.link(tmp_path / "victim", tmp_path / "log")
    with pytest.raises(OSError, match="second name"):
        open_private(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    assert (tmp_path / "victim").read_text() == "precious"
    os.close(open_private(tmp_path / "own", os.O_WRONLY | os.O_CREAT))
    (tmp_path / "own").chmod(0o666)
    os.close(open_private(tmp_path / "own", os.O_RDONLY))
    assert oct((tmp_path / "own").stat().st_mode & 0o777) == "0o600"


def test_a_directory_that_everybody_may_write_to_keeps_no_ledger(tmp_path: Path) -> None:
    """Anybody could take the file away and bring another."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(ConfigError, match="may be written to by everybody"):
        SqliteLedger(shared / "ledger.db", _clock)
    assert list(shared.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_another_account_has_made_is_not_used(tmp_path: Path) -> None:
    """A directory of its own, a file, a link to a directory of ours: left in a place that was open once."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    (tmp_path / "link").symlink_to(ours)
    (ours / "ledger.db").touch()
    for planted in (theirs, tmp_path / "link", ours / "ledger.db"):
        os.chown(planted, NOBODY, NOBODY, follow_symlinks=False)
    for place in (theirs, tmp_path / "link", ours):
        with pytest.raises(ConfigError, match="another account"):
            SqliteLedger(place / "ledger.db", _clock)
    with pytest.raises(OSError, match="another account"):
        require_private_directory(tmp_path / "link")


def test_our_own_link_to_a_directory_may_be_there(tmp_path: Path) -> None:
    """An operator who keeps the state elsewhere has made it."""
    make_directory(tmp_path / "elsewhere" / "state")
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere" / "state")
    with SqliteLedger(tmp_path / "state" / "taxi" / "ledger.db", _clock):
        assert (tmp_path / "elsewhere" / "state" / "taxi" / "ledger.db").exists()


def test_a_file_beside_it_may_go_at_any_moment(tmp_path: Path) -> None:
    """Another process that makes the same ledger takes its journal away when it is done."""
    ledger, journal = tmp_path / "ledger.db", tmp_path / "ledger.db-journal"
    enough = threading.Event()

    def come_and_go() -> None:
        while not enough.is_set():
            journal.touch(0o600)
            journal.unlink()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        for _ in range(3000):
            prepare_file(ledger, ["-journal"])
    finally:
        enough.set()
        other.join()
