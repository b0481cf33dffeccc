"""The pages as one ASGI application: routes, who may see them, and what errors look like."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from dpsql.epsilon.refusal import BadInput
from dpsql.gateway.readiness import ReadyState
from dpsql.web import budget, explore, login
from dpsql.web.asking import page as ask
from dpsql.web.attempts import Attempts
from dpsql.web.choosing import choose
from dpsql.web.headers import SafeHeaders
from dpsql.web.inputs import BadField
from dpsql.web.login import arriving
from dpsql.web.packed import PackedFiles
from dpsql.web.page_context import HERE, PageContext
from dpsql.web.sessions import LONGEST_VISIT, Sessions, Visitor
from dpsql.web.site import Gone, Refused, Site

Open = Callable[[Request, PageContext], Awaitable[Response]]
Closed = Callable[[Request, PageContext, Visitor], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]
ErrorHandler = Callable[[Request, Exception], Awaitable[Response]]
_NOT_FOUND = 404


def make_app(site: Site) -> tuple[ASGIApp, PageContext]:
    """Return the application, and the state that its pages share."""
    sessions = Sessions(site.clock)
    context = PageContext(site, sessions, Attempts(site.clock))
    cookie = Middleware(
        SessionMiddleware,
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
    return [
        Route("/", _home),
        Route("/healthz", _healthy),
        Route("/ready", _ready(context)),
        Route("/login", _open(context, login.login_page)),
        Route("/login", _open(context, login.enter), methods=["POST"]),
        Route("/logout", _open(context, login.leave), methods=["POST"]),
        Route("/ask", _page(context, ask.ask_page)),
        Route("/ask/who", _data(context, ask.who)),
        Route("/ask/tables", _data(context, ask.tables), methods=["POST"]),
        Route("/ask/plan", _data(context, ask.plan), methods=["POST"]),
        Route("/ask/answer", _data(context, ask.answer), methods=["POST"]),
        Route("/ask/stop", _data(context, ask.stop), methods=["POST"]),
        Route("/ask/history", _data(context, ask.history), methods=["POST"]),
        Route("/ask/share", _data(context, ask.share), methods=["POST"]),
        Route("/ask/shared", _data(context, ask.shared), methods=["POST"]),
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
            return arriving(request, context) or RedirectResponse("/login", 303)
        try:
            return await answer(request, context, visitor)
        except Gone:
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
        except Refused as refusal:
            return _error(409, refusal.message, refusal.hint)
        except Gone:
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
