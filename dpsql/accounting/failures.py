"""Measurements that were paid for and ended without a release: all that is ever told of them.

Promise: how a measurement ends is one bit about records, and few of these bits are told. They are told to the role that pays:

- A failure is stored. It is told again for nothing, and to another role for the price of the release.
- The engine fails, or is too late, ten times a day (`limits.failures`), which closes the role's account.
- A bug of ours (`Failing.BROKEN`) refuses measurements of the same form to the role, and to no other: with other constants it
  would be another bit. The second one closes the account: of another form, or under way when the first one failed.

Only the owner opens what is refused or closed. Until then a role learns of N measurements which two broke, 2·log₂ N bits at
most; and of those of a day which ten the engine failed at, 10·log₂ N. Each of them has paid the least ε. What was under way
at the last of these, four statements a user, may add one each.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from dpsql.errors import DpsqlError, EngineFailed, QueryCanceled


class Failing(StrEnum):
    """How a measurement failed."""

    ENGINE = "engine"
    """The engine could not run it."""
    LATE = "late"
    """It met its time limit."""
    BROKEN = "broken"
    """A bug of ours, met after the engine had answered."""

    def error(self) -> DpsqlError:
        """Return what clients hear, every time: of the kind, and of nothing else."""
        match self:
            case Failing.ENGINE | Failing.BROKEN:
                return EngineFailed()
            case Failing.LATE:
                return QueryCanceled()
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as the owner of the data is told it."""

    how: Failing
    cause: str
    """Where it happened, without any value."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of what befell an account beside its charges."""

    time: datetime
    user: str
    role: str
    what: str
    """A `Failing`, "closed" or "opened"."""
    cause: str
    statement: str
    """The statement that failed; empty where there is none."""
