"""All that a client, the ledger and the engine see of a statement: what may not depend on anybody's rows."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
import pytest

from dpsql.accounting.ledger import Ledger
from dpsql.engines.base import Engine
from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.gateway.gateway import Gateway
from dpsql.privacy.measurement import plan
from dpsql.privacy.mechanisms import k_norm
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.question import Asker, Settings
from tests.gateway.engines import Rows, Watched
from tests.support.fix_wide import USERS
from tests.support.fix_world import Client, World, noon
from tests.support.quick_ledger import quick_ledger


@dataclass(frozen=True, slots=True)
class Asking:
    """What came of asking once."""

    error: str | None
    """Its class and text, or None where there was an answer."""
    columns: tuple[object, ...]
    """The names and types of what is answered."""
    rows: int | None
    charged: tuple[str, ...]
    """The ledger's lines so far."""
    engine: int
    """Statements that the engine was asked so far."""
    late: int
    """How many times since the engine's first answer it was worked out by which rule groups are shown."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A statement asked twice: what came of it, and of the retry."""

    asked: tuple[Asking, ...]

    def told(self, *, fixed: bool) -> object:
        """Return what must not depend on any one's rows; the number of answered rows only where it is `fixed`."""
        return [
            (each.error, each.columns, each.rows if fixed else None, each.charged, each.engine, each.late)
            for each in self.asked
        ]


@dataclass(slots=True)
class _Work:
    """Counts what is worked out after the engine has begun to answer."""

    answered: bool = False
    late: int = 0

    def begun(self, rows: Rows) -> Rows:
        """Count from now on."""
        self.answered = True
        return rows

    def counted(self, right: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, counted."""

        def function(*args: object) -> object:
            self.late += self.answered
            return right(*args)

        return function


@contextmanager
def _late_work() -> Iterator[_Work]:
    """Count how many times a threshold, or a table of chances, is asked for."""
    work = _Work()
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((k_norm, "threshold"), (k_norm, "threshold"), (plan, "chances")):
            patch.setattr(module, name, work.counted(getattr(module, name)))
        yield work


class Place(Protocol):
    """Where statements are asked: an engine with tables, and a shadow."""

    @property
    def world(self) -> World:
        """Return the shadow, and what is public."""

    @property
    def engine(self) -> Engine:
        """Return the engine."""

    def gateway(self, ledger: Ledger, entropy: Entropy, seen: Callable[[Engine], Engine], /) -> Gateway:
        """Return a gateway to what `seen` makes of the engine."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """One session in the shadow for each user, kept for many transcripts."""

    clients: dict[str, psycopg.Connection]
    owner: psycopg.Connection

    def transcript(self, place: Place, sql: str, user: str, settings: Settings, *, seed: int = 1) -> Transcript:
        """Ask twice with a fresh ledger, and always the same bytes for noise.

        Raises:
            EngineFailed: the engine failed, or something broke after it was asked; an error of ours is no answer.
        """
        draw = random.Random(seed)  # noqa: S311  (noise of a test)
        with quick_ledger(noon) as ledger, _late_work() as work:
            engine = Watched(place.engine, after=work.begun)
            gateway = place.gateway(ledger, draw.randbytes, lambda _: engine)
            client = Client(gateway, ledger, self.clients[user], self.owner, Asker(user, USERS[user]))
            return Transcript(tuple(_once(client, engine, sql, settings, work) for _ in range(2)))


def _once(client: Client, engine: Watched, sql: str, settings: Settings, work: _Work) -> Asking:
    error: str | None = None
    columns: tuple[object, ...] = ()
    rows: int | None = None
    try:
        answer = client.ask(sql, settings)
        columns, rows = (answer.names, answer.types), len(answer.rows)
    except (EngineFailed, InternalError) as failure:
        raise AssertionError(f"a statement failed after it was charged: {sql}") from failure
    except DpsqlError as refusal:
        error = f"{type(refusal).__name__}: {refusal.message}; {refusal.hint}"
    except psycopg.Error as refusal:
        error = f"{refusal.sqlstate}: {refusal}"
    lines = tuple(f"{e.cost.epsilon} {e.cost.delta} {e.note}" for e in client.ledger.entries(None, 100))
    return Asking(error, columns, rows, lines, engine.runs, work.late)


@contextmanager
def sessions(place: Place) -> Iterator[Sessions]:
    """Open a session for every user."""
    clients = {user: place.world.connect(user, place.world.policy.dataset) for user in USERS}
    owner = place.world.connect("dpsql_owner", place.world.policy.dataset)
    yield Sessions(clients, owner)
    for connection in (*clients.values(), owner):
        connection.close()
