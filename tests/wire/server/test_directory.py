"""A directory that is asked for passwords, where what answers in its place is hostile, slow, or none of LDAP's."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dpsql.errors import ConfigError, DirectoryAway
from dpsql.policy.config import LdapDirectory
from dpsql.wire.protocol import ldap
from dpsql.wire.server import directory
from dpsql.wire.server.directory import Directory
from dpsql.wire.server.registry import KnownUsers, UserEntry

HERE = Path(__file__).parent.parent
CERTIFICATE = HERE / "localhost.crt"
STARTED = bytes.fromhex("300c02010178070a010004000400")
RIGHT, THEIRS = "right", "their secret"
LET_IN = bytes.fromhex("300c02010261070a010004000400")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def asked(serve: Serve, *, ldaps: bool = False, password: str = RIGHT, is_user: bool = True) -> bool:
    """Return what a directory says that one listener stands for."""

    async def ask() -> bool:
        tls = None
        if ldaps:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(CERTIFICATE, HERE / "localhost.key")
        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
            port = server.sockets[0].getsockname()[1]
            config = LdapDirectory("127.0.0.1", port, ldaps, "uid={user},dc=example", CERTIFICATE)
            try:
                return await Directory(config).is_password("ana", password, is_user=is_user)
            finally:
                server.close()

    return asyncio.run(ask())


def saying(*answers: bytes) -> Serve:
    """Return what reads a message before each answer that it has, whatever it says, and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.read(10_000)
            writer.write(answer)
            await writer.drain()
        writer.close()

    return serve


def test_what_is_let_in_is_let_in() -> None:
    """By an answer to the bind, over TLS."""
    assert asked(saying(LET_IN.replace(b"\x02\x01\x02", b"\x02\x01\x01")), ldaps=True)


@pytest.mark.parametrize(
    "answers",
    [
        (STARTED + LET_IN,),
        (STARTED, LET_IN),
        (LET_IN,),
        (bytes.fromhex("300c02010178070a013404000400"), LET_IN),
        (b"",),
        (b"HTTP/1.1 200 OK\r\n\r\n",),
        (b"\x30\x84\xff\xff\xff\xff",),
        (b"\x30\x80",),
        (b"\x30\x02\x02\x01",),
        (b"\x30\x05\x02\x01\x00\x78\x00",),
    ],
)
def test_nothing_that_is_said_before_tls_lets_anybody_in(answers: tuple[bytes, ...]) -> None:
    """Neither in the same packet as the word that TLS begins, nor behind it, nor instead."""
    with pytest.raises(DirectoryAway):
        asked(saying(*answers))


def test_a_certificate_of_another_name_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its authority is believed."""
    heard = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(10_000))
        writer.close()

    config = LdapDirectory.__init__
    monkeypatch.setattr(LdapDirectory, "__init__", lambda made, _, *more: config(made, "127.0.0.2", *more))
    with pytest.raises(DirectoryAway):
        asked(serve, ldaps=True)
    assert heard == []


@pytest.mark.parametrize("ldaps", [True, False])
def test_a_directory_that_is_silent_is_away(monkeypatch: pytest.MonkeyPatch, ldaps: bool) -> None:
    """After some seconds."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(10_000):
            pass
        writer.close()

    monkeypatch.setattr(directory, "_PATIENCE", 0.3)
    with pytest.raises(DirectoryAway):
        asked(serve, ldaps=ldaps)


@pytest.mark.parametrize("password", ["", "a\0b"])
def test_no_password_is_not_sent(password: str) -> None:
    """A server may take it for nobody's, and let that in."""
    heard = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(10_000))
        writer.close()

    assert not asked(serve, ldaps=True, password=password)
    assert heard == []
    with pytest.raises(ValueError, match="without a name and a password"):
        ldap.bind(1, "uid=ana", "")
    with pytest.raises(ValueError, match="without a name and a password"):
        ldap.bind(1, " ", "right")


def test_strangers_who_wait_for_a_slow_directory_keep_nobody_out() -> None:
    """As many as may ask, of whom the directory thinks for long, before a user comes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = await reader.read(10_000)
        if b"ana" in said:
            writer.write(LET_IN.replace(b"\x02\x01\x02", b"\x02\x01\x01"))
            await writer.drain()
        else:
            await asyncio.sleep(5)
        writer.close()

    async def ask() -> bool:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(CERTIFICATE, HERE / "localhost.key")
        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
            port = server.sockets[0].getsockname()[1]
            asked = Directory(LdapDirectory("127.0.0.1", port, True, "uid={user},dc=example", CERTIFICATE))
            strangers = [asyncio.create_task(asked.is_password(f"x{n}", "y", is_user=False)) for n in range(40)]
            await asyncio.sleep(0.1)
            try:
                return await asyncio.wait_for(asked.is_password("ana", RIGHT, is_user=True), 3)
            finally:
                for stranger in strangers:
                    stranger.cancel()
                await asyncio.gather(*strangers, return_exceptions=True)
                server.close()

    assert asyncio.run(ask())


def test_who_is_nobody_is_not_let_in_by_any_answer() -> None:
    """The directory hears neither the name nor the password."""
    heard = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(10_000))
        writer.write(LET_IN.replace(b"\x02\x01\x02", b"\x02\x01\x01"))
        await writer.drain()
        writer.close()

    assert not asked(serve, ldaps=True, password=THEIRS, is_user=False)
    assert THEIRS.encode() not in heard[0]
    assert b"ana" not in heard[0]


def test_results_that_say_nothing_of_a_password_are_none() -> None:
    """Busy, a referral, protocol errors: nobody is let in, and nothing is counted."""
    for result in (1, 2, 7, 8, 10, 51, 52, 80):
        answer = bytearray(LET_IN.replace(b"\x02\x01\x02", b"\x02\x01\x01"))
        answer[9] = result
        with pytest.raises(DirectoryAway):
            asked(saying(bytes(answer)), ldaps=True)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ana", "ana"),
        ("ana.b-c_d", "ana.b-c_d"),
        ("a,ou=b", "a\\2cou\\3db"),
        (' #a"+<>;\\', "\\20\\23a\\22\\2b\\3c\\3e\\3b\\5c"),
        ("Zoë ∞", "Zoë\\20\\e2\\88\\9e"),
    ],
)
def test_letters_that_mean_something_are_written_in_digits(name: str, written: str) -> None:
    """So a name stays one value of one attribute."""
    assert ldap.escape_name(name) == written


def test_long_values_have_long_lengths() -> None:
    """As BER wants them."""
    assert ldap.bind(2, "uid=ana", "x" * 300)[:4] == bytes([0x30, 0x82, 0x01, 0x43])
    assert ldap.bind(2, "uid=ana", "x" * 130)[:3] == bytes([0x30, 0x81, 0x97])


def test_certificates_that_can_not_be_read_are_told(tmp_path: Path) -> None:
    """When the server starts."""
    for ca in (tmp_path / "missing", Path(__file__)):
        with pytest.raises(ConfigError, match=r"ldap\.ca: "):
            Directory(LdapDirectory("localhost", 636, True, "uid={user}", ca))


def test_strangers_are_asked_as_users_are() -> None:
    """As many of them by the directory as of the users, each always the same."""
    verifier = "SCRAM-SHA-256$4096:c2FsdA==$" + f"{'A' * 43}=:{'A' * 43}="
    entries = {f"user{number}": UserEntry("r", "" if number < 3 else verifier) for number in range(10)}
    users = KnownUsers(entries, b"secret", has_directory=True)
    assert [users.is_of_directory(name) for name in entries] == [True] * 3 + [False] * 7
    strangers = [users.is_of_directory(f"stranger{number}") for number in range(1_000)]
    assert 240 < sum(strangers) < 360
    assert strangers == [users.is_of_directory(f"stranger{number}") for number in range(1_000)]
    assert not KnownUsers(entries, b"secret", has_directory=False).is_of_directory("user0")
