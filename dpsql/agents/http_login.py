"""Over HTTP each request brings its own log-in: a name and a password of dpsql's, by HTTP's Basic scheme."""

import base64
import binascii
import json
from collections import Counter
from dataclasses import replace

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpsql.agents.session import AgentRefused, Login

_CLOSE = (b"connection", b"close")
_ADVICE = "Send the header `Authorization: Basic …` with a user of dpsql and their password."
_NO_REQUEST = -32_600
"""JSON-RPC's code for what is no valid request."""


def credentials(header: str | None) -> tuple[str, str] | None:
    """Return the name and the password in a header; None if it has none."""
    scheme, _, text = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(text.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (user, password) if colon and user and password and "\0" not in user + password else None


def login_of(request: object, login: Login) -> Login:
    """Return the log-in of one request.

    Raises:
        AgentRefused: it has none.
    """
    given = credentials(request.headers.get("authorization")) if isinstance(request, Request) else None
    if given is None:
        raise AgentRefused(f"not logged in to dpsql. {_ADVICE}")
    return replace(login, user=given[0], password=given[1], advice=_ADVICE)


_LARGEST = 1 << 20
"""Bytes of a request: some more than of the longest statement, so that tools can say that it is too long."""
_SMALL, _LARGE_AT_ONCE = 1 << 16, 4
"""Bytes of a request that is always taken, and how many larger ones are at a time: read, they take many times of that."""
_AT_ONCE = 8
"""Calls with one log-in at a time: each may keep an answer of megabytes."""


class NeedsLogin:
    """Answers requests without a log-in with 401, and says what is wanted; only calls of tools are passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._large = 0
        self._calls: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on that has a log-in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif (login := credentials(Request(scope).headers.get("authorization"))) is None:
            challenge = (b"www-authenticate", b'Basic realm="dpsql"')
            await _refuse(send, 401, f"not logged in to dpsql. {_ADVICE}", challenge)
        elif (
            scope["method"] == "GET"
        ):  # it would wait for events, of which there are none, with a password that nobody sees
            await _refuse(send, 405, "there are no events; POST calls a tool", (b"allow", b"POST"))
        elif self._calls[login] >= _AT_ONCE:
            await _refuse(send, 429, f"{_AT_ONCE} calls of yours are under way; wait for one of them", _CLOSE)
        else:
            self._calls[login] += 1
            try:
                await self._called(scope, receive, send)
            finally:
                self._calls[login] -= 1
                self._calls += Counter()  # without those that have none

    async def _called(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, once all of it has come."""
        body, is_large = bytearray(), False
        try:
            more = True
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    return
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > _SMALL and not is_large:
                    if self._large >= _LARGE_AT_ONCE:
                        await _refuse(send, 503, "too many large requests; send it again in a while", _CLOSE)
                        return
                    self._large, is_large = self._large + 1, True
                if len(body) > _LARGEST:
                    await _refuse(send, 413, f"a request has {_LARGEST:,} bytes at most", _CLOSE)
                    return
            await self._app(scope, _Given(bytes(body), receive), send)
        finally:
            self._large -= is_large


class _Given:
    """Gives a body that has come already, and then what else comes."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        """Return the next message."""
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _refuse(send: Send, status: int, message: str, header: tuple[bytes, bytes]) -> None:
    error = {"code": _NO_REQUEST, "message": message}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), header]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
