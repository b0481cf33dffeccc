"""The prepared statements and portals of a session that are the wire's business.

Only the names that the shadow has confirmed are certain. Until its reply comes a name may be one of them, and a message
that has to know waits.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from dpsql.errors import LimitExceeded
from dpsql.gateway.request import Question
from dpsql.rewrite.syntax.read.parse import Wrap, locate_lone_query
from dpsql.wire.intercept.classify import ClassifiedStatement
from dpsql.wire.protocol.messages import Limits, bind_parameters

# How many bytes are kept between messages: limits for a session, for all sessions of a user, and for all users.

_MIB = 2**20


class SharedAllowance:
    """The bytes that all sessions keep."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.size = 0
        """Bytes of all sessions together."""
        self._of_users: Counter[str] = Counter()

    def take(self, user: str, session: int, size: int) -> None:
        """Count `size` more bytes for a session that keeps `session` bytes already.

        Raises:
            LimitExceeded: one of the limits would be passed; nothing is counted.
        """
        for whose, kept, most in (
            ("this session", session, self._limits.kept_by_session),
            (f'all sessions of user "{user}"', self._of_users[user], self._limits.kept_by_user),
            ("all sessions", self.size, self._limits.kept_by_all),
        ):
            if kept + size > most:
                raise LimitExceeded(
                    f"prepared statements, bound parameters and messages of {whose} take more than {most // _MIB} MiB",
                    hint="Close what is not needed any more, or end the transaction.",
                )
        self.size += size
        self._of_users[user] += size

    def give(self, user: str, size: int) -> None:
        """Stop counting so many bytes of a user."""
        self.size -= size
        self._of_users[user] -= size
        if self._of_users[user] <= 0:
            del self._of_users[user]


class Allowance:
    """The bytes that one session keeps."""

    def __init__(self, kept: SharedAllowance, user: str) -> None:
        self._kept = kept
        self._user = user
        self.size = 0
        """Bytes that are kept now."""

    def take(self, size: int) -> None:
        """Count `size` more bytes.

        Raises:
            LimitExceeded: that would pass a limit.
        """
        self._kept.take(self._user, self.size, size)
        self.size += size

    def give(self, size: int) -> None:
        """Stop counting so many bytes."""
        self._kept.give(self._user, size)
        self.size -= size

    def close(self) -> None:
        """Stop counting all bytes of the session."""
        self.give(self.size)


# Statements and portals, as the client names them.

_PER_CHARACTER = 200
SearchPath = tuple[bytes | None, ...]
"""What the shadow says of a session's search path: as it was set, and the schemas in it."""


@dataclass(slots=True)
class PreparedStatement:
    """A prepared statement that dpsql has to do something about."""

    text: str
    declared: tuple[int, ...]
    """The parameter types that the client gave; 0 where it left them open."""
    statement: ClassifiedStatement
    oids: tuple[int, ...] | None = None
    """All parameter types, once the shadow has described them."""

    @property
    def size(self) -> int:
        """Return the bytes that it takes, most of them for the parsed statement."""
        return (_PER_CHARACTER if isinstance(self.statement, Question) else 1) * len(self.text)


@dataclass(frozen=True, slots=True)
class Portal:
    """A prepared statement with its parameters, not yet executed."""

    prepared: PreparedStatement
    rest: bytes
    """The Bind message after its names: formats, values, result formats."""
    path: SearchPath | None = None
    """By which its names were looked up, where something has run since that may have set another."""

    @property
    def size(self) -> int:
        """Return the bytes that it takes beside its statement."""
        return len(self.rest)

    @property
    def is_planned(self) -> bool:
        """Return whether PostgreSQL has looked names up when it was bound: the query in COPY or of a view waits."""
        placed = locate_lone_query(self.prepared.text)
        return isinstance(self.prepared.statement, Question) and (
            placed is None or placed[0] not in (Wrap.COPY, Wrap.VIEW)
        )


@dataclass(frozen=True, slots=True)
class Execution:
    """A private statement that is about to be answered, and what becomes of its answer."""

    question: Question
    prepared: PreparedStatement
    portal: bytes
    """The portal that the answer is bound to."""
    rest: bytes
    """Formats, values and result formats, as the Bind message has them."""
    bound: bool
    """Whether the client's own statement is in the portal already, and describes the answer."""
    offset: int | None
    """Where the statement begins in what the client sent; None when errors can't point there."""
    execute: str | None = None
    """The EXECUTE that named the statement, where one did."""
    path: SearchPath | None = None
    """By which its names were looked up, where that is not the session's any more."""

    @property
    def text(self) -> str:
        """Return the client's own statement, which describes the answer where no portal does."""
        return self.prepared.text

    @property
    def values(self) -> bytes:
        """Return the parameters as a Bind message has them, up to the result formats."""
        return bind_parameters(self.rest)[0]

    @property
    def takes_parameters(self) -> bool:
        """Return whether there are any."""
        return bind_parameters(self.rest)[1] > 0

    @property
    def oids(self) -> tuple[int, ...]:
        """Return the types of its parameters, once they are known."""
        return (self.prepared.oids or ()) if self.takes_parameters else ()


@dataclass(frozen=True, slots=True, eq=False)
class _Sent:
    """What a name will stand for once the shadow has said so."""

    becomes: PreparedStatement | Portal | None
    """None: it is the shadow's alone, or not known yet."""
    first: bool
    """Whether it was sent behind nothing but names: then it is so, or fails before the next Sync."""


class PreparedStatements:
    """The statements and portals of one session, by their names as the protocol has them."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._awaited = 0
        """Bytes that were counted for statements and portals that the shadow has not confirmed yet."""
        self.statements: dict[bytes, PreparedStatement] = {}
        self.portals: dict[bytes, Portal] = {}
        self.tags: dict[bytes, bytes] = {}
        """Command tags for portals that hold an answer, where the shadow's own would be another."""
        self._maybe_statements: set[bytes] = set()
        self._maybe_portals: set[bytes] = set()
        self._sent: dict[bytes, _Sent] = {}
        """What names will stand for, by the last Parse that was sent for each, until the shadow says so."""
        self._bound: dict[bytes, _Sent] = {}
        """Likewise of portals."""

    def may_be_statement(self, name: bytes) -> bool:
        """Return whether `name` is one of these, or may become one with the next replies."""
        return name in self._maybe_statements

    def may_be_portal(self, name: bytes) -> bool:
        """Return whether `name` is one of these, or may become one with the next replies."""
        return name in self._maybe_portals

    def expect_statement(self, name: bytes, size: int) -> None:
        """Note that a Parse of one of these will be sent.

        Raises:
            LimitExceeded: there is no room for it.
        """
        self._expect(size)
        self._maybe_statements.add(name)

    def expect_portal(self, name: bytes, size: int) -> None:
        """Note that a Bind of one of these will be sent.

        Raises:
            LimitExceeded: there is no room for it.
        """
        self._expect(size)
        self._maybe_portals.add(name)

    def sent(self, name: bytes, prepared: PreparedStatement | None, *, first: bool) -> "_Sent":
        """Note that a Parse is sent, behind nothing but names if it is among the `first`; return what confirms it."""
        sent = self._sent[name] = _Sent(prepared if first else None, first)
        return sent

    def sent_portal(self, portal: bytes, statement: bytes, rest: bytes, *, first: bool) -> "_Sent":
        """Note that a Bind is sent: it is of what the statement's name stands for now, whatever that may be later."""
        sent = self._sent.get(statement)
        prepared = self.statements.get(statement) if sent is None else sent.becomes
        becomes = Portal(prepared, rest) if first and isinstance(prepared, PreparedStatement) else None
        made = self._bound[portal] = _Sent(becomes, first)
        return made

    def portal_to_be(self, name: bytes) -> Portal | None:
        """Return what a portal will be if nothing fails that was sent since the last Sync, and only names were given.

        None where that is not known, or where it is none of these.
        """
        becomes = self._bound[name].becomes if name in self._bound else None
        return becomes if isinstance(becomes, Portal) else None

    def parsed(self, name: bytes, prepared: PreparedStatement | None, sent: "_Sent | None" = None) -> None:
        """Note that the shadow has parsed what is now called `name`, as it was `sent`."""
        if sent is not None and self._sent.get(name) is sent:
            del self._sent[name]
        self._drop(self.statements.pop(name, None))
        if prepared is not None:
            self._confirm(prepared.size)
            self._maybe_statements.add(name)
            self.statements[name] = prepared

    def bound(self, portal: bytes, statement: bytes, rest: bytes, sent: "_Sent | None" = None) -> None:
        """Note that the shadow has bound what is now called `portal`, as it was `sent`."""
        self.tags.pop(portal, None)
        if sent is not None and self._bound.get(portal) is sent:
            del self._bound[portal]
        self._drop(self.portals.pop(portal, None))
        prepared = self.statements.get(statement)
        if prepared is not None:
            made = Portal(prepared, rest)
            self._confirm(made.size)
            self.portals[portal] = made

    def closed(self, what: bytes, name: bytes) -> None:
        """Note that the shadow has closed a statement (`S`) or portal (`P`)."""
        if what == b"S":
            self._drop(self.statements.pop(name, None))
        else:
            self.take_portal(name)
            self.tags.pop(name, None)

    def may_have(self, statement: str | None) -> bool:
        """Return whether a statement, or any if None, is one of these, or may become one."""
        if statement is None or not statement.isascii():
            return bool(self._maybe_statements or self.statements)
        return self.may_be_statement(statement.encode())

    def forgotten(self, statement: bytes | None) -> None:
        """Note that the shadow has deallocated a statement, or all if None."""
        for name in tuple(self.statements) if statement is None else (statement,):
            self.closed(b"S", name)

    def may_have_beside(self, portal: bytes) -> bool:
        """Return whether there is another portal, or may be one with the next replies."""
        return not self._maybe_portals <= {portal}

    async def keep_paths(self, but: bytes, searched: Callable[[], Awaitable[SearchPath]]) -> None:
        """Have the portals that are bound remember the path that is `searched` now, `but` for one; each does so once."""
        planned = {n: p for n, p in self.portals.items() if n != but and p.path is None and p.is_planned}
        if planned:
            path = await searched()
            self.portals.update((name, replace(portal, path=path)) for name, portal in planned.items())

    def take_portal(self, name: bytes) -> Portal | None:
        """Remove and return a portal that was not executed yet."""
        portal = self.portals.pop(name, None)
        self._drop(portal)
        return portal

    def ready(self, in_transaction: bool, *, settled: bool) -> None:
        """Note a ReadyForQuery: portals end with their transaction; when no reply is missing, every name is certain."""
        if not in_transaction:
            for name in tuple(self.portals):
                self.take_portal(name)
            self.tags.clear()
        # Those of the first were sent before this Sync: what is left of them has failed. Of the others we wait for the
        # shadow's word.
        self._sent = {name: sent for name, sent in self._sent.items() if not (sent.first or settled)}
        self._bound = {name: sent for name, sent in self._bound.items() if not (sent.first or settled)}
        if settled:
            # The replies that are still awaited have failed.
            self._allowance.give(self._awaited)
            self._awaited = 0
            self._maybe_statements = set(self.statements)
            self._maybe_portals = set(self.portals)

    def _expect(self, size: int) -> None:
        self._allowance.take(size)
        self._awaited += size

    def _confirm(self, size: int) -> None:
        """Count as confirmed what was expected."""
        self._awaited -= size

    def _drop(self, dropped: PreparedStatement | Portal | None) -> None:
        if dropped is not None:
            self._allowance.give(dropped.size)
