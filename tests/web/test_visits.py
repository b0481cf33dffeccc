"""Connections of browsers as bytes: each has so long for a request, and those that wait make room for others."""

import asyncio
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dpsql.gateway.readiness import ReadyState
from dpsql.policy.config import Listen
from dpsql.web.app import Pages
from dpsql.web.site import Site
from tests.web.conftest import POLICY, USERS, Server

PATIENCE = 1.0
MOST = 8
HEAD = b"GET /login HTTP/1.1\r\nHost: here\r\n"
WHOLE = HEAD + b"\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
POST = b"POST /login HTTP/1.1\r\nHost: here\r\n" + FORM
WIRE = Path(__file__).parent.parent / "wire"


@contextmanager
def served(
    server: Server,
    request_timeout: float = PATIENCE,
    tls: ssl.SSLContext | None = None,
    most: int = MOST,
    ready: Callable[[], ReadyState] | None = None,
) -> Iterator[int]:
    """Serve the pages on a loop of their own; gives the port."""
    site = Site(POLICY, USERS, server.connect, server, os.urandom, time.monotonic, ready or slow)
    pages = Pages(Listen("127.0.0.1", 0), site, most=most, tls=tls, request_timeout=request_timeout)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(pages.start(), loop).result(10)
    try:
        yield int(pages.url.rstrip("/").rpartition(":")[2])
    finally:
        asyncio.run_coroutine_threadsafe(pages.stop(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def slow() -> ReadyState:
    """Take longer than a request may take to come."""
    time.sleep(PATIENCE * 2)
    return ReadyState()


@pytest.fixture
def port(server: Server) -> Iterator[int]:
    """Give the port of pages without TLS."""
    with served(server) as listening:
        yield listening


def connected(port: int) -> socket.socket:
    """Connect, and wait for nothing longer than ten seconds."""
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def read(browser: socket.socket) -> bytes:
    """Return what comes until the server hangs up, orderly or not."""
    received = b""
    while True:
        try:
            piece = browser.recv(65536)
        except ConnectionResetError:
            return received
        if not piece:
            return received
        received += piece


PARTS = (b"", b"G", HEAD, POST, POST + b"user=", WHOLE + HEAD)


def test_request_that_does_not_come_is_not_waited_for(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever of it has come; and nobody can fill the log that way."""
    with served(server, most=100) as port, ExitStack() as until:
        browsers = [until.enter_context(connected(port)) for _ in PARTS]
        for browser, sent in zip(browsers, PARTS, strict=True):
            browser.sendall(sent)
        for browser, sent in zip(browsers, PARTS, strict=True):
            received = read(browser)
            assert received.startswith(b"HTTP/1.1 200") if WHOLE in sent else received == b"", sent
    assert caplog.records == []


@pytest.mark.parametrize("sent", [b"\0\0\r\n\r\n", HEAD + b"Upgrade: websocket\r\nConnection: upgrade, close\r\n\r\n"])
def test_what_is_no_request_leaves_the_log_alone(port: int, sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """It is answered, and that is all."""
    with connected(port) as browser:
        browser.sendall(sent)
        assert read(browser).startswith(b"HTTP/1.1")
    assert caplog.records == []


@pytest.mark.parametrize("begun", [b"", POST])
def test_request_that_drips_is_not_waited_for(port: int, begun: bytes) -> None:
    """Each byte would win time otherwise, in the head and in the body."""
    with connected(port) as browser:
        browser.sendall(begun)
        assert _dripped(browser) < 10


def _dripped(browser: socket.socket) -> float:
    """Send a byte now and then until the server has hung up; return how many seconds that took."""
    since = time.monotonic()
    while (passed := time.monotonic() - since) < 10:
        try:
            browser.sendall(b"x")
        except OSError:
            break
        time.sleep(PATIENCE / 5)
    return passed


def test_answer_that_takes_longer_is_given(port: int) -> None:
    """Only what the browser is to send is hurried."""
    with connected(port) as browser:
        browser.sendall(b"GET /ready HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert read(browser).endswith(b"ready\n")


def _answered(port: int) -> bytes:
    """Ask once; return how the answer begins."""
    with connected(port) as browser:
        try:
            browser.sendall(WHOLE)
            return browser.recv(12)
        except ConnectionResetError:
            return b""


def test_those_who_wait_make_room(server: Server) -> None:
    """After a moment the oldest of them goes; whoever is answered stays."""
    with served(server, request_timeout=30.0) as port, connected(port) as answered:
        answered.sendall(b"GET /ready HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        idle = [connected(port) for _ in range(MOST)]
        assert read(idle[-1]).startswith(b"HTTP/1.1 503")
        deadline = time.monotonic() + 60
        while _answered(port) != b"HTTP/1.1 200":
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert read(idle[0]) == b""
        assert read(answered).endswith(b"ready\n")
        for connection in idle:
            connection.close()


def test_those_who_ask_whether_it_is_ready_keep_nobody_waiting(server: Server) -> None:
    """However many there are, and however long the engine takes to say so."""
    answered = threading.Event()

    def wait() -> ReadyState:
        assert answered.wait(30)
        return ReadyState()

    with served(server, request_timeout=30.0, most=200, ready=wait) as port:
        asking = [connected(port) for _ in range(60)]
        for browser in asking:
            browser.sendall(b"GET /ready HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        with connected(port) as other:
            other.sendall(b"GET /static/style.css HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            assert read(other).startswith(b"HTTP/1.1 200")
        answered.set()
        assert all(read(browser).endswith(b"ready\n") for browser in asking)
        for browser in asking:
            browser.close()


def test_handshake_that_does_not_come_makes_room(server: Server) -> None:
    """TLS that was begun is a connection like others."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(WIRE / "localhost.crt", WIRE / "localhost.key")
    trusting = ssl.create_default_context(cafile=WIRE / "localhost.crt")
    with served(server, 30.0, context) as port:
        silent = [connected(port) for _ in range(MOST // 2)]
        time.sleep(1.2)
        with connected(port) as raw, trusting.wrap_socket(raw, server_hostname="localhost") as browser:
            browser.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert browser.recv(12) == b"HTTP/1.1 200"
        assert read(silent[0]) == b""
        for connection in silent:
            connection.close()
