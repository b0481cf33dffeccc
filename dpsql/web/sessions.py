"""Visitors who are logged in. A browser holds only a signed key; the connection stays here, and no password is kept.

The cookie is Starlette's signed session cookie; forms and calls that change or cost something carry a token that
itsdangerous signed for the same key.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request

from dpsql.policy.model import Role
from dpsql.web.site import Site, VisitorClient

IDLE = 30 * 60.0
"""Seconds after which a visitor who did nothing is logged out."""
LONGEST_VISIT = 12 * 60 * 60
"""Seconds after which every visitor has to log in again."""
MOST_VISITS = 8
"""The most visits of one user at a time; with one more, the one that was idle longest ends."""
# The cookie has nothing but this key, signed. What belongs to a visit (the connection, the role) is in this process, so
# that a server that stops logs everybody out, and a cookie that is copied ends with the visit.
_KEY = "visit"


@dataclass(slots=True)
class Visitor:
    """Somebody who is logged in."""

    user: str
    role: Role
    verifier: str | None = field(repr=False)
    """What verified the password, if not a directory did."""
    client: VisitorClient
    began: float
    seen: float
    explaining: bool = False
    """Whether a statement that is being written is explained: one at a time."""


@dataclass(slots=True)
class Sessions:
    """The visitors by key, forgotten when the server stops."""

    clock: Callable[[], float]
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _visitors: dict[str, Visitor] = field(default_factory=dict, repr=False)

    async def enter(self, request: Request, site: Site, user: str, client: VisitorClient) -> None:
        """Log in under a new key, so that a key that somebody knew before is worthless."""
        # A browser that logs in twice leaves no connection of the first time behind.
        await self.leave(request)
        await self._make_room(user)
        now = self.clock()
        self._visitors[_fresh(request)] = Visitor(user, site.role(user), site.verifiers.get(user), client, now, now)

    async def leave(self, request: Request) -> None:
        """Log out."""
        visitor = self._visitors.pop(request.session.get(_KEY, ""), None)
        request.session.clear()
        if visitor is not None:
            await visitor.client.close()

    async def visitor(self, request: Request) -> Visitor | None:
        """Return who sent a request; None if its cookie is not, or no longer, that of a visitor."""
        # There is no timer: an idle visit ends when the next request comes, whoever's that is.
        await self._sweep()
        visitor = self._visitors.get(request.session.get(_KEY, ""))
        if visitor is not None:
            visitor.seen = self.clock()
        return visitor

    def token(self, request: Request) -> str:
        """Return what a form of this visitor must bring back."""
        # On the page of the log-in there is no visit yet: its form belongs to a key of no visit, which `enter` replaces.
        key = request.session.get(_KEY) or _fresh(request)
        return self._signer().dumps(key)

    def genuine(self, request: Request, token: str) -> bool:
        """Return whether a token was made for the cookie that comes with it."""
        try:
            # A page of somebody else's can have a browser send our cookie, and can't know what is signed with the key in it.
            key = self._signer().loads(token, max_age=LONGEST_VISIT)
        except BadSignature:
            return False
        return bool(key) and secrets.compare_digest(str(key), str(request.session.get(_KEY, "")))

    async def change(self, site: Site) -> None:
        """Give every visitor their present role, and log out those who were removed or have another password."""
        # A copy, since visits end meanwhile: here, and by requests that come while one is waited for.
        for key, visitor in tuple(self._visitors.items()):
            if visitor.user in site.roles and visitor.verifier == site.verifiers.get(visitor.user):
                visitor.role = site.role(visitor.user)
            else:
                await self._end(key)

    async def close(self) -> None:
        """Log everybody out."""
        while self._visitors:
            _, visitor = self._visitors.popitem()
            await visitor.client.close()

    async def _make_room(self, user: str) -> None:
        """End the visits that were idle longest: each holds a connection, of which a user may have only so many."""
        theirs = sorted((v.seen, key) for key, v in self._visitors.items() if v.user == user)
        # One more than there may be, for the visit that is about to begin.
        for _, key in theirs[: max(len(theirs) - MOST_VISITS + 1, 0)]:
            await self._end(key)

    async def _sweep(self) -> None:
        now = self.clock()
        late = [key for key, v in self._visitors.items() if v.seen + IDLE < now or v.began + LONGEST_VISIT < now]
        for key in late:
            await self._end(key)

    async def _end(self, key: str) -> None:
        """Log a visitor out, unless that was done meanwhile."""
        # Removed before anything is awaited: two requests may end one visit, and the second finds none.
        visitor = self._visitors.pop(key, None)
        if visitor is not None:
            await visitor.client.close()

    def _signer(self) -> URLSafeTimedSerializer:
        # The same secret signs cookies. With a salt of its own a form's token is no cookie, and a cookie no token.
        return URLSafeTimedSerializer(self.secret, salt="dpsql.form")


def _fresh(request: Request) -> str:
    key = secrets.token_urlsafe(24)
    request.session[_KEY] = key
    return key
