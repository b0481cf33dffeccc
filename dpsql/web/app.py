"""The pages as one ASGI application on their own address: routes, headers, log-ins, and what errors look like."""

import asyncio
import gzip
import math
import os
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from mimetypes import guess_type
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpsql.epsilon.numbers import BadInput
from dpsql.gateway.readiness import ReadyState
from dpsql.policy.config import Listen
from dpsql.web import budget, explore
from dpsql.web.asking import page as ask
from dpsql.web.choosing import choose
from dpsql.web.inputs import BadField
from dpsql.web.page_context import HERE, FailedAttempts, PageContext
from dpsql.web.sessions import LONGEST_VISIT, Sessions, Visitor
from dpsql.web.site import LoginRefused, ServerLost, ServerRefused, Site
from dpsql.wire.server.visits import REQUEST_TIMEOUT, Visits

# Headers of every response: the browser runs and loads our own files only, sends nothing elsewhere, and keeps no page.

# No 'unsafe-inline': a value of the data, or a column's name, that found its way into a page as HTML would run nothing.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_FIXED_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LARGEST_BODY = 64 * 1024
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
        # A body whose length is not said beforehand could only be refused after it was read.
        chunked = "transfer-encoding" in Headers(scope=scope)
        if chunked or not size.isdecimal() or int(size) > _LARGEST_BODY:
            await PlainTextResponse("too large", 413)(scope, receive, dressed)
        else:
            await self._app(scope, receive, dressed)

    def _dress(self, headers: MutableHeaders, path: str) -> None:
        headers.update(_FIXED_HEADERS)
        # Our own files may be kept, and are asked about again each time (ETag); a page has what one visitor may see.
        headers["Cache-Control"] = "no-cache" if path.startswith("/static/") else "no-store"
        if self._secure:
            headers["Strict-Transport-Security"] = "max-age=31536000"


# Our own files, sent compressed: they are the same for everybody.
#
# Pages are not compressed: what they hold of a visitor's secrets could be guessed by the lengths of answers (BREACH).

_TEXTS = frozenset({".js", ".css", ".svg", ".txt"})


class PackedFiles(StaticFiles):
    """Static files, of which texts are compressed once."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file, compressed for whoever takes it so."""
        asked = Headers(scope=scope)
        if "gzip" not in asked.get("accept-encoding", "") or Path(full_path).suffix not in _TEXTS:
            response = super().file_response(full_path, stat_result, scope, status_code)
            # Either form says that there are two: a cache between us would hand gzip to whoever can't read it.
            response.headers["Vary"] = "Accept-Encoding"
            return response
        headers = {
            "Content-Encoding": "gzip",
            # Not the tag of the plain file, which is another body.
            "ETag": f'"{stat_result.st_mtime_ns:x}-{stat_result.st_size:x}-gzip"',
            "Vary": "Accept-Encoding",
        }
        kind, _ = guess_type(full_path)
        packed = Response(compress_file(Path(full_path), stat_result.st_mtime_ns), status_code, headers, kind)
        return NotModifiedResponse(packed.headers) if self.is_not_modified(packed.headers, asked) else packed


@cache
def compress_file(path: Path, _: int) -> bytes:
    """Return a file's contents, compressed; the number is when it was changed last."""
    # Without the time the bytes are the same in each process that serves the address.
    return gzip.compress(path.read_bytes(), mtime=0)


def compress_all(directory: Path) -> None:
    """Compress what will be asked for before anybody does."""
    for path in directory.rglob("*"):
        if path.suffix in _TEXTS:
            compress_file(path, path.stat().st_mtime_ns)


# Logging in and out: the name and the password are checked by logging in to the server, and only that connection is kept.

_WRONG = "Wrong name or password."


async def login_page(request: Request, context: PageContext) -> Response:
    """Return the form."""
    if await context.sessions.visitor(request):
        return RedirectResponse("/ask", 303)
    return arrival_page(request, context) or context.page(request, "login.html")


def arrival_page(request: Request, context: PageContext) -> Response | None:
    """Return a page that leads here anew, for who came by a link from another site and may be logged in.

    Their browser leaves the strict cookie out of that visit. A page with a form would set another in its place.
    """
    if request.headers.get("sec-fetch-site") != "cross-site":
        return None
    return context.page(request, "arrive.html", plain=True)


async def log_in(request: Request, context: PageContext) -> Response:
    """Log in."""
    # The token is wanted here, too: or a page of somebody else's could log a visitor in by a name of its own, under which
    # what they then ask is read.
    fields = await context.form(request)
    user, password = fields.get("user", ""), fields.get("password", "")
    address = request.client.host if request.client else ""
    # An attempt counts as failed from its beginning, and is forgotten when it succeeds: a hundred at once are a
    # hundred.
    wait = context.attempts.begin(address, user)
    if wait:
        refused = context.page(
            request, "login.html", status=429, error=f"Too many attempts. Try again in {math.ceil(wait / 60)} minutes."
        )
        refused.headers["Retry-After"] = str(math.ceil(wait))
        return refused
    try:
        client = await context.site.connect(user, password, address)
    except LoginRefused:
        return context.page(request, "login.html", status=401, error=_WRONG, user=user)
    except ServerRefused as refusal:
        return context.page(request, "login.html", status=503, error=refusal.message, user=user)
    context.attempts.succeed(address, user)
    await context.sessions.enter(request, context.site, user, client)
    return RedirectResponse("/ask", 303)


async def log_out(request: Request, context: PageContext) -> Response:
    """Log out."""
    await context.form(request)
    await context.sessions.leave(request)
    return RedirectResponse("/login", 303)


# The routes.

Open = Callable[[Request, PageContext], Awaitable[Response]]
Closed = Callable[[Request, PageContext, Visitor], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]
ErrorHandler = Callable[[Request, Exception], Awaitable[Response]]
_NOT_FOUND = 404


def make_app(site: Site) -> tuple[ASGIApp, PageContext]:
    """Return the application, and the state that its pages share."""
    sessions = Sessions(site.clock)
    context = PageContext(site, sessions, FailedAttempts(site.clock))
    cookie = Middleware(
        SessionMiddleware,
        # Drawn at each start and kept nowhere: cookies and forms of an earlier run are worthless.
        secret_key=sessions.secret,
        session_cookie=site.cookie,
        max_age=LONGEST_VISIT,
        same_site="strict",
        https_only=site.secure,
    )
    app = Starlette(
        routes=_routes(context),
        middleware=[cookie],
        exception_handlers={HTTPException: _unhappy(context), ClientDisconnect: _unheard, 500: _broken(context)},
    )
    app.router.redirect_slashes = False  # to an address that is made of the Host which the request names
    # Around everything, Starlette's own answers to a broken endpoint included.
    return SafeHeaders(app, secure=site.secure), context


def _routes(context: PageContext) -> list[Route | Mount]:
    # What pays, and what carries a statement, is a POST with the page's token: a link can't do it, and no statement stands in
    # an address, which browsers and proxies keep.
    return [
        Route("/", _home),
        Route("/healthz", _healthy),
        Route("/ready", _ready(context)),
        Route("/login", _open(context, login_page)),
        Route("/login", _open(context, log_in), methods=["POST"]),
        Route("/logout", _open(context, log_out), methods=["POST"]),
        Route("/ask", _page(context, ask.ask_page)),
        Route("/ask/who", _data(context, ask.who)),
        Route("/ask/tables", _data(context, ask.tables), methods=["POST"]),
        Route("/ask/plan", _data(context, ask.plan), methods=["POST"]),
        Route("/ask/answer", _data(context, ask.answer), methods=["POST"]),
        Route("/ask/stop", _data(context, ask.stop), methods=["POST"]),
        Route("/ask/history", _data(context, ask.history), methods=["POST"]),
        Route("/ask/share", _data(context, ask.share), methods=["POST"]),
        Route("/ask/shared", _data(context, ask.shared_statement), methods=["POST"]),
        Route("/explore", _page(context, explore.explore_page)),
        Route("/explore/story", _data(context, explore.story)),
        Route("/explore/price", _data(context, explore.explore_price)),
        Route("/explore/ask", _data(context, explore.ask), methods=["POST"]),
        Route("/choose", _page(context, choose.choose_page)),
        Route("/choose/rule", _data(context, choose.rule)),
        Route("/choose/study", _data(context, choose.study)),
        Route("/choose/plan", _data(context, choose.plan), methods=["POST"]),
        Route("/choose/lately", _data(context, choose.last_month)),
        Route("/budget", _page(context, budget.budget_page)),
        Route("/budget/charges", _data(context, budget.charges)),
        Mount("/static", PackedFiles(directory=HERE / "static")),
    ]


async def _home(_: Request) -> Response:
    return RedirectResponse("/ask", 303)


async def _healthy(_: Request) -> Response:
    """Tell monitors, without a log-in, that the server runs and has time for them: nothing else is asked."""
    return PlainTextResponse("ok\n")


def _ready(context: PageContext) -> Endpoint:
    """Tell monitors, without a log-in, whether private questions would be answered; however many ask, one thread looks."""
    looking: asyncio.Future[ReadyState] | None = None

    async def endpoint(_: Request) -> Response:
        nonlocal looking
        if looking is None or looking.done():
            looking = asyncio.ensure_future(run_in_threadpool(context.site.ready))
        # Shielded: a monitor that hangs up ends its own waiting, and not the look that others wait for.
        state = await asyncio.shield(looking)
        return PlainTextResponse(f"{state.text}\n", 200 if state.answers else 503)

    return endpoint


def _open(context: PageContext, answer: Open) -> Endpoint:
    """Return an endpoint that anybody may use."""

    async def endpoint(request: Request) -> Response:
        return await answer(request, context)

    return endpoint


def _page(context: PageContext, answer: Closed) -> Endpoint:
    """Return an endpoint for visitors who are logged in; others are redirected to the log-in."""

    async def endpoint(request: Request) -> Response:
        visitor = await context.sessions.visitor(request)
        if visitor is None:
            return arrival_page(request, context) or RedirectResponse("/login", 303)
        try:
            return await answer(request, context, visitor)
        except ServerLost:
            await context.sessions.leave(request)
            return RedirectResponse("/login", 303)

    return endpoint


def _data(context: PageContext, answer: Closed) -> Endpoint:
    """Return an endpoint for the script of a page, which shows its errors; others get 401."""

    async def endpoint(request: Request) -> Response:
        visitor = await context.sessions.visitor(request)
        if visitor is None:
            return _error(401, "you are logged out; load the page again")
        try:
            return await answer(request, context, visitor)
        except BadField as error:
            return _error(400, str(error), field=error.field)
        except BadInput as error:
            return _error(400, str(error))
        except ServerRefused as refusal:
            return _error(409, refusal.message, refusal.hint)
        except ServerLost:
            await context.sessions.leave(request)
            return _error(401, "the connection to the server is lost; log in again")

    return endpoint


def _error(status: int, message: str, hint: str | None = None, field: str | None = None) -> Response:
    return JSONResponse({"error": message, "hint": hint, "field": field}, status)


def _unhappy(context: PageContext) -> ErrorHandler:
    """Answer a bad request: with a page for a person, with JSON for a script."""

    async def handler(request: Request, error: Exception) -> Response:
        status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
        if not _wants_page(request):
            return _error(status, detail)
        if status != _NOT_FOUND:
            return context.page(
                request, "error.html", status=status, title="That did not work", text=f"{detail.capitalize()}."
            )
        text = f"There is no page at {request.url.path}. There are Ask, Explore, Choose and Budget."
        return context.page(request, "error.html", status=status, title="There is no such page", text=text)

    return handler


async def _unheard(_: Request, __: Exception) -> Response:
    """Log nothing: anybody can send half a form and hang up as often as they like."""
    return Response(status_code=400)


def _broken(context: PageContext) -> ErrorHandler:
    """Answer with a fixed text; the cause is in the operator's log."""

    async def handler(request: Request, _: Exception) -> Response:
        if not _wants_page(request):
            return _error(500, "something went wrong")
        text = "The cause is in the server's log; its operator can look it up."
        return context.page(request, "error.html", status=500, title="Something went wrong", text=text)

    return handler


def _wants_page(request: Request) -> bool:
    """Return whether a person will see the answer: browsers ask for HTML when they follow a link, scripts do not."""
    return "text/html" in request.headers.get("accept", "")


# The pages on their own address, served by uvicorn on the server's event loop.


class Pages:
    """Serves a site until it is stopped."""

    def __init__(
        self,
        listen: Listen,
        site: Site,
        *,
        most: int,
        tls: ssl.SSLContext | None,
        request_timeout: float = REQUEST_TIMEOUT,
    ) -> None:
        """Serve at most `most` connections at a time, and wait `request_timeout` seconds for a request."""
        self._listen = listen
        self._site = site
        self._visits = Visits(most=most, tls=tls, request_timeout=request_timeout)
        self._port = 0
        self._context: PageContext
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Return the address of the first page."""
        scheme = "https" if self._listen.tls else "http"
        host = f"[{self._listen.host}]" if ":" in self._listen.host else self._listen.host
        return f"{scheme}://{host}:{self._port}/"

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: when the address is not free.
        """
        # First: with port 0 the number is known only now.
        self._port = self._visits.open(self._listen.host, self._listen.port)
        # Cookies know no ports, and two servers on one machine must not share one.
        cookie = f"dpsql-{self._port}"
        self._site = replace(self._site, cookie=cookie, secure=self._listen.tls is not None)
        app, self._context = make_app(self._site)
        await asyncio.to_thread(compress_all, HERE / "static")
        self._visits.prepare(app)
        self._task = asyncio.create_task(self._visits.serve())

    async def stop(self) -> None:
        """Let running requests end, then log everybody out."""
        if self._task is not None:
            self._visits.stop()
            await self._task
            await self._context.sessions.close()

    async def change(self, site: Site) -> None:
        """Serve another site to the same visitors; log out those who were removed or have another password."""
        # A reload moves no address and takes no TLS away (`server.reload_config`): visitors keep their cookies.
        self._site = replace(site, cookie=self._site.cookie, secure=self._site.secure)
        self._context.site = self._site
        await self._context.sessions.change(self._site)

    def show(self, tls: ssl.SSLContext | None) -> None:
        """Show another certificate to those who come from now on."""
        self._visits.show(tls)
