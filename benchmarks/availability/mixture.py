"""A random mixture of all attacks, and what is left of it: memory, threads, open files, sessions and accounts.

Run `python -m benchmarks.availability.mixture --minutes 60`. Three attacks go on at a time, chosen anew every half minute,
each by a third of the connections that a user may have, while another user asks. Before that each goes on alone for some
seconds, so that all is full that has a limit: remembered plans and answers. It ends with 1 where something does not return.
"""

import random
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psycopg
import typer

from benchmarks.availability.__main__ import CONNECTIONS, EVERY, Attacked, attacked, described, told
from tests.support.processes import children, descriptors, megabytes
from tests.support.stalling import Waits, attacking, waits

_AT_ONCE, _EACH = 3, 30.0
"""Attacks at a time, and seconds until others are chosen."""
_FIRST = 6.0
"""Seconds of each attack before anything is counted."""
_QUIET = 150.0
"""Seconds after which sessions of clients that are gone are given up, and all that was asked has ended."""
_GROWN = 0.25
"""By which share memory may be more."""
_FEW = 8
"""Threads, files and sessions that come and go."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What a server has."""

    memory: int
    """MiB of `dpsql serve`."""
    agents: int
    """MiB of `dpsql mcp`."""
    threads: int
    files: int
    sessions: int
    """Of the shadow."""
    account: tuple[object, ...]
    """What the role has spent, and whether it is closed."""

    @classmethod
    def of(cls, own: Attacked) -> "_Left":
        """Look."""
        with psycopg.connect(own.other, autocommit=True) as connection:
            account = connection.execute("SELECT epsilon_spent, epsilon_left FROM dpsql.budget").fetchone()
        threads = len(list(Path(f"/proc/{own.server}/task").iterdir()))
        sessions = sum(len(children(child)) for child in children(own.server))
        return cls(
            megabytes(own.server), megabytes(own.agents), threads, descriptors(own.server), sessions, account or ()
        )

    def worse(self, before: "_Left") -> list[str]:
        """Return what is more than before."""
        more = []
        for what, now, then in (("memory", self.memory, before.memory), ("dpsql mcp", self.agents, before.agents)):
            if now > then * (1 + _GROWN):
                more.append(f"{what}: {now} MiB after {then}")
        counts = ("threads", "files", "sessions")
        more += [
            f"{what}: {getattr(self, what)} after {getattr(before, what)}"
            for what in counts
            if getattr(self, what) > getattr(before, what) + _FEW
        ]
        if self.account != before.account:
            more.append(f"account: {self.account} after {before.account}")
        return more

    def __str__(self) -> str:
        """Return it in words."""
        return (
            f"{self.memory} MiB, {self.threads} threads, {self.files} files, {self.sessions} sessions; "
            f"dpsql mcp {self.agents} MiB; spent and left {', '.join(map(str, self.account))}"
        )


def main(minutes: Annotated[float, typer.Option(help="how long")] = 60.0) -> None:
    """Attack, and say what is left."""
    draw, whole, failed = random.Random(), Waits(), 0  # noqa: S311 # of attacks
    with attacked() as own:
        for name in EVERY:
            with attacking(own.site.words, name, CONNECTIONS // _AT_ONCE, own.port):
                time.sleep(_FIRST)
        time.sleep(_QUIET)
        before = _Left.of(own)
        typer.echo(f"before: {before}")
        until = time.monotonic() + minutes * 60
        while time.monotonic() < until:
            names = draw.sample(EVERY, _AT_ONCE)
            with ExitStack() as attacks:
                for name in names:
                    attacks.enter_context(attacking(own.site.words, name, CONNECTIONS // _AT_ONCE, own.port))
                try:
                    waited = waits(own.other, _EACH)
                except psycopg.Error as error:
                    typer.echo(f"{', '.join(names)}: {error}")
                    failed += 1
                    continue
            for kept, new in zip(told(whole).values(), told(waited).values(), strict=True):
                kept.extend(new)
            typer.echo(f"{', '.join(names)}: {described(waited)}; {megabytes(own.server)} MiB")
        time.sleep(_QUIET)
        after = _Left.of(own)
        typer.echo(f"after {minutes:g} minutes: {after}\n{described(whole)}")
        with psycopg.connect(own.site.dsn, autocommit=True) as connection:  # whose account is open
            connection.execute("SELECT count(*) FROM trips WHERE fare > 21")
    worse = [*after.worse(before), *([f"{failed} times the other user was not answered"] if failed else [])]
    if worse:
        sys.exit(f"MISSED: {'; '.join(worse)}")


if __name__ == "__main__":
    typer.run(main)
