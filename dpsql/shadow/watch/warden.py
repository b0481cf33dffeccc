"""Sees to it that no client fills disk or memory, leaves settings, passwords and sessions behind, or keeps the processors.

PostgreSQL has no limit for temporary tables (`temp_file_limit` is about sorting), none for the memory of all sessions
together, no privilege for settings and passwords, and gives nobody a share of the processors. Where memory ends the system
kills a process, and PostgreSQL then ends all sessions.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import psycopg

from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.watch.sessions import ShadowSessions, memory_of, memory_to_be_had

_LOG = logging.getLogger("dpsql.shadow")
_PAUSE = 0.5  # seconds between two looks

_FILES = """
SELECT relation[1]::integer, sorted[1]::integer, (pg_stat_file(place || name, true)).size
  FROM pg_database, LATERAL (SELECT 'base/' || oid || '/' AS place) AS p, pg_ls_dir(place, true, false) AS name,
       LATERAL (SELECT regexp_match(name, '^t([0-9]+)_'), NULL::text[]) AS f (relation, sorted)
 WHERE datallowconn AND relation IS NOT NULL
UNION ALL
SELECT NULL, sorted[1]::integer, size
  FROM pg_ls_tmpdir() AS t, LATERAL regexp_match(t.name, '^pgsql_tmp([0-9]+)') AS sorted
"""
"""The files of temporary tables have the number of their session in their names, those of sorts its process.

One that goes away meanwhile has no size.
"""
_KEPT = f"""
WITH files (number, process, size) AS ({_FILES}),
     sessions (number, pid) AS (
       SELECT n, pg_stat_get_backend_pid(n) FROM pg_stat_get_backend_idset() AS n
        WHERE current_setting('server_version_num')::integer >= 160000
        UNION SELECT split_part(virtualxid, '/', 1)::integer, pid FROM pg_locks WHERE locktype = 'virtualxid')
SELECT pid, coalesce(sum(size), 0)::bigint
  FROM files LEFT JOIN sessions ON files.number = sessions.number OR files.process = pid
 GROUP BY 1 ORDER BY 2 DESC, 1
"""  # both parts are above
_SESSIONS = (
    "SELECT pid, usename FROM pg_stat_activity WHERE backend_type = 'client backend' AND usename <> current_user"
)
_STORED = "DELETE FROM pg_catalog.pg_db_role_setting WHERE setrole <> 0 RETURNING setrole::regrole::text"
_LOCKED = """
UPDATE pg_catalog.pg_authid AS r SET rolpassword = o.rolpassword FROM pg_catalog.pg_authid AS o
 WHERE o.rolname = current_user AND r.rolcanlogin AND r.rolpassword IS DISTINCT FROM o.rolpassword RETURNING r.rolname
"""
"""A role may also change the password that dpsql logs it in with, and would lock its users out."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many bytes of temporary tables and sorted rows may be on the disk, and how many all sessions have in memory."""

    session: int = 1 << 30
    all: int = 4 << 30
    memory: int = field(default_factory=lambda: max(1 << 30, memory_to_be_had() // 8))


class Warden:
    """Looks twice a second, on a thread of its own, until it is closed."""

    def __init__(
        self, dsn: str, watched: ShadowSessions, limits: SessionLimits = SessionLimits()
    ) -> None:  # a frozen value
        """`dsn` is the owner's, to any database of the cluster."""
        self._dsn, self._watched, self._limits = dsn, watched, limits
        self._connection: psycopg.Connection | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dpsql-warden", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join()
        self._disconnect()

    def _run(self) -> None:
        failing = False
        while not self._over.wait(_PAUSE):
            try:
                self._look()
                failing = False
            except Exception as failed:  # noqa: BLE001 # whatever it is, the next look may succeed
                self._disconnect()
                if not failing:
                    _LOG.warning("temporary tables in the shadow can't be looked at: %s", failed)
                failing = True

    def _look(self) -> None:
        if self._connection is None:
            self._connection = psycopg.connect(self._dsn, autocommit=True)
        for (role,) in self._connection.execute(_STORED).fetchall():
            _LOG.error("settings that %s had stored for later sessions were taken back", role)
        for (role,) in self._connection.execute(_LOCKED).fetchall():
            _LOG.error("the password that %s had changed was set back", role)
        kept = [(pid, size) for pid, size in self._connection.execute(_KEPT.encode()).fetchall() if pid is not None]
        self._watched.left.look({pid for pid, _ in kept})
        sessions = self._connection.execute(_SESSIONS).fetchall()
        # Planning's questions for one user are nobody else's: each of its sessions counts for itself.
        whose = ((int(pid), f"{user} {pid}" if user == ORACLE else str(user)) for pid, user in sessions)
        self._watched.priorities.look(whose, time.monotonic())
        for pid in _too_much(kept, self._limits):
            self._connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
            _LOG.warning("session %s of the shadow was ended: its temporary tables are too large", pid)
        held = [(int(pid), str(user), memory_of(pid)) for pid, user in sessions]
        for pid in _most_memory(held, self._limits.memory):
            self._connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
            _LOG.warning("session %s of the shadow was ended: all have too much memory together", pid)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _most_memory(held: Sequence[tuple[int, str, int]], limit: int) -> list[int]:
    """Return the sessions to end so that the others have no more: again and again the largest of the user who has most."""
    ended: list[int] = []
    left = sorted(held, key=lambda session: session[2], reverse=True)
    while sum(size for _, _, size in left) > limit:
        by_user = Counter[str]()
        for _, user, size in left:
            by_user[user] += size
        ((greedy, _),) = by_user.most_common(1)
        largest = next(session for session in left if session[1] == greedy)
        left.remove(largest)
        ended.append(largest[0])
    return ended


def _too_much(kept: list[tuple[int, int]], limits: SessionLimits) -> list[int]:
    """Return the sessions to end, of `kept`, the largest first: those over their limit, then until all are below theirs."""
    ended: list[int] = []
    total = sum(size for _, size in kept)
    for pid, size in kept:
        if size > limits.session or total > limits.all:
            ended.append(pid)
            total -= size
    return ended
