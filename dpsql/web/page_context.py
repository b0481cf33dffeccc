"""The context that all pages share: the site, the visitor, the templates, and forms that are checked before they are read."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Template
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.templating import Jinja2Templates

from dpsql.policy.model import Role
from dpsql.shadow.splice import shadow_literal
from dpsql.web.sessions import Sessions, Visitor
from dpsql.web.site import Site, VisitorClient
from dpsql.wire.server.limits import place_of

# Statements by an address of their own: those that a role has paid for, and those that somebody has just copied the link of.
#
# An address has a name made of the statement, not its text, so nothing of it stands in a log; only users of the same role can
# look it up.

_MOST_ON_SHELF = 500
"""Statements that are kept of all roles; each has at most as many characters as a statement may have."""
_DIGITS = 32
"""Hexadecimal digits of a name: 128 bits."""


@dataclass(slots=True)
class SharedStatements:
    """The statements whose links were copied since the server started, the newest last."""

    _kept: OrderedDict[tuple[str, str], str] = field(default_factory=OrderedDict, repr=False)

    def put(self, role: Role, statement: str) -> str:
        """Keep a statement for a role, and return its name."""
        name = _name(role, statement)
        self._kept[role.name, name] = statement
        self._kept.move_to_end((role.name, name))
        while len(self._kept) > _MOST_ON_SHELF:
            self._kept.popitem(last=False)
        return name

    async def find(self, role: Role, name: str, client: VisitorClient) -> str | None:
        """Return a statement of this role; None if there is none of the name."""
        # It goes into a statement below: nothing but digits of its length gets there.
        if len(name) != _DIGITS or not all(digit in "0123456789abcdef" for digit in name):
            return None
        kept = self._kept.get((role.name, name))
        return kept if kept is not None else await _charged(role, name, client)


def _name(role: Role, statement: str) -> str:
    # Of the role, too: a link that one role's user has copied leads no other role to the statement.
    return hashlib.sha256(f"{role.name}\n{statement}".encode()).hexdigest()[:_DIGITS]


async def _charged(role: Role, name: str, client: VisitorClient) -> str | None:
    """Look among what the role was charged for, as the visitor's own connection shows it."""
    # `_name` in SQL, for each charge of the role: sha256 of the role, a line feed, and the statement. What dpsql.charges has
    # cut short has another name, and is not found.
    text = f"pg_catalog.concat({shadow_literal(role.name)}, pg_catalog.chr(10), statement)"
    made = f"pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to({text}, 'UTF8')), 'hex'), {_DIGITS})"
    found = await client.answer(f"SELECT statement FROM dpsql.charges WHERE {made} = '{name}' LIMIT 1")  # noqa: S608
    return next((row[0] for row in found.rows), None)


# How often somebody may try to log in: a sliding window for each place, and for each name tried from one place.
#
# Attempts from other places never count against anybody, so that a stranger can't lock a user out. Nor do those by other
# names from a place where a user has logged in.

WINDOW = 300.0
"""Seconds after which an attempt is forgotten."""
PER_PLACE = 50
PER_NAME = 10
_MOST_COUNTED = 10_000
"""How many places and names are remembered; beyond that the oldest are forgotten."""

_Key = tuple[str, str | None]


@dataclass(slots=True)
class FailedAttempts:
    """The attempts of the last minutes that have not succeeded."""

    clock: Callable[[], float]
    _times: OrderedDict[_Key, list[float]] = field(default_factory=OrderedDict)
    _at_home: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    """Places and the names that have logged in from them, those who did so last at the end."""

    def begin(self, address: str, name: str) -> float:
        """Count an attempt and return 0, or return the seconds to wait and count nothing."""
        now, place = self.clock(), place_of(address)
        keys: tuple[_Key, ...] = ((place, name),) if (place, name) in self._at_home else ((place, name), (place, None))
        wait = max(self._wait(key, most, now) for key, most in zip(keys, (PER_NAME, PER_PLACE), strict=False))
        if wait:
            return wait
        for key in keys:
            self._times[key] = [time for time in self._times.get(key, []) if time + WINDOW > now] + [now]
            self._times.move_to_end(key)
        while len(self._times) > _MOST_COUNTED:
            self._times.popitem(last=False)
        return 0.0

    def succeed(self, address: str, name: str) -> None:
        """Forget the attempts of somebody who has logged in: the name's, and as many of the place's."""
        place = place_of(address)
        self._at_home[place, name] = None
        self._at_home.move_to_end((place, name))
        if len(self._at_home) > _MOST_COUNTED:
            self._at_home.popitem(last=False)
        times = self._times.pop((place, name), [])
        kept = list(self._times.pop((place, None), []))
        # `begin` wrote one moment for the name and for the place, so that equal times are the same attempt.
        for time in times:
            if time in kept:
                kept.remove(time)
        if kept:
            self._times[place, None] = kept

    def _wait(self, key: _Key, most: int, now: float) -> float:
        times = self._times.get(key, [])
        # Times are in order: once the oldest of the last `most` is out of the window, one more has room.
        return max(times[-most] + WINDOW - now, 0.0) if len(times) >= most else 0.0


# The context.

HERE = Path(__file__).parent
_TEMPLATES = Jinja2Templates(HERE / "templates")


def template_of(name: str) -> Template:
    """Return a template, for a page that nobody requests."""
    return _TEMPLATES.env.get_template(name)


@dataclass(slots=True)
class PageContext:
    """The shared state of all pages of one server."""

    site: Site
    """It is replaced when the configuration is read again."""
    sessions: Sessions
    attempts: FailedAttempts
    shelf: SharedStatements = field(default_factory=SharedStatements)

    def page(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **values: object
    ) -> Response:
        """Return a page; every form on it gets the visitor's token. A `plain` page has no form, and sets no cookie."""
        token = "" if values.get("plain") else self.sessions.token(request)
        always = {"visitor": visitor, "token": token, "dataset": self.site.policy.dataset, "play": self.site.play}
        return _TEMPLATES.TemplateResponse(request, template, {**always, **values}, status_code=status)

    async def form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form whose token was made for this visitor.

        Raises:
            HTTPException: 403, the token is missing or somebody else's.
        """
        sent: FormData = await request.form(max_files=0, max_fields=20)
        fields = {name: value for name, value in sent.items() if isinstance(value, str)}
        if not self.sessions.genuine(request, fields.get("token", "")):
            raise HTTPException(403, "this form is too old; load the page again")
        return fields
