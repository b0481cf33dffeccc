"""All that a client, the ledger and the engine see of a statement: what may not depend on anybody's rows."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.privacy.sqlite_ledger import SqliteLedger
from dpsql.question import Asker, Settings
from tests.fix_wide import USERS, Wide
from tests.fix_world import Client, noon
from tests.gateway.engines import Watched


@dataclass(frozen=True, slots=True)
class Asking:
    """What came of asking once."""

    error: str | None
    """Its class and text, or None where there was an answer."""
    rows: int | None
    charged: tuple[str, ...]
    """The ledger's lines so far."""
    engine: int
    """Statements that the engine was asked so far."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A statement asked twice: what came of it, and of the retry."""

    asked: tuple[Asking, ...]

    def told(self, *, fixed: bool) -> object:
        """Return what must not depend on any one's rows; the number of answered rows only where it is `fixed`."""
        return [(one.error, one.rows if fixed else None, one.charged, one.engine) for one in self.asked]


@dataclass(frozen=True, slots=True)
class Sessions:
    """One session in the shadow for each user, kept for many transcripts."""

    clients: dict[str, psycopg.Connection]
    owner: psycopg.Connection

    def transcript(self, one: Wide, sql: str, user: str, settings: Settings, *, seed: int = 1) -> Transcript:
        """Ask twice with a fresh ledger, and always the same bytes for noise.

        Raises:
            EngineFailed: the engine failed, or something broke after it was asked; an error of ours is no answer.
        """
        draw = random.Random(seed)  # noqa: S311  (noise of a test)
        engine = Watched(one.engine)
        with TemporaryDirectory() as directory:
            ledger = SqliteLedger(Path(directory) / "ledger.db", noon)
            gateway = one.gateway(ledger, draw.randbytes, lambda _: engine)
            client = Client(gateway, ledger, self.clients[user], self.owner, Asker(user, USERS[user]))
            return Transcript(tuple(_once(client, engine, sql, settings) for _ in range(2)))


def _once(client: Client, engine: Watched, sql: str, settings: Settings) -> Asking:
    error, rows = None, None
    try:
        rows = len(client.ask(sql, settings).rows)
    except (EngineFailed, InternalError) as failure:
        raise AssertionError(f"a statement failed after it was charged: {sql}") from failure
    except DpsqlError as refusal:
        error = f"{type(refusal).__name__}: {refusal.message}; {refusal.hint}"
    except psycopg.Error as refusal:
        error = f"{refusal.sqlstate}: {refusal}"
    lines = tuple(f"{e.cost.epsilon} {e.cost.delta} {e.note}" for e in client.ledger.entries(None, 100))
    return Asking(error, rows, lines, engine.runs)


@contextmanager
def sessions(one: Wide) -> Iterator[Sessions]:
    """Open a session for every user."""
    clients = {user: one.world.connect(user, "wide") for user in USERS}
    owner = one.world.connect("dpsql_owner", "wide")
    yield Sessions(clients, owner)
    for connection in (*clients.values(), owner):
        connection.close()
