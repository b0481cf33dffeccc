"""Over HTTP each request brings its own log-in: a name and a password of dpsql's, by HTTP's Basic scheme."""

import base64
import binascii
import json
from dataclasses import replace

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpsql.agents.session import AgentRefused, Login

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


_LARGEST = 2 << 20
"""Bytes of a request: some more than of the longest statement, so that tools can say that it is too long."""


class NeedsLogin:
    """Answers requests without a log-in with 401, and says what is wanted; only calls of tools are passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on that has a log-in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif credentials(Request(scope).headers.get("authorization")) is None:
            challenge = (b"www-authenticate", b'Basic realm="dpsql"')
            await _refuse(send, 401, f"not logged in to dpsql. {_ADVICE}", challenge)
        elif (
            scope["method"] == "GET"
        ):  # it would wait for events, of which there are none, with a password that nobody sees
            await _refuse(send, 405, "there are no events; POST calls a tool", (b"allow", b"POST"))
        elif (body := await _body(receive)) is None:
            await _refuse(send, 413, f"a request has {_LARGEST:,} bytes at most", (b"connection", b"close"))
        else:
            await self._app(scope, _Given(body, receive), send)


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None where it is too large, or does not come."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] != "http.request" or len(body) > _LARGEST:
            return None
        if not message.get("more_body", False):
            return bytes(body)


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
