"""Measurements that were paid for and ended without a release: all that is ever told of them."""

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
