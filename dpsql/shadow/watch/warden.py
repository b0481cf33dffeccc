"""Sees to it that no client fills disk or memory, leaves settings, passwords and sessions behind, or keeps the processors.

PostgreSQL has no limit for temporary tables (`temp_file_limit` is about sorting), none for the memory of all sessions
together, no privilege for settings and passwords, and gives nobody a share of the processors. Where memory ends the system
kills a process, and PostgreSQL then ends all sessions.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from dpsql.shadow.contents.role import ORACLE

# The sessions in the shadow, with facts beside PostgreSQL's own: one record for all who begin, count and end them.

# The system's view of a session's process; nothing where it has no /proc.


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process, as it was seen."""

    began: int
    """When, by the system's own count: another process that gets its number later began later."""
    worked: float
    """Seconds that it has had a processor."""


def memory_of(process: int) -> int:
    """Return the bytes that a process has for itself; nothing where it has ended, or can't be read."""
    if sys.platform != "linux":
        return 0
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def memory_to_be_had(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the bytes that the machine has, or as many as a container or systemd lets this process and its children have."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    try:
        path = own.read_text(encoding="ascii").partition("0::/")[2].strip()
    except (OSError, ValueError):
        return limits[0]
    place = groups / path
    for group in (place, *place.parents):
        if group.is_relative_to(groups):
            with suppress(OSError, ValueError):  # `max`, or a group that is not to be seen
                limits.append(int((group / "memory.max").read_text(encoding="ascii")))
    return min(limits)


def read_process(process: int) -> SeenProcess | None:
    """Return the state of a process; None if it has ended, or can't be read."""
    if sys.platform != "linux":
        return None
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
        if fields[0] in {"Z", "X"}:
            return None
        return SeenProcess(int(fields[19]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return None


# Sessions of the shadow that nobody waits for any more, and which may not have heard of it: counted, and ended.
#
# Most of PostgreSQL looks now and then whether it is to stop. Some functions do not, for any arguments (`LIKE`, for
# one), and to kill the process of one would end everybody's session, because the shadow starts anew where a process
# dies. But PostgreSQL takes SIGFPE for an error in its arithmetic, and raises that wherever it is, at once: the
# transaction is rolled back, and the session, which was told to end before, does.
#
# Promise: a session that was left behind ends within seconds of the processor, and until then its user has no other in its
# place.

_LOG = logging.getLogger("dpsql.shadow")
_DEAF_AFTER = 0.2
"""Seconds of the processor after which who was told to end, and has not ended, does not look: the others take a twentieth."""
_TIDYING = 10.0
"""Seconds likewise where there are temporary tables: thousands of them are dropped at the end, and would stay."""


@dataclass(slots=True)
class _Left:
    whose: str
    seen: SeenProcess
    told: bool = False
    """Whether it was told to end, when it was seen last."""


class LeftoverSessions:
    """The sessions; any thread may add some and ask, the warden looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[int, _Left] = {}

    def add(self, process: int, whose: str) -> None:
        """Leave a session, known by its process, of a user; again and again, if need be."""
        seen = read_process(process)
        with self._lock:
            earlier = self._left.get(process)
            if seen is not None and (earlier is None or earlier.seen.began != seen.began):
                self._left[process] = _Left(whose, seen)

    def of(self, user: str) -> int:
        """Return how many of a user's have not ended yet."""
        return sum(left.whose == user for left in self._still())

    @property
    def number(self) -> int:
        """Return how many of all have not ended yet."""
        return len(self._still())

    def look(self, keeping: Collection[int] = ()) -> None:
        """Tell those to end that are still there, and stop those wherever they are that have not listened.

        `keeping` are the processes that have temporary tables.
        """
        self._still()
        stopped = 0
        with self._lock:
            for process, left in self._left.items():
                now = read_process(process)
                if now is None or now.began != left.seen.began:
                    continue
                if not left.told:
                    left.told, left.seen = True, now
                    _signal_process(process, signal.SIGTERM)
                elif now.worked > left.seen.worked + (_TIDYING if process in keeping else _DEAF_AFTER):
                    left.seen = now
                    _signal_process(process, signal.SIGFPE)
                    stopped += 1
        if stopped:
            _LOG.warning("sessions of the shadow that did not listen were stopped where they were: %d", stopped)

    def _still(self) -> tuple[_Left, ...]:
        with self._lock:
            for process, left in tuple(self._left.items()):
                now = read_process(process)
                if now is None or now.began != left.seen.began:
                    del self._left[process]
            return tuple(self._left.values())


def _signal_process(process: int, kind: signal.Signals) -> None:
    with contextlib.suppress(OSError):  # it has just ended, or we may not: it goes on to count
        os.kill(process, kind)


# Lets sessions of a user who keeps the shadow's processors busy stand back behind those of others.
#
# PostgreSQL gives every session a process, and the system every process its turn: a user with a hundred sessions that
# compute would let another wait for a hundred turns. With the lowest priority they have what others leave, and lose
# nothing else.

_LOWEST = 19
_BUSY_SHARE = 0.5
"""Processors that the sessions of one user may keep busy before they stand back."""
_BEGINNING = 0.1
"""Seconds of the processor that a session may take to begin, and more than it does: many may begin at once."""
_STAYS = 30.0
"""Seconds for which new sessions of who kept them busy stand back from their beginning: they begin all at once, if one
that ends is replaced by another."""


class Priorities:
    """Looks now and then; what was told to stand back does so for as long as it lasts. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worked: Mapping[int, float] = {}
        self._at = 0.0
        self._busy: dict[str, float] = {}
        """Until when new sessions of a user stand back."""

    def begin(self, process: int, user: str, now: float) -> None:
        """Hear of a new session before it has done anything."""
        with self._lock:
            back = now < self._busy.get(user, 0.0)
        if back:
            _stand_back(process)

    def look(self, sessions: Iterable[tuple[int, str]], now: float) -> frozenset[str]:
        """Let those stand back that have worked too much since the last look; return whose they are.

        `sessions` are the processes with the names of their users, `now` is in seconds.
        """
        users = dict(sessions)
        worked = {process: work.worked for process in users if (work := read_process(process)) is not None}
        spent: defaultdict[str, float] = defaultdict(float)
        for process, seconds in worked.items():
            before = self._worked.get(process, min(seconds, _BEGINNING) if self._at else seconds)
            spent[users[process]] += seconds - before
        busy = frozenset(user for user, seconds in spent.items() if seconds > _BUSY_SHARE * max(now - self._at, 0.1))
        self._worked, self._at = worked, now
        with self._lock:
            self._busy = {user: until for user, until in self._busy.items() if until > now}
            self._busy |= dict.fromkeys(busy, now + _STAYS)
            back = frozenset(self._busy)
        for process in worked:
            if users[process] in back:
                _stand_back(process)
        return busy


def _stand_back(process: int) -> None:
    """Give a process the lowest priority, and its group, which is its own: where Linux makes groups, only theirs count.

    One processor is left to others, where there are several: a hundred processes of the lowest priority still let who
    wakes up wait for tenths of a second.
    """
    with contextlib.suppress(OSError):
        first, *more = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(process, more or {first})
    with contextlib.suppress(OSError):  # it has just ended
        os.setpriority(os.PRIO_PROCESS, process, _LOWEST)
    with contextlib.suppress(OSError):  # there are none, or too many were told just now: then at the next look
        Path(f"/proc/{process}/autogroup").write_text(str(_LOWEST), encoding="ascii")


@dataclass(frozen=True, slots=True)
class ShadowSessions:
    """The sessions of one server's shadow."""

    left: LeftoverSessions = field(default_factory=LeftoverSessions)
    """Those that nobody waits for any more, and that have not ended."""
    priorities: Priorities = field(default_factory=Priorities)
    """The sessions that stand back behind others."""


_WARDEN_PAUSE = 0.5  # seconds between two looks

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
_TEMPORARY_FILES = f"""
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
        while not self._over.wait(_WARDEN_PAUSE):
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
        # PostgreSQL lets every role do these two with itself, and has no right to take away: they are undone instead.
        for (role,) in self._connection.execute(_STORED).fetchall():
            _LOG.error("settings that %s had stored for later sessions were taken back", role)
        for (role,) in self._connection.execute(_LOCKED).fetchall():
            _LOG.error("the password that %s had changed was set back", role)
        kept = [
            (pid, size)
            for pid, size in self._connection.execute(_TEMPORARY_FILES.encode()).fetchall()
            if pid is not None
        ]
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
