"""Headers of every response: the browser runs and loads our own files only, sends nothing elsewhere, and keeps no page."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_FIXED = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_MOST = 64 * 1024
"""The largest body of a request; forms here are a few lines."""


class SafeHeaders:
    """Middleware that adds the headers and turns large bodies away before anything reads them."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self._app = app
        self._secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._dress(MutableHeaders(scope=message), scope["path"])
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size = Headers(scope=scope).get("content-length", "0")
        chunked = "transfer-encoding" in Headers(scope=scope)
        if chunked or not size.isdecimal() or int(size) > _MOST:
            await PlainTextResponse("too large", 413)(scope, receive, dressed)
        else:
            await self._app(scope, receive, dressed)

    def _dress(self, headers: MutableHeaders, path: str) -> None:
        headers.update(_FIXED)
        headers["Cache-Control"] = "no-cache" if path.startswith("/static/") else "no-store"
        if self._secure:
            headers["Strict-Transport-Security"] = "max-age=31536000"
