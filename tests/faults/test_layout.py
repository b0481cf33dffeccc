"""The layout that the documentation proposes: the configuration where dpsql can't write, all else in a state directory."""

import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving
from tests.faults.controls import line, signal_to, write
from tests.support.ordinary import NOBODY, ordinary_python

PAGE = (Path(__file__).parent.parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")
UNIT: Mapping[str, str] = dict(re.findall(r"^(\w+)=(.*)$", PAGE.split("```ini")[1].split("```")[0], re.MULTILINE))
STATE = re.search(r"```yaml\n(state: .*)\n```", PAGE)


@pytest.fixture
def root(directory: Path) -> Iterator[Path]:
    """Give what stands for the machine's root directory, with `etc` that only its owner can write to."""
    etc = directory / "etc/dpsql"
    etc.mkdir(parents=True)
    config = configure(etc)
    shutil.rmtree(etc / "shadow", ignore_errors=True)
    write(config, "shadow: {directory: shadow}\nledger: sqlite:///ledger.db\n", "")
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    etc.chmod(0o555)
    yield directory
    etc.chmod(0o755)


def _serving(root: Path) -> AbstractContextManager[Site]:
    """Serve as an account that owns nothing of `etc`."""
    config = root / UNIT["ExecStart"].rpartition("--config /")[2]
    if os.geteuid() == 0:
        return serving(config, python=ordinary_python(), uid=NOBODY)
    return serving(config)


def _state(root: Path) -> Path:
    """Make the state directory as systemd would, and name it in the configuration as the page does."""
    state = root / "var/lib" / UNIT["StateDirectory"]
    state.mkdir(int(UNIT["StateDirectoryMode"], 8), parents=True)
    if os.geteuid() == 0:
        os.chown(state, NOBODY, NOBODY)
    assert STATE is not None
    config = root / "etc/dpsql/config.yaml"
    config.write_text(f"{STATE[1].replace(': ', f': {root}')}\n{config.read_text()}")
    return state


def test_documented_layout_serves(root: Path) -> None:
    """Nothing is written beside the configuration, the ledger outlives a restart, and a reload is heard."""
    state, before = _state(root), sorted((root / "etc").rglob("*"))
    assert UNIT["ExecReload"] == UNIT["ExecStart"].replace("serve --wait", "reload")
    for _ in range(2):
        with _serving(root) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
            assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
            signal_to(site, signal.SIGHUP)
            assert line(site) == "reloaded\n"
            assert connection.execute("SELECT count(*) FROM dpsql.charges").fetchone() == (1,)
    assert sorted((root / "etc").rglob("*")) == before
    assert {path.name for path in state.iterdir()} == {"taxi", "shadow", "spill", "secret", "tried"}
    assert (state / "taxi/ledger.db").stat().st_mode & 0o777 == 0o600


def test_whoever_names_no_directory_hears_what_to_do(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Before anything is written anywhere."""
    with pytest.raises(AssertionError, match="did not start"), _serving(root):
        pass
    assert "state names a directory that dpsql may make and write to" in capfd.readouterr().err


def test_ledger_that_was_left_behind_is_not_forgotten(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A new one would be a second budget over the same records."""
    old = root / "etc/dpsql/.dpsql/taxi"
    (root / "etc/dpsql").chmod(0o755)
    old.mkdir(parents=True)
    (old / "ledger.db").write_bytes(b"whatever was spent")
    _state(root)
    with pytest.raises(AssertionError, match="did not start"), _serving(root):
        pass
    assert f"but {old}/ledger.db was used before" in capfd.readouterr().err
