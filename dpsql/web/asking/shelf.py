"""Statements by an address of their own: those that a role has paid for, and those that somebody has just copied the link of.

An address has a name made of the statement, not its text, so nothing of it stands in a log; only users of the same role can
look it up.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field

from dpsql.policy.model import Role
from dpsql.shadow.splice import shadow_literal
from dpsql.web.site import VisitorClient

_MOST = 500
"""Statements that are kept of all roles; each has at most as many characters as a statement may have."""
_DIGITS = 32
"""Hexadecimal digits of a name: 128 bits."""


@dataclass(slots=True)
class Shelf:
    """The statements whose links were copied since the server started, the newest last."""

    _kept: OrderedDict[tuple[str, str], str] = field(default_factory=OrderedDict, repr=False)

    def put(self, role: Role, statement: str) -> str:
        """Keep a statement for a role, and return its name."""
        name = _name(role, statement)
        self._kept[role.name, name] = statement
        self._kept.move_to_end((role.name, name))
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return name

    async def find(self, role: Role, name: str, client: VisitorClient) -> str | None:
        """Return a statement of this role; None if there is none of the name."""
        if len(name) != _DIGITS or not all(digit in "0123456789abcdef" for digit in name):
            return None
        kept = self._kept.get((role.name, name))
        return kept if kept is not None else await _charged(role, name, client)


def _name(role: Role, statement: str) -> str:
    return hashlib.sha256(f"{role.name}\n{statement}".encode()).hexdigest()[:_DIGITS]


async def _charged(role: Role, name: str, client: VisitorClient) -> str | None:
    """Look among what the role was charged for, as the visitor's own connection shows it."""
    text = f"pg_catalog.concat({shadow_literal(role.name)}, pg_catalog.chr(10), statement)"
    made = f"pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to({text}, 'UTF8')), 'hex'), {_DIGITS})"
    found = await client.answer(f"SELECT statement FROM dpsql.charges WHERE {made} = '{name}' LIMIT 1")  # noqa: S608
    return next((row[0] for row in found.rows), None)
