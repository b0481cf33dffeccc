"""What one analyst may do to stop everybody, sent from many connections by a process of its own.

To the server itself, or through `dpsql mcp`, which serves agents over HTTP.
"""

import base64
import contextlib
import json
import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dpsql.wire.protocol.messages import SYNC, message, parse_message, text
from tests.support.spinning import SPINNING

_NUMBERS = count()
"""No statement is the same twice."""
OTHER = "bob"
"""Another user, of the same password."""


def _sum_of_subqueries(n: int) -> str:
    parts = " + ".join("(select 1)" for _ in range(200))
    return f"explain select count(*) from trips where fare between {parts} + {n} and 2000"


def _doubling(n: int) -> str:
    ctes = ", ".join(f"a{i} as (select x.v from a{i - 1} x join a{i - 1} y on x.v = y.v)" for i in range(1, 19))
    return f"with a0 as (select {n} as v), {ctes} select count(*) from trips join a18 on fare = v"


def _spinning(n: int) -> str:
    text = "length(translate(lpad('0', 100000, 'a'), lpad('', 100000, 'b'), 'c'))"
    return f"explain select count(*) from trips where fare > {text} + {n}"


def _keys(n: int) -> str:
    keys = ", ".join(f"passenger_count + {i}" for i in range(1280))
    return f"explain select count(*) + {n} from trips group by {keys}"


def _long(n: int) -> str:
    return f"select {','.join(['1'] * 400_000)} -- dpsql.budget {n}"


def _own_session(n: int) -> str:
    return f"select length(translate(repeat('0', 3000000), repeat('b', 30000), 'c')) + {n}"


def _deaf(n: int) -> str:
    return f"select {n}, {SPINNING}"


def _computing(n: int) -> str:
    return f"select count(*) + {n} from (select generate_series(1, 50000000)) as s"


def _many(n: int) -> str:
    return "; ".join(["select 1"] * 180) + f"; select {n}"


def query(statement: str) -> bytes:
    """Build a simple Query."""
    return message(b"Q", text(statement))


def _parses(name: bytes, statements: Iterable[str]) -> bytes:
    return b"".join(parse_message(name, statement.encode()) for statement in statements)


def _pipelined(n: int) -> bytes:
    return _parses(b"", (f"select {n}, {i}" for i in range(5_000))) + SYNC


def _pipelined_answers(n: int) -> bytes:
    return _parses(b"", (f"select count(*) + {n} from trips where fare > {i}" for i in range(2_000))) + SYNC


def _queries(n: int) -> bytes:
    return b"".join(query(f"select {n}, {i}") for i in range(5_000))


def _megabyte(n: int) -> bytes:
    return query(f"selec {'1+' * 500_000}{n}")


def _two_kilobytes(n: int) -> bytes:
    return b"".join(query(f"select {'1+' * 950}{n} + {i}") for i in range(20))


def _copied(n: int) -> bytes:
    return (
        query(f"create temp table if not exists t (a text); copy t from stdin -- {n}") + message(b"d", b"\n") * 20_000
    )


def _half_sent(n: int) -> bytes:
    return query(f"select {n}")[:-2]


RAW: Mapping[str, Callable[[int], bytes]] = {
    "5,000 parses at once": _pipelined,
    "2,000 parses of answers at once": _pipelined_answers,
    "5,000 queries at once": _queries,
    "a megabyte with a slip": _megabyte,
    "two kilobytes": _two_kilobytes,
    "20,000 pieces of copied data": _copied,
    "what is half sent": _half_sent,
}
"""Attacks as bytes, to which nobody waits for an answer."""
ATTACKS: Mapping[str, Callable[[int], str]] = {
    "nothing": lambda n: f"select {n}",
    "200 subqueries": _sum_of_subqueries,
    "18 CTEs, each twice the one before": _doubling,
    "constants that spin": _spinning,
    "1,280 keys": _keys,
    "400,000 outputs": _long,
    "180 statements in a message": _many,
    "what spins in a session's own PostgreSQL": _own_session,
    "what hears no cancel there": _deaf,
    "what computes there": _computing,
}


def _megabyte_asked(n: int) -> str:
    return f"select repeat('x', 1000000), {n} from generate_series(1, 1000)"


def _large_value(n: int) -> str:
    return f"select repeat('x', 200000000) || {n}"


def _planned(n: int) -> str:
    return f"select payment_type, avg(fare) from trips where fare < 100 + 0.0001 * {n} group by 1"


AGENTS: Mapping[str, tuple[str, Callable[[int], str]]] = {
    "an agent's rows of a megabyte": ("ask", _megabyte_asked),
    "an agent's value of 200 megabytes": ("ask", _large_value),
    "an agent's plans": ("plan", _planned),
    "an agent's spinning constants": ("plan", lambda n: _spinning(n).removeprefix("explain ")),
    "halves of agents' requests": ("", str),
}
"""Attacks through `dpsql mcp`: the tool that is called, and the statement that it is given; nothing: half of a call."""

WRONG_PASSWORDS = "wrong passwords"
"""An attack of somebody who has no log-in, from the address of all others."""


@contextmanager
def attacking(dsn: str, attack: str, connections: int, agents: int = 0) -> Iterator[None]:
    """Send one of the attacks from so many connections, in a process of its own, until the block ends.

    `dpsql mcp` listens on port `agents`, if it is attacked; `dsn` has the password in words then.
    """
    args = (dsn, attack, connections, agents)
    process = multiprocessing.get_context("spawn").Process(target=_attack, args=args, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _attack(dsn: str, attack: str, connections: int, agents: int) -> None:
    if attack in RAW:
        send = partial(_send_raw, dsn, RAW[attack])
    elif attack in AGENTS:
        send = partial(_call, dsn, agents, *AGENTS[attack])
    elif attack == WRONG_PASSWORDS:
        send = partial(_guess, dsn)
    else:
        send = partial(_send, dsn, ATTACKS[attack])
    threads = [threading.Thread(target=send, daemon=True) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _send(dsn: str, attack: Callable[[int], str]) -> None:
    while True:
        with contextlib.suppress(psycopg.Error), psycopg.connect(dsn, autocommit=True) as connection:
            while not connection.closed:
                with contextlib.suppress(psycopg.DatabaseError):
                    connection.execute(attack(next(_NUMBERS)).encode())
        time.sleep(0.1)


def _send_raw(dsn: str, attack: Callable[[int], bytes]) -> None:
    while True:
        with (
            contextlib.suppress(psycopg.Error, OSError),
            psycopg.connect(dsn, autocommit=True) as connection,
            socket.socket(fileno=os.dup(connection.fileno())) as sent,
        ):
            sent.settimeout(60)
            threading.Thread(target=_drain, args=(sent,), daemon=True).start()
            while True:
                sent.sendall(attack(next(_NUMBERS)))
        time.sleep(0.1)


def _call(dsn: str, port: int, tool: str, attack: Callable[[int], str]) -> None:
    words = conninfo_to_dict(dsn)
    login = base64.b64encode(f"{words['user']}:{words['password']}".encode()).decode()
    while True:
        arguments = {"statement": attack(next(_NUMBERS))}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        body = json.dumps(call)
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Basic {login}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall((head + (body if tool else body[:10])).encode())
            _drain(connection)
        time.sleep(0.1)


def _guess(dsn: str) -> None:
    while True:
        words = make_conninfo(dsn, user=f"nobody{next(_NUMBERS)}", password="guessed", connect_timeout=30)  # noqa: S106
        with contextlib.suppress(psycopg.Error):
            psycopg.connect(words).close()
        time.sleep(0.1)


def _drain(received: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while received.recv(2**16):
            pass


@dataclass(frozen=True, slots=True)
class Waits:
    """How long another user waited, in seconds by the clock, each time."""

    connecting: list[float] = field(default_factory=list)
    """For a connection."""
    plain: list[float] = field(default_factory=list)
    """For `SELECT 1`."""
    again: list[float] = field(default_factory=list)
    """For an answer that is stored."""
    explained: list[float] = field(default_factory=list)
    """For EXPLAIN of a new statement."""


_STORED = "SELECT count(*) FROM trips"


def prepare(dsn: str) -> None:
    """Ask what is to be asked again, and have the synthetic databases made, once."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in (_STORED, _new()):
            connection.execute(statement.encode())


def waits(dsn: str, seconds: float) -> Waits:
    """Return how long another user waits meanwhile, who asks one thing after the other."""
    waited, since = Waits(), time.monotonic()
    with psycopg.connect(dsn, autocommit=True) as connection:
        waited.connecting.append(time.monotonic() - since)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for took, sql in ((waited.plain, "SELECT 1"), (waited.again, _STORED), (waited.explained, _new())):
                since = time.monotonic()
                connection.execute(sql.encode())
                took.append(time.monotonic() - since)
            time.sleep(0.02)
    return waited


def _new() -> str:
    return f"EXPLAIN SELECT payment_type, avg(fare) FROM trips WHERE fare < 100 + 0.0001 * {next(_NUMBERS)} GROUP BY 1"


def with_another(config: Path) -> None:
    """Add another user of the same role and password."""
    text = config.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("  ana:"))
    config.write_text(text + line.replace("ana", OTHER, 1) + "\n", encoding="utf-8")
