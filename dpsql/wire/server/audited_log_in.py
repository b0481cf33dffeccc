"""The line that a log-in leaves in the audit trail."""

import asyncio
from dataclasses import dataclass, replace

from dpsql.errors import DpsqlError
from dpsql.trail.record import AuditEvent, AuditRecord, AuditVerdict
from dpsql.trail.trail import Trail

_LONGEST = 200
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
        await asyncio.shield(asyncio.wrap_future(self.trail.write(record)))

    def _record(self) -> AuditRecord:
        return AuditRecord(
            self.trail.now(),
            AuditEvent.LOG_IN,
            self.user[:_LONGEST],
            address=self.address,
            application=self.application[:_LONGEST],
        )
