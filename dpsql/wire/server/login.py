"""Log-in: the password, the database, and the start options."""

import asyncio
import logging
from functools import partial

from dpsql.errors import AuthFailed, DpsqlError, ProtocolError, UnknownDatabase
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.wire.intercept.audited import LogInAudit
from dpsql.wire.protocol import startup
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Frames
from dpsql.wire.protocol.startup import Start
from dpsql.wire.protocol.transport import ClientTransport
from dpsql.wire.server.directory import Directory
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
        DirectoryAway: when the directory that knows it can't be asked.
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
        if registry.directory is not None and registry.known_users.is_of_directory(user):
            await _ask_directory(registry, registry.directory, transport, incoming, user)
            return entry
        end_point = shown.end_point if shown is not None and transport.is_encrypted else None
        await startup.authenticate(
            transport, incoming, registry.known_users.verifier(user), registry.limits, barred, end_point
        )
    except AuthFailed:
        registry.attempts.failed(user, transport.address)
        raise
    registry.attempts.succeeded(user, transport.address)
    return entry


async def _ask_directory(
    registry: ConnectionRegistry, directory: Directory, transport: ClientTransport, incoming: Frames, user: str
) -> None:
    password = await startup.password_in_clear(transport, incoming, registry.limits)
    async with directory.turn(user):  # else many would be tried before the first of them has failed
        if registry.attempts.barred(user, transport.address):
            raise AuthFailed
        if not await directory.is_password(user, password, is_user=user in registry.users):
            raise AuthFailed
        registry.attempts.succeeded(user, transport.address)
    startup.let_in(transport)


async def is_password(registry: ConnectionRegistry, user: str, password: str) -> bool:
    """Return whether a password is a user's, for anybody who knows it.

    Raises:
        DirectoryAway: the directory that knows it can't be asked.
    """
    if registry.directory is not None and registry.known_users.is_of_directory(user):
        return await registry.directory.is_password(user, password, is_user=user in registry.users)
    return await asyncio.to_thread(registry.known_users.verifier(user).is_of, password)


def session_options(start: Start, user: str, database: str) -> dict[str, str]:
    """Return the start options for the shadow."""
    kept = {k: v for k, v in start.options.items() if k not in _OURS and not k.startswith("_pq_.")}
    return {"user": user, "database": database, **kept}
