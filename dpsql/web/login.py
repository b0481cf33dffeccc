"""Logging in and out: the name and the password are tried at the server itself, and only its connection is kept."""

import math

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dpsql.web.rooms import Rooms
from dpsql.web.site import Denied, Refused

_WRONG = "That name and password do not belong together."


async def show(request: Request, rooms: Rooms) -> Response:
    """Return the form."""
    if await rooms.sessions.visitor(request):
        return RedirectResponse("/explore", 303)
    return rooms.page(request, "login.html")


async def enter(request: Request, rooms: Rooms) -> Response:
    """Log in."""
    fields = await rooms.form(request)
    user, password = fields.get("user", ""), fields.get("password", "")
    address = request.client.host if request.client else ""
    wait = rooms.attempts.begin(address, user)
    if wait:
        refused = rooms.page(
            request, "login.html", status=429, error=f"Too many attempts. Try again in {math.ceil(wait / 60)} minutes."
        )
        refused.headers["Retry-After"] = str(math.ceil(wait))
        return refused
    try:
        client = await rooms.site.connect(user, password)
    except Denied:
        return rooms.page(request, "login.html", status=401, error=_WRONG, user=user)
    except Refused as refusal:
        return rooms.page(request, "login.html", status=503, error=refusal.message, user=user)
    rooms.attempts.succeed(address, user)
    await rooms.sessions.enter(request, rooms.site, user, client)
    return RedirectResponse("/explore", 303)


async def leave(request: Request, rooms: Rooms) -> Response:
    """Log out."""
    await rooms.form(request)
    await rooms.sessions.leave(request)
    return RedirectResponse("/login", 303)
