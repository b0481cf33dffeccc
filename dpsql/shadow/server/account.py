"""The account of the operating system that the shadow's server runs as: ours, or one of its own when we are root."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass

from dpsql.errors import ConfigError

ACCOUNT_NAME = "dpsql-shadow"
"""The account that root makes for the shadow, unless another is named."""

_NOBODY = 65534
_PROGRAMS = "/usr/sbin:/sbin:/usr/bin:/bin"
_NOWHERE = "/nonexistent"
_WAYS = (
    ("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", _NOWHERE, "--shell", "/usr/sbin/nologin"),
    ("adduser", "-S", "-D", "-H", "-h", _NOWHERE, "-s", "/sbin/nologin"),  # of busybox
)


@dataclass(frozen=True, slots=True)
class SystemAccount:
    """A user and a group of the operating system."""

    uid: int
    gid: int

    @classmethod
    def for_server(cls, name: str | None = None) -> "SystemAccount | None":
        """Return the account to change to: none, unless we are root, whom PostgreSQL refuses.

        Raises:
            ConfigError: the account `name` can't be used, or there is none and it can't be made.
        """
        if os.geteuid() != 0:
            _demand_ourselves(name)
            return None
        entry = _find(name or ACCOUNT_NAME)
        if entry is None and name is None:
            _make(ACCOUNT_NAME)
            entry = _find(ACCOUNT_NAME)
        if entry is None:
            raise ConfigError(
                f'there is no account "{name or ACCOUNT_NAME}", which the shadow is to run as',
                hint=f"Make one without privileges (useradd --system {name or ACCOUNT_NAME}), or run dpsql as an "
                "ordinary user.",
            )
        if entry.pw_uid in (0, _NOBODY):
            raise ConfigError(
                f'the shadow can\'t run as "{entry.pw_name}": root may do everything, and other programs run as nobody, too',
                hint="Name an account that nothing else uses.",
            )
        return cls(entry.pw_uid, entry.pw_gid)


def _demand_ourselves(name: str | None) -> None:
    """Refuse any account but our own."""
    entry = None if name is None else _find(name)
    if name is not None and (entry is None or entry.pw_uid != os.geteuid()):
        raise ConfigError(
            f'the shadow can\'t run as "{name}", because dpsql is not root',
            hint="Leave out shadow.account: the shadow runs as dpsql's own account.",
        )


def _find(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _make(name: str) -> None:
    """Make an account that nobody can log in to; one that another process has just made will do."""
    for command, *options in _WAYS:
        program = shutil.which(command, path=_PROGRAMS)
        if program is not None:
            subprocess.run([program, *options, name], check=False, capture_output=True, env={"PATH": _PROGRAMS})  # noqa: S603
        if _find(name) is not None:
            return
