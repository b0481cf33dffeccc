"""Log-in: the password, the database, and the start options."""

import logging
from functools import partial

from dpsql.errors import AuthFailed, DpsqlError, ProtocolError, UnknownDatabase
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.wire.protocol import startup
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Frames
from dpsql.wire.protocol.startup import Start
from dpsql.wire.protocol.transport import ClientTransport
from dpsql.wire.server.audited_log_in import LogInAudit
from dpsql.wire.server.registry import ConnectionRegistry, UserEntry

_RATE_LIMITED = RateLimitedLog(logging.getLogger("dpsql.wire"))
_OURS = ("user", "database", "replication")  # start options that the shadow gets from us, or not at all
_NO = ("", "false", "off", "no", "0")


async def log_in(
    registry: ConnectionRegistry,
    transport: ClientTransport,
    incoming: Frames,
    start: Start,
    shown: Certificate | None,
) -> tuple[str, UserEntry | None]:
    """Check the password and that the database is our data set; return the user as the policy has it now.

    The log-in may be bound to the certificate that the client was `shown`.

    Raises:
        AuthFailed: when the password is not the user's, or too many were tried.
        UnknownDatabase: when another data set is wanted.
        ProtocolError: when something else is, or the client sends something else.
        AuditFailed: when the audit trail can't be written.
        EOFError: when it goes.
    """
    user = start.options.get("user", "")
    if not user:
        raise ProtocolError("no user name in the startup packet")
    transport.write(startup.negotiation(start))
    _see_that_it_is_not_barred(registry, user, transport.address)
    audit = LogInAudit(registry.trail, user, transport.address, start.options.get("application_name", ""))
    try:
        entry = await _check_password(registry, transport, incoming, user, shown)
        database = start.options.get("database") or user
        if database != registry.database:
            raise UnknownDatabase(f'database "{database}" does not exist')
        if start.options.get("replication", "").lower() not in _NO:
            raise ProtocolError("replication is not supported")
    except DpsqlError as failed:
        audit.refused(failed)
        raise
    await audit.accepted(None if entry is None else entry.role)
    return user, entry


def _see_that_it_is_not_barred(registry: ConnectionRegistry, user: str, address: str) -> None:
    """Return if a password may be tried; a log-in that is turned away unread has no line, so that nobody fills the disk.

    Raises:
        AuthFailed: too many failed.
    """
    if registry.attempts.barred(user, address):
        _RATE_LIMITED.warning("too many failed log-ins as %r from %s", user, address)
        raise AuthFailed


async def _check_password(
    registry: ConnectionRegistry,
    transport: ClientTransport,
    incoming: Frames,
    user: str,
    shown: Certificate | None,
) -> UserEntry | None:
    barred = partial(registry.attempts.barred, user, transport.address)
    entry = registry.users.get(user)
    try:
        end_point = shown.end_point if shown is not None and transport.is_encrypted else None
        await startup.authenticate(transport, incoming, registry.verifier(user), registry.limits, barred, end_point)
    except AuthFailed:
        registry.attempts.failed(user, transport.address)
        raise
    registry.attempts.succeeded(user, transport.address)
    return entry


def session_options(start: Start, user: str, database: str) -> dict[str, str]:
    """Return the start options for the shadow."""
    kept = {k: v for k, v in start.options.items() if k not in _OURS and not k.startswith("_pq_.")}
    return {"user": user, "database": database, **kept}
