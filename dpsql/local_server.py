"""The server of `dpsql.connect`: it reads on standard input what it is to serve, and stops when that ends."""

import asyncio
import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dpsql.errors import ConfigError
from dpsql.policy.config import Config, EmbeddedShadow, Listen, Shadow, User
from dpsql.policy.load import load
from dpsql.private_files import Scratch, make_directory, open_private
from dpsql.server import Server
from dpsql.system_limits import collect_seldom

_ONE_QUESTION = 5.0
"""Seconds within which whoever asks a single question has its answer, and has gone."""


def main() -> None:
    """Serve until standard input ends, and say where.

    Raises:
        ConfigError: there is no such role, or the configuration can't be used.
    """
    # One line in, {"config": …, "role": …, "user": …, "verifier": …}, one line out, {"host": …} or {"failed": …}. Standard
    # input then stays open as long as the other side lives: its end, also by a kill, is the word to stop.
    wanted = json.loads(sys.stdin.readline())
    _serve(load(Path(wanted["config"])), wanted["role"], User(wanted["user"], wanted["role"], wanted["verifier"]))


def _serve(config: Config, role: str, user: User) -> None:
    """Serve one user of a role."""
    if role not in config.policy.roles:
        raise ConfigError(f'{config.file.name}: there is no role "{role}"; roles: {", ".join(config.policy.roles)}')
    with _shadow(config.shadow) as shadow:
        # All users of the file are left out: this server is one person's, and its password exists in two processes only.
        own = replace(
            config, users={user.name: user}, listen=Listen("127.0.0.1", 0), web=None, metrics=None, shadow=shadow
        )
        asyncio.run(_until_end(own))


@contextmanager
def _shadow(shadow: Shadow) -> Iterator[Shadow]:
    """Give a shadow that no other process uses.

    It is beside that of `dpsql serve`, where it stays: to make one takes as long as all the rest. Where another server like
    this one has it, or nothing can be kept, it is one that goes with us.
    """
    with Scratch("dpsql-local-", mode=0o711) as scratch:  # the shadow may run as another user, who has to pass through
        if not isinstance(shadow, EmbeddedShadow):
            yield EmbeddedShadow(scratch.path / "shadow")
            return
        kept = shadow.directory.with_name(f"{shadow.directory.name}-local")
        with _claimed(kept) as is_ours:
            yield replace(shadow, directory=kept if is_ours else scratch.path / "shadow")


@contextmanager
def _claimed(directory: Path) -> Iterator[bool]:
    """Keep a directory to ourselves until the block ends, and tell whether it is ours."""
    try:
        make_directory(directory.parent)
        # The lock lies beside the directory, which the shadow may empty and make anew.
        lock = open_private(directory.with_name(f"{directory.name}.lock"), os.O_WRONLY | os.O_CREAT)
    except OSError:
        yield False
        return
    with os.fdopen(lock, "w"):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            is_ours = False
        else:
            is_ours = True
        yield is_ours


async def _until_end(config: Config) -> None:
    async with Server(config, read_after=_ONE_QUESTION) as server:
        collect_seldom()
        host, port = server.address
        sys.stdout.write(json.dumps({"host": host, "port": port, "dbname": config.policy.dataset}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
