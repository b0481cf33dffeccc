"""The LDAP directory that knows some users' passwords, asked whether one is right: a bind as the user, and nothing else.

Promise: a password leaves only once TLS stands and the directory's certificate is one of its name; of a name that is nobody's
neither the name nor the password leaves. For each user one password is tried at a time, so that as many fail as may.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from weakref import WeakValueDictionary

from dpsql.errors import ConfigError, DirectoryAway
from dpsql.policy.config import LdapDirectory
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.wire.protocol import ldap
from dpsql.wire.protocol.ldap import UnreadableAnswerError

_RATE_LIMITED = RateLimitedLog(logging.getLogger("dpsql.wire"))
_PATIENCE = 8.0
"""Seconds that the directory has for all of one question."""
_AT_ONCE = 16
"""Questions about users that it is asked at the same time, and about strangers, who keep no user waiting."""
_NOBODY = ("dpsql-nobody", "x")
"""The user whom the directory is asked about where a name is nobody's, so that this takes as long."""
_FAILURES = (OSError, ssl.SSLError, EOFError, TimeoutError, UnreadableAnswerError)


class Directory:
    """Asks one directory."""

    def __init__(self, config: LdapDirectory) -> None:
        """Read the certificates that are believed.

        Raises:
            ConfigError: they can't be read.
        """
        self._config = config
        try:
            self._tls = ssl.create_default_context(cafile=config.ca)
        except (OSError, ssl.SSLError) as failed:
            raise ConfigError(f"ldap.ca: {config.ca} can't be used: {failed}") from None
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self._rooms = {is_user: asyncio.Semaphore(_AT_ONCE) for is_user in (True, False)}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        """Wait until nobody else tries a password as this user."""
        lock = self._turns.setdefault(user, asyncio.Lock())
        async with lock:
            yield

    async def is_password(self, user: str, password: str, *, is_user: bool) -> bool:
        """Return whether the directory lets a user in with a password; without `is_user` it hears nothing.

        Raises:
            DirectoryAway: it can't be asked, or can't tell.
        """
        if not password or "\0" in password:
            return False
        asked, tried = (user, password) if is_user else _NOBODY
        try:
            async with self._rooms[is_user]:
                result = await asyncio.wait_for(self._bound(asked, tried), _PATIENCE)
        except _FAILURES as failed:
            _RATE_LIMITED.warning("the directory %s can't be asked: %s", self._config.host, _cause(failed))
            raise DirectoryAway from None
        if result != ldap.SUCCESS and result not in ldap.WRONG:
            _RATE_LIMITED.warning("the directory %s gives no verdict: result %d", self._config.host, result)
            raise DirectoryAway
        return is_user and result == ldap.SUCCESS

    async def wrong(self) -> str | None:
        """Return why it can't be asked, None if it can: nobody is let in, which it has to say."""
        try:
            result = await asyncio.wait_for(self._bound(*_NOBODY), _PATIENCE)
        except _FAILURES as failed:
            return _cause(failed)
        if result == ldap.SUCCESS:
            return "it lets anybody in, with any password"
        return None if result in ldap.WRONG else f"it answers with result {result}"

    async def _bound(self, user: str, password: str) -> int:
        """Return the result of a bind as a user."""
        config = self._config
        name = config.user_dn.replace("{user}", ldap.escape_name(user) if config.is_of_dns else user)
        with await self._connected() as raw:
            number = 1
            if not config.ldaps:
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(raw, ldap.start_tls(number))
                # No byte more is read than the answer has: what else was sent before TLS is no word of the directory's.
                if await ldap.tls_may_start(partial(_exactly, raw), number) != ldap.SUCCESS:
                    raise UnreadableAnswerError("it does not begin TLS")
                number += 1
            reader, writer = await asyncio.open_connection(sock=raw, ssl=self._tls, server_hostname=config.host)
            try:
                writer.write(ldap.bind(number, name, password))
                return await ldap.bind_result(reader.readexactly, number)
            finally:
                writer.transport.abort()

    async def _connected(self) -> socket.socket:
        loop, last = asyncio.get_running_loop(), OSError("it has no address")
        for family, kind, protocol, _, address in await loop.getaddrinfo(
            self._config.host, self._config.port, type=socket.SOCK_STREAM
        ):
            raw = socket.socket(family, kind, protocol)
            raw.setblocking(False)
            try:
                await loop.sock_connect(raw, address)
            except OSError as failed:
                raw.close()
                last = failed
            except BaseException:
                raw.close()
                raise
            else:
                return raw
        raise last


async def _exactly(raw: socket.socket, size: int) -> bytes:
    """Read exactly so many bytes, of which nothing is kept elsewhere."""
    loop, got = asyncio.get_running_loop(), b""
    while len(got) < size:
        part = await loop.sock_recv(raw, size - len(got))
        if not part:
            raise EOFError
        got += part
    return got


def _cause(failed: BaseException) -> str:
    match failed:
        case TimeoutError():
            return f"no answer within {_PATIENCE:g} s"
        case EOFError():
            return "it hung up"
        case _:
            return str(failed) or type(failed).__name__
