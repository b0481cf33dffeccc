"""Makes the files that a PostgreSQL server starts from, as the account that it will run as."""

import logging
import secrets
import shutil
import subprocess

from dpsql.errors import ConfigError
from dpsql.shadow.server.directory import Binaries, ShadowDirectory, directory_for, write_for

OWNER = "dpsql_owner"
"""The superuser of the shadow; no client can be it."""

FAST_SECRETS = 16
"""Since this version the work of a log-in can be chosen; a secret this long needs the least."""

_LOG = logging.getLogger("dpsql.shadow")
_EDITION = "1"
"""Counts the changes of what this file makes."""


def ensure_cluster(place: ShadowDirectory, installed: Binaries) -> str:
    """Make the cluster, unless one of this version is there; return the secret that its roles log in with.

    Raises:
        ConfigError: it can't be made.
    """
    made_by = f"{installed.major} {_EDITION}"
    if place.cluster.exists():
        said, _, secret = place.cluster.read_text().partition("\n")
        if said == made_by and secret:
            return secret
    secret = secrets.token_urlsafe(32)
    for locale in ("C.UTF-8", "C"):
        place.cluster.unlink(missing_ok=True)
        shutil.rmtree(place.data, ignore_errors=True)
        directory_for(place.account, place.data)
        if _initdb(place, installed, secret, locale):
            write_for(None, place.cluster, f"{made_by}\n{secret}")
            return secret
    raise ConfigError("the shadow's directory could not be initialised", hint=f"See whether {place.home} is writable.")


def _initdb(place: ShadowDirectory, installed: Binaries, secret: str, locale: str) -> bool:
    """Run initdb; it needs a shell, and runs before there is a sandbox, with no data and no client near."""
    account, password = place.account, place.home / "password"
    write_for(account, password, secret)
    # The log's files are of 1 MB: little is logged, and two of the usual 16 are most of what is written.
    command = [
        *(str(installed.directory / "initdb"), "-D", str(place.data), "-U", OWNER, f"--pwfile={password}"),
        *("--auth=reject", "--encoding=UTF8", "--no-sync", "--wal-segsize=1", f"--locale={locale}"),
    ]
    if installed.major >= FAST_SECRETS:
        command += ("-c", "scram_iterations=1")
    try:
        done = subprocess.run(  # noqa: S603
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env={},
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else [],
        )
    finally:
        password.unlink()
    if done.returncode != 0:
        _LOG.warning("initdb with locale %s: %s", locale, done.stderr[-1000:])
    return done.returncode == 0
