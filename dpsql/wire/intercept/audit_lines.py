"""The lines of the audit trail that a log-in and a session's statements leave."""

import asyncio
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.errors import AuditFailed, DpsqlError
from dpsql.gateway.request import UNCHARGED, Receipt
from dpsql.policy.model import Privacy
from dpsql.question import Asker
from dpsql.trail.record import AuditEvent, AuditRecord, AuditVerdict, verdict_of
from dpsql.trail.trail import Trail
from dpsql.wire.protocol.messages import error_fields


@dataclass(slots=True)
class AuditedStatement:
    """A private statement while it is answered."""

    text: str
    execute: str | None
    """The EXECUTE that named it."""
    since: float = field(default_factory=time.monotonic)
    receipt: Receipt = field(default_factory=Receipt)
    parameters: Sequence[str | None] = ()
    code: str | None = None
    """The SQLSTATE of what the client hears instead of an answer."""
    rule: str | None = None

    def failed(self, sqlstate: str, rule: str | None = None) -> None:
        """Note that there is an error instead of an answer."""
        self.code, self.rule = sqlstate, rule


@dataclass(frozen=True, slots=True)
class SessionAudit:
    """Adds what one session asks to the trail."""

    trail: Trail
    asker: Asker
    address: str
    parameters: Mapping[str, str]
    """The session's settings at the time, as far as clients are told."""

    def check(self) -> None:
        """See that the trail can be written.

        Raises:
            AuditFailed: it can't.
        """
        self.trail.check()

    async def write(self, statement: AuditedStatement) -> None:
        """Add the line of a private statement; it is on the disk once this returns.

        Raises:
            AuditFailed: it is not.
        """
        # Who is cancelled stops waiting; the line is written.
        await asyncio.wrap_future(self.trail.write(self._line(statement)))

    def note(self, statement: AuditedStatement) -> None:
        """Add the line of a private statement for which nobody waits any more."""
        self.trail.note(self._line(statement))

    def _line(self, statement: AuditedStatement) -> AuditRecord:
        cost, code = statement.receipt.cost, statement.code
        answered = AuditVerdict.ANSWERED if cost.epsilon else AuditVerdict.FREE
        return self._record(
            statement.text,
            answered if code is None else verdict_of(code, cost),
            code,
            rule=statement.rule,
            execute=statement.execute,
            # The arguments of an EXECUTE may have been released: its own words say enough.
            parameters=None if statement.execute else tuple(statement.parameters),
            cost=cost,
            seconds=time.monotonic() - statement.since,
            releases=statement.receipt.releases,
            trial=statement.receipt.trial,
        )

    def refused(self, text: str, error: DpsqlError) -> None:
        """Note a statement that dpsql refuses without a look at the records.

        A statement that is refused because lines can't be written is not: it would wait with them, without an end.
        """
        if not isinstance(error, AuditFailed):
            self._note(text, error.sqlstate, error.because)

    def passing(self, text: str) -> "PassingStatement":
        """Return what notes a statement that the shadow runs unchanged, once it has taken it."""
        return PassingStatement(self, text)

    def note_taken(self, text: str, code: str | None) -> None:
        """Note that the shadow has taken a statement, or refused it."""
        self._note(text, code, None)

    def _note(self, text: str, code: str | None, rule: str | None) -> None:
        verdict = AuditVerdict.PUBLIC if code is None else verdict_of(code, UNCHARGED)
        self.trail.note(self._record(text, verdict, code, rule=rule))

    def _record(
        self,
        text: str,
        verdict: AuditVerdict,
        code: str | None,
        *,
        rule: str | None,
        execute: str | None = None,
        parameters: tuple[str | None, ...] | None = None,
        cost: Privacy | None = None,
        seconds: float | None = None,
        releases: tuple[str, ...] = (),
        trial: str | None = None,
    ) -> AuditRecord:
        return AuditRecord(
            self.trail.now(),
            AuditEvent.STATEMENT,
            self.asker.user,
            self.asker.role,
            self.address,
            self.parameters.get("application_name", ""),
            text,
            execute,
            parameters,
            verdict,
            code,
            rule,
            cost,
            seconds,
            releases,
            trial,
        )


@dataclass(slots=True)
class PassingStatement:
    """A statement on its way to the shadow; what a reply says of it is noted once."""

    audit: SessionAudit
    text: str
    noted: bool = False

    def taken(self) -> None:
        """Note that the shadow has taken it, unless there was an error."""
        if not self.noted:
            self.noted = True
            self.audit.note_taken(self.text, None)

    def refused(self, body: bytes) -> bytes:
        """Note the SQLSTATE of an error, which goes on to the client unchanged."""
        if not self.noted:
            self.noted = True
            self.audit.note_taken(self.text, error_fields(body).get(b"C", b"XX000").decode("ascii", "replace"))
        return body


def written_parameters(rest: bytes, codec: str) -> tuple[str | None, ...]:
    """Return the parameters of a Bind's `rest` as they were sent: texts, and binary ones in hexadecimal digits."""
    (count,) = struct.unpack_from("!H", rest)
    formats = [struct.unpack_from("!H", rest, 2 + 2 * place)[0] for place in range(count)]
    at = 2 + 2 * count
    (number,) = struct.unpack_from("!H", rest, at)
    at += 2
    values: list[str | None] = []
    for place in range(number):
        (size,) = struct.unpack_from("!i", rest, at)
        at += 4
        value, at = rest[at : at + max(size, 0)], at + max(size, 0)
        is_binary = bool(formats and formats[place if len(formats) > 1 else 0])
        shown = f"\\x{value.hex()}" if is_binary else value.decode(codec, "replace")
        values.append(None if size < 0 else shown)
    return tuple(values)


# The line that a log-in leaves in the audit trail.

_LONGEST_NAME = 200
"""Characters of a name that are written down: it may be a stranger's."""


@dataclass(frozen=True, slots=True)
class LogInAudit:
    """Adds one log-in to the trail."""

    trail: Trail
    user: str
    """The name that the client gives."""
    address: str
    application: str

    def refused(self, error: DpsqlError) -> None:
        """Note that it failed."""
        self.trail.note(replace(self._record(), verdict=AuditVerdict.REFUSED, code=error.sqlstate))

    async def accepted(self, role: str | None) -> None:
        """Add that it succeeded; the line is on the disk once this returns.

        Raises:
            AuditFailed: it is not.
        """
        self.trail.check()
        record = replace(self._record(), role=role, verdict=AuditVerdict.ACCEPTED)
        await asyncio.wrap_future(self.trail.write(record))

    def _record(self) -> AuditRecord:
        return AuditRecord(
            self.trail.now(),
            AuditEvent.LOG_IN,
            self.user[:_LONGEST_NAME],
            address=self.address,
            application=self.application[:_LONGEST_NAME],
        )
