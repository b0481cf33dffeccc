"""A secret of the server's own, which outlives restarts: made once, kept in a private file."""

import os
import secrets
import stat
from pathlib import Path

from dpsql.errors import ConfigError
from dpsql.policy.config import EmbeddedShadow, PostgresServer, Shadow
from dpsql.private_files import make_directory

_BYTES = 32
_MODE = 0o600


def secret_file(shadow: Shadow, directory: Path) -> Path:
    """Return where the secret of a server with this shadow is kept: beside the shadow's directory, which may be emptied."""
    match shadow:
        case EmbeddedShadow(directory=inside):
            return inside.parent / "secret"
        case PostgresServer():
            return directory / ".dpsql" / "secret"


def read_or_make_secret(file: Path) -> bytes:
    """Return the secret in `file`, which is made if there is none.

    Raises:
        ConfigError: it can't be read or made, is too short, or others may read it.
    """
    try:
        if not os.path.lexists(file):
            _make(file)
        return _read(file)
    except OSError as failed:
        raise ConfigError(f"secret {file} can't be used: {failed.strerror}") from failed


def _make(file: Path) -> None:
    make_directory(file.parent)
    new = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(secrets.token_bytes(_BYTES))
            out.flush()
            # Only what is on the disk gets the name: a power cut leaves a whole secret, or none.
            os.fsync(out.fileno())
        # The second process takes the first one's.
        os.link(new, file)
    except FileExistsError:
        pass
    finally:
        new.unlink()


def _read(file: Path) -> bytes:
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
        # Of the file that is open, not of its name, behind which there may be another one by now.
        mode = os.fstat(opened.fileno()).st_mode
        kept = opened.read()
    if not stat.S_ISREG(mode) or stat.S_IMODE(mode) & 0o077:
        raise ConfigError(f"secret {file} may be read by others", hint=f"chmod 600 {file}")
    if len(kept) < _BYTES:
        raise ConfigError(f"secret {file} is damaged", hint="Delete it; the next start makes another one.")
    return kept
