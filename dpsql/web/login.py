"""Logging in and out: the name and the password are checked by logging in to the server, and only that connection is kept."""

import math

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dpsql.web.page_context import PageContext
from dpsql.web.site import LoginRefused, Refused

_WRONG = "Wrong name or password."


async def login_page(request: Request, context: PageContext) -> Response:
    """Return the form."""
    if await context.sessions.visitor(request):
        return RedirectResponse("/ask", 303)
    return arriving(request, context) or context.page(request, "login.html")


def arriving(request: Request, context: PageContext) -> Response | None:
    """Return a page that leads here anew, for who came by a link from another site and may be logged in.

    Their browser leaves the strict cookie out of that visit. A page with a form would set another in its place.
    """
    if request.headers.get("sec-fetch-site") != "cross-site":
        return None
    return context.page(request, "arrive.html", plain=True)


async def enter(request: Request, context: PageContext) -> Response:
    """Log in."""
    fields = await context.form(request)
    user, password = fields.get("user", ""), fields.get("password", "")
    address = request.client.host if request.client else ""
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
    except Refused as refusal:
        return context.page(request, "login.html", status=503, error=refusal.message, user=user)
    context.attempts.succeed(address, user)
    await context.sessions.enter(request, context.site, user, client)
    return RedirectResponse("/ask", 303)


async def leave(request: Request, context: PageContext) -> Response:
    """Log out."""
    await context.form(request)
    await context.sessions.leave(request)
    return RedirectResponse("/login", 303)
