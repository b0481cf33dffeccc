"""The server's own secret."""

from pathlib import Path

import pytest

from dpsql.errors import ConfigError
from dpsql.secret import read_or_make_secret


def test_secret_is_made_once_and_private(tmp_path: Path) -> None:
    """The same after a restart, for nobody else to read."""
    file = tmp_path / "state" / "secret"
    assert read_or_make_secret(file) == read_or_make_secret(file)
    assert (len(file.read_bytes()), file.stat().st_mode & 0o777) == (32, 0o600)
    assert [path.name for path in file.parent.iterdir()] == ["secret"]
    assert read_or_make_secret(tmp_path / "another") != read_or_make_secret(file)


def test_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """Somebody may have it."""
    file = tmp_path / "secret"
    read_or_make_secret(file)
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="may be read by others"):
        read_or_make_secret(file)


def test_damaged_secret_is_told(tmp_path: Path) -> None:
    """An empty one would be known to everybody."""
    file = tmp_path / "secret"
    file.touch(0o600)
    with pytest.raises(ConfigError, match="damaged"):
        read_or_make_secret(file)


def test_link_is_not_followed(tmp_path: Path) -> None:
    """Whatever it points to is not ours."""
    read_or_make_secret(tmp_path / "elsewhere")
    (tmp_path / "secret").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="can't be used"):
        read_or_make_secret(tmp_path / "secret")
