"""Those that are asked: a peer in a process of its own, which speaks lines of JSON, and dpsql through psycopg."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import duckdb
import psycopg

import dpsql
from benchmarks.peers.questions import Question

_INSIDE = Path(__file__).with_name("inside")
_LEAST = 1e-6
"""By what part ε is less from one run to the next, so that dpsql does not give the answer that it has given."""


@dataclass(frozen=True, slots=True)
class Task:
    """How a question is asked: with what ε and δ, how often, and within what time."""

    epsilon: float
    delta: float
    repetitions: int
    seconds: float
    """No run begins after that time."""
    limit: float
    """After that time the question is given up."""


@dataclass(frozen=True, slots=True)
class Run:
    """One answer, and how long it took."""

    seconds: float
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """All runs of a question, or why there is none."""

    runs: tuple[Run, ...] = ()
    refused: str = ""


class System(Protocol):
    """Whatever can be asked."""

    def ask(self, question: Question, task: Task) -> Answer:
        """Return the answers of a question."""

    def close(self) -> None:
        """End it."""


class Peer:
    """A script in its own environment; one that does not answer in time is ended, and the next question starts another."""

    def __init__(self, python: Path, script: str, opening: Mapping[str, object]) -> None:
        self._command = [str(python), str(_INSIDE / script)]
        self._opening = opening
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""

    def ask(self, question: Question, task: Task) -> Answer:
        """Return the answers of a question."""
        if self._process is None:
            started = self._start()
            if started:
                return Answer(refused=started)
        said = self._say(
            {
                "sql": question.sql,
                "unit": question.unit,
                "epsilon": task.epsilon,
                "delta": task.delta,
                "repetitions": task.repetitions,
                "seconds": task.seconds,
            },
            task.limit,
        )
        if said is None:
            self.close()
            return Answer(refused=f"no answer within {task.limit:g} s")
        if "refused" in said:
            return Answer(refused=one_line(said["refused"]))
        return Answer(tuple(Run(**run) for run in said["runs"]))

    def megabytes(self) -> float:
        """Return how much memory the process has had at most; none if there is no process."""
        return 0.0 if self._process is None else _most_megabytes(self._process.pid)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _start(self) -> str:
        """Start the process; return why it can't be used, if it can't."""
        self._process = subprocess.Popen(  # noqa: S603 # a script of ours in an environment of ours
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._read = b""
        said = self._say(self._opening, 300.0)
        if said is None or "ready" not in said:
            self.close()
            return "does not start" if said is None else one_line(said["refused"])
        return ""

    def _say(self, request: Mapping[str, object], limit: float) -> dict[str, Any] | None:
        """Say a line and return what is answered; nothing if the process ends or the time does."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        deadline = time.monotonic() + limit
        while b"\n" not in self._read:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                return None
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Ours:
    """dpsql, served on this machine, with a session for each unit that is protected."""

    def __init__(self, config: Path, units: Sequence[str]) -> None:
        self._sessions = {unit: dpsql.connect(config, role=unit) for unit in units}
        self._asked = 0
        for session in self._sessions.values():
            session.autocommit = True
            session.execute("SET dpsql.reuse = 'off'")  # a question would be answered by what a larger ε has bought

    def ask(self, question: Question, task: Task) -> Answer:
        """Return the answers of a question."""
        session, begin = self._sessions[question.unit], time.perf_counter()
        runs: list[Run] = []
        try:
            session.execute(f"SET statement_timeout = {round(task.limit * 1000)}".encode())
            while len(runs) < task.repetitions and (not runs or time.perf_counter() - begin < task.seconds):
                self._asked += 1
                session.execute(f"SET dpsql.epsilon = '{task.epsilon * (1 - self._asked * _LEAST):.12f}'".encode())
                runs.append(timed(session, question.sql))
        except psycopg.Error as refused:
            return Answer(refused=one_line(str(refused.diag.message_primary or refused)))
        return Answer(tuple(runs))

    def megabytes(self) -> float:
        """Return how much memory that server has had at most which had most."""
        servers = (session._server for session in self._sessions.values())  # noqa: SLF001 # the process, not the session
        return max(_most_megabytes(server.pid) for server in servers if server is not None)

    def close(self) -> None:
        """End the sessions, and their servers."""
        for session in self._sessions.values():
            session.close()


class Exact:
    """The plain queries: PostgreSQL answers them; on DuckDB only their time is taken."""

    def __init__(self, dsn: str, file: Path | None = None) -> None:
        self._session = psycopg.connect(dsn, autocommit=True)
        self._timed = None if file is None else duckdb.connect(file, read_only=True)

    def ask(self, question: Question, task: Task) -> Answer:
        """Return the exact answer, several times."""
        return Answer(tuple(self._run(question.sql) for _ in range(min(task.repetitions, 3))))

    def close(self) -> None:
        """End the sessions."""
        self._session.close()
        if self._timed is not None:
            self._timed.close()

    def _run(self, sql: str) -> Run:
        run = timed(self._session, sql)
        if self._timed is None:
            return run
        try:
            return replace(run, seconds=timed(self._timed, sql).seconds)
        except duckdb.Error:
            return replace(run, seconds=0.0)  # a function that DuckDB has not


def timed(session: Any, sql: str) -> Run:
    """Run a statement and fetch its rows."""
    start = time.perf_counter()
    cursor = session.execute(sql)
    rows = cursor.fetchall()
    return Run(time.perf_counter() - start, [column[0] for column in cursor.description], rows)


def _most_megabytes(pid: int) -> float:
    """Return the most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def one_line(text: str, most: int = 110) -> str:
    """Return the beginning of a message, as it can stand in a table."""
    line = " ".join(text.replace("|", "/").split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
