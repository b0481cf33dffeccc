"""Which prepared statements and portals of a session are the wire's business.

What the shadow confirmed counts; before its replies come, a name may be one, and whoever needs to know waits.
"""

from dataclasses import dataclass

from dpsql.wire.intercept.classify import Statement


@dataclass(slots=True)
class Prepared:
    """A prepared statement that is not the shadow's alone."""

    text: str
    declared: tuple[int, ...]
    """The parameter types that the client gave; 0 where it left them open."""
    statement: Statement
    oids: tuple[int, ...] | None = None
    """All parameter types, once the shadow has told them."""


@dataclass(frozen=True, slots=True)
class Portal:
    """A prepared statement with its parameters, not yet executed."""

    prepared: Prepared
    rest: bytes
    """The Bind message after its names: formats, values, result formats."""


class Names:
    """The statements and portals of one session, by their names as the protocol has them."""

    def __init__(self) -> None:
        self.statements: dict[bytes, Prepared] = {}
        self.portals: dict[bytes, Portal] = {}
        self.tags: dict[bytes, bytes] = {}
        """What portals with an answer are called when they end, where the shadow says something else."""
        self._maybe_statements: set[bytes] = set()
        self._maybe_portals: set[bytes] = set()

    def may_be_statement(self, name: bytes) -> bool:
        """Say whether `name` is, or may soon be, one of ours."""
        return name in self._maybe_statements

    def may_be_portal(self, name: bytes) -> bool:
        """Say whether `name` is, or may soon be, one of ours."""
        return name in self._maybe_portals

    def expect_statement(self, name: bytes) -> None:
        """Note that a Parse of one of ours was sent."""
        self._maybe_statements.add(name)

    def expect_portal(self, name: bytes) -> None:
        """Note that a Bind of one of ours was sent."""
        self._maybe_portals.add(name)

    def parsed(self, name: bytes, prepared: Prepared | None) -> None:
        """Note that the shadow has parsed what is now called `name`."""
        if prepared is None:
            self.statements.pop(name, None)
        else:
            self.expect_statement(name)
            self.statements[name] = prepared

    def bound(self, portal: bytes, statement: bytes, rest: bytes) -> None:
        """Note that the shadow has bound what is now called `portal`."""
        self.tags.pop(portal, None)
        prepared = self.statements.get(statement)
        if prepared is None:
            self.portals.pop(portal, None)
        else:
            self.portals[portal] = Portal(prepared, rest)

    def closed(self, what: bytes, name: bytes) -> None:
        """Note that the shadow has closed a statement (`S`) or portal (`P`)."""
        if what == b"S":
            self.statements.pop(name, None)
        else:
            self.portals.pop(name, None)
            self.tags.pop(name, None)

    def ready(self, in_transaction: bool, *, settled: bool) -> None:
        """Note a ReadyForQuery: portals end with their transaction, and what is settled needs no guess."""
        if not in_transaction:
            self.portals.clear()
            self.tags.clear()
        if settled:
            self._maybe_statements = set(self.statements)
            self._maybe_portals = set(self.portals)
