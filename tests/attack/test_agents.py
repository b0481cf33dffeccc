"""`dpsql mcp` serves many: one who sends halves of requests, or asks for megabytes, holds nobody up and fills no memory."""

import asyncio
import base64
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpsql.agents.session import AgentRefused, Login
from dpsql.agents.tools import LONGEST_ANSWER, Wishes, tell_answer, tell_plan
from dpsql.private_files import Scratch
from tests.agents.test_mcp import Call, Refused, over_http
from tests.clients.site import Site, configure, free_port, serving
from tests.support.schema import APART, configured, of

_DPSQL = [sys.executable, "-c", "from dpsql.cli.main import app; app()", "mcp"]
_DESCRIPTORS = 256
_HALVES = (
    b"",
    b"POST /mcp HTTP/1.1\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic YW5hOng=\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
)
_PATIENCE = 300.0
"""Seconds: 200 MB take one of two busy cores a while."""
_MEBIBYTE = 1024  # in the KiB of /proc
_MANY = 2_000_000
_BODIES: Mapping[str, bytes] = {
    "a batch": b"[" + b'{"jsonrpc":"2.0","id":1,"method":"ping"},' * (_MANY // 45) + b"{}]",
    "lists": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"statement":"SELECT 1","x":['
    + b"[]," * (_MANY // 3)
    + b"[]]}}}",
}
"""Requests of two megabytes, which take many times of it to be read."""
_RATE = "  agent: {protects: passenger, budget: {epsilon: 3}, per_query: {epsilon: 0.1}, preview: made-up}\nusers:"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Give a dpsql with ana, and with bot, whose role sees made-up rows and may take a profile."""
    with Scratch("dpsql-agents-", mode=0o711) as place:
        config = configure(place.path)
        text = config.read_text(encoding="utf-8").replace("users:", configured(_RATE))
        text = text.replace(
            "{passenger: {epsilon: 10000000}}", f"{{passenger: {{epsilon: 10000000, profile: {0.5 + APART / 2}}}}}", 1
        )  # of which decoys have their half
        verifier = text[text.index('password: "') :].partition("}")[0]
        config.write_text(text.rstrip() + f"\n  bot: {{role: agent, {verifier}}}\n", encoding="utf-8")
        with serving(config) as site:
            yield site


@dataclass(frozen=True, slots=True)
class Agents:
    """A server for agents, in a process of its own."""

    port: int
    process: int

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def peak(self) -> int:
        """Return the most memory that it had since it was asked last, in KiB."""
        held = int(Path(f"/proc/{self.process}/status").read_text(encoding="ascii").partition("VmHWM:")[2].split()[0])
        Path(f"/proc/{self.process}/clear_refs").write_text("5", encoding="ascii")
        return held


@contextmanager
def _served(site: Site) -> Iterator[Agents]:
    port = free_port()
    address = f"host={site.host} port={site.port} dbname={site.database} sslmode=disable"
    limited = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*_DPSQL, address, "--http", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, env=environment, preexec_fn=limited) as process:  # noqa: PLW1509, S603 # ourselves
        try:
            while not _listens(port):
                assert process.poll() is None
                time.sleep(0.05)
            yield Agents(port, process.pid)
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def agents(site: Site) -> Iterator[Agents]:
    """Give a server that may have few connections."""
    with _served(site) as agents:
        yield agents


def _called(agents: Agents, user: str, password: str, run: Callable[[Call], Coroutine[Any, Any, Any]]) -> Any:
    async def called() -> Any:
        async with over_http(agents.url, user, password) as (_, call):
            return await run(call)

    return asyncio.run(asyncio.wait_for(called(), _PATIENCE))


def test_halves_of_requests_hold_nobody(site: Site, agents: Agents) -> None:
    """More of them than the process may have connections: who logs in is let in."""
    with ExitStack() as until:
        halves = []
        for place in range(_DESCRIPTORS + 100):
            halves.append(until.enter_context(socket.create_connection(("127.0.0.1", agents.port), timeout=40)))
            halves[-1].sendall(_HALVES[place % len(_HALVES)])
        assert _let_in(agents, site)["epsilon_left"] > 0


def _let_in(agents: Agents, site: Site) -> Any:
    """Return what is left, as told to somebody who is let in within some seconds, though perhaps not at once."""
    last = time.monotonic() + 5
    while True:
        try:
            return _called(agents, "ana", site.password, lambda call: call("budget"))
        except ExceptionGroup:
            assert time.monotonic() < last
            time.sleep(0.2)


def test_a_large_request_is_turned_away(agents: Agents) -> None:
    """A statement has 32,000 characters at most, and what is more is not kept."""
    agents.peak()
    with socket.create_connection(("127.0.0.1", agents.port), timeout=20) as client:
        client.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic YW5hOng=\r\n")
        client.sendall(b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
        try:
            for _ in range(200):
                client.sendall(chunk)
        except OSError:
            pass
    before = agents.peak()
    time.sleep(0.5)
    assert before < 200 * _MEBIBYTE


def _posted(agents: Agents, user: str, password: str, body: bytes, more: int = 0) -> socket.socket:
    """Send a call, of which `more` bytes are missing."""
    client = socket.create_connection(("127.0.0.1", agents.port), timeout=_PATIENCE)
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{agents.port}\r\nAuthorization: Basic {login}\r\nConnection: close\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Length: {len(body) + more}\r\n\r\n"
    )
    with suppress(OSError):
        client.sendall(head.encode() + body)
    return client


def _answered(clients: Iterable[socket.socket]) -> list[bytes]:
    """Return the first lines of what is answered, as far as something is."""
    lines = []
    for client in clients:
        with suppress(OSError), client.makefile("rb") as answer:
            lines.append(answer.readline())
            answer.read()
    return lines


@pytest.mark.parametrize("body", _BODIES.values(), ids=_BODIES)
@pytest.mark.parametrize("more", [0, 100], ids=["whole", "but for its end"])
def test_many_large_requests_fill_no_memory(site: Site, agents: Agents, body: bytes, more: int) -> None:
    """Of those who have no log-in, too: a few are taken at a time, and who asks something short is answered meanwhile."""
    before = agents.peak()
    with ExitStack() as until:
        for place in range(60):
            until.enter_context(_posted(agents, f"nobody{place}", "guessed", body, more))
        assert _let_in(agents, site)["epsilon_left"] > 0
    assert agents.peak() < before + 100 * _MEBIBYTE


def test_one_agent_has_few_calls_at_a_time(site: Site, agents: Agents) -> None:
    """Each may keep a row of megabytes; those that are too many hear so at once, and the next are taken again."""
    arguments = {"statement": "SELECT repeat('x', 3000000) FROM generate_series(1, 10)"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": arguments}}
    before = agents.peak()
    with ExitStack() as until:
        many = [
            until.enter_context(_posted(agents, "ana", site.password, json.dumps(call).encode())) for _ in range(24)
        ]
        lines = Counter(_answered(many))
    assert lines.keys() == {b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 429 Too Many Requests\r\n"}
    assert agents.peak() < before + 150 * _MEBIBYTE
    assert _let_in(agents, site)["epsilon_left"] > 0


_LARGE: Mapping[str, str] = {
    "rows": "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)",
    "columns": "SELECT " + ", ".join(["repeat('x', 1000000)"] * 200),
    "value": "SELECT repeat('x', 200000000)",
    "beside a count": "SELECT count(*), repeat('x', 200000000) FROM trips",
    "command": "VALUES (repeat('x', 200000000))",
    "explained": "EXPLAIN VERBOSE SELECT " + ", ".join(["repeat('x', 10000000)"] * 30),
    "copy": "COPY (SELECT repeat('x', 200000000)) TO STDOUT",
}


_SLOW = frozenset({"beside a count", "explained"})
"""Tried by `make test-all` only: each takes a minute, and the shadow does the work."""


@pytest.mark.parametrize(
    "statement",
    [pytest.param(sql, id=name, marks=[pytest.mark.slow] * (name in _SLOW)) for name, sql in _LARGE.items()],
)
def test_a_large_answer_fills_no_memory(site: Site, agents: Agents, statement: str) -> None:
    """Rows beyond a size are left out and counted; a row that is larger by itself is not waited for."""
    agents.peak()

    async def run(call: Call) -> Any:
        try:
            return await call("ask", statement=statement, rows=5_000, epsilon="1000")
        except Refused as refused:
            return str(refused)

    told = _called(agents, "ana", site.password, run)
    assert agents.peak() < 250 * _MEBIBYTE
    if not isinstance(told, str):
        assert told["rows_left_out"] == 999
        assert any(f"{LONGEST_ANSWER:,}" in said for said in told["notices"])


def test_of_a_large_answer_the_first_rows_are_told(site: Site) -> None:
    """As many as have room, though more of them were asked for."""
    login = Login(site.dsn)
    told = asyncio.run(tell_answer(login, "SELECT repeat('x', 1000) FROM generate_series(1, 3000)", rows=3_000))
    assert LONGEST_ANSWER // 1_100 <= len(told["rows"]) <= LONGEST_ANSWER // 1_000
    assert told["rows_left_out"] == 3_000 - len(told["rows"])


def _bot(site: Site) -> Login:
    return Login(site.dsn.replace("user=ana", "user=bot"))


def test_previews_are_told_to_roles_that_have_them(site: Site) -> None:
    """Planning them and asking for them, for nothing; for others they are refused as before."""
    preview = "SELECT fare, tip FROM trips LIMIT 5"
    planned = asyncio.run(tell_plan(_bot(site), preview))
    assert planned["epsilon"] == 0
    told = asyncio.run(tell_answer(_bot(site), preview, rows=10))
    assert (len(told["rows"]), told["columns"], told["epsilon_paid"]) == (5, ["fare", "tip"], 0)
    assert told["made_up"]
    assert any("made up" in said for said in told["notices"])
    for refused in (tell_plan(Login(site.dsn), preview), _asked(Login(site.dsn), preview)):
        with pytest.raises(AgentRefused, match=f"rows of {of('trips')} are protected"):
            asyncio.run(refused)


def _asked(login: Login, statement: str, epsilon: str | None = None) -> Coroutine[Any, Any, Mapping[str, Any]]:
    return tell_answer(login, statement, Wishes(epsilon), 10)


_PROFILE = "SELECT dpsql.take_profile()"


def test_a_profile_costs_what_its_plan_says(site: Site) -> None:
    """Its price is not a statement's: so it is told, and an agent pays no more for it than for any other."""
    planned = asyncio.run(tell_plan(_bot(site), _PROFILE, details=True))
    assert planned["epsilon"] == 0.5
    assert any("ε = 0.5" in line for line in planned["lines"])
    with pytest.raises(AgentRefused, match=r"costs ε = 0.5, and a call pays 0.1 at most"):
        asyncio.run(_asked(_bot(site), _PROFILE))
    told = asyncio.run(_asked(Login(site.dsn), f"{_PROFILE};", "1"))
    assert told["epsilon_paid"] == 0.5
    with pytest.raises(AgentRefused, match=r"pays 0.2 at most"):
        asyncio.run(_asked(Login(site.dsn), f"/* again */ {_PROFILE}", "0.2"))
