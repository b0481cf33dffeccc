"""Whatever a client's encoding, PostgreSQL and Python see the same tokens in its bytes: asked about every character."""

from collections.abc import Iterator
from itertools import product

import psycopg
import pytest
from psycopg import pq

from dpsql.wire.intercept.settings import _UNREAD, codec_of, decode_exactly, is_unread, readable

_READ = """
CREATE OR REPLACE FUNCTION read_each(encoding name, candidates bytea[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  candidate bytea;
  found text[] := '{}';
BEGIN
  FOREACH candidate IN ARRAY candidates LOOP
    BEGIN
      found := found || convert_from(candidate, encoding);
    EXCEPTION WHEN OTHERS THEN
      found := found || NULL::text;
    END;
  END LOOP;
  RETURN found;
END $$
"""
_AFTER = b"'\"\\;/*-$ aE"
"""What begins or ends a token, and must not be swallowed by the character before it."""
_STEP = 1_000


@pytest.fixture(scope="module")
def owner(plain: str) -> Iterator[psycopg.Connection]:
    """Give a superuser's connection to a database that no test minds."""
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(_READ)
        yield connection


def _longer(encoding: str, first: list[int], step: int) -> Iterator[bytes]:
    """Give everything of several bytes that may be one character and begins with one of `first`."""
    if encoding.startswith(("LATIN", "WIN", "KOI8", "ISO_8859")):
        return
    yield from (bytes(pair) for pair in product(first[::step], range(0x21, 0x100)))
    if encoding in ("EUC_JP", "EUC_JIS_2004"):
        yield from (b"\x8f" + bytes(pair) for pair in product(range(0xA1, 0xFF, step), range(0xA1, 0xFF)))
    if encoding == "GB18030":
        digits = (0x30, 0x35, 0x39)
        yield from (bytes(four) for four in product(range(0x81, 0xFF, step), digits, range(0x81, 0xFF, 5), digits))


def _read(owner: psycopg.Connection, encoding: str, candidates: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """Give those that PostgreSQL reads, with what it reads."""
    for start in range(0, len(candidates), _STEP):
        some = candidates[start : start + _STEP]
        row = owner.execute("SELECT read_each(%s, %s)", (encoding, some)).fetchone()
        assert row is not None
        yield from ((raw, text) for raw, text in zip(some, row[0], strict=True) if text is not None)


def _is_read_otherwise(raw: bytes, codec: str) -> bool:
    """Return whether we see in a character (and in what may follow it) something of ASCII that PostgreSQL does not."""
    alone = decode_exactly(raw, codec)
    if alone is not None and any(char.isascii() for char in alone):
        return True
    for after in _AFTER:
        both = decode_exactly(raw + bytes([after]), codec)
        if both is not None and (both[-1] != chr(after) or any(char.isascii() for char in both[:-1])):
            return True
    return False


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("encoding", [name for name in readable() if codec_of(name) != "utf-8"])
def test_no_character_is_read_as_another_token(owner: psycopg.Connection, encoding: str, step: int) -> None:
    """One character of PostgreSQL's is one of ours, or none; neither side makes one of ASCII of it."""
    codec = codec_of(encoding)
    assert codec is not None
    short = [bytes([byte]) for byte in range(0x80, 0x100)]
    read = list(_read(owner, encoding, short))
    whole = {raw for raw, _ in read}
    first = [raw[0] for raw in short if raw not in whole]
    read += _read(owner, encoding, list(_longer(encoding, first, step)))
    assert [raw for raw, text in read if any(char.isascii() for char in text)] == []
    assert [raw for raw, _ in read if _is_read_otherwise(raw, codec)] == []
    same = sum(decode_exactly(raw, codec) == text for raw, text in read)
    assert same > 0.75 * len(read) > 50


@pytest.mark.parametrize("encoding", readable())
def test_ascii_is_itself(owner: psycopg.Connection, encoding: str) -> None:
    """Keywords, quotes and backslashes are the same bytes everywhere."""
    every = bytes(range(1, 128))
    row = owner.execute("SELECT convert_from(%s, %s)", (every, encoding)).fetchone()
    assert row == (every.decode("ascii"),)
    codec = codec_of(encoding)
    assert codec is not None
    assert every.decode(codec) == every.decode("ascii")
    assert decode_exactly(every, codec) == every.decode("ascii")


def test_other_names_of_encodings_are_read(owner: psycopg.Connection) -> None:
    """PostgreSQL makes its own spelling of what clients write, but for UNICODE, which Pgtcl and old drivers set."""
    told = {}
    for name in ("UNICODE", "Unicode", "utf-8", "ISO88591", "Windows-1251", "shiftjis", "WIN"):
        assert owner.pgconn.exec_(f"SET client_encoding = '{name}'".encode()).status == pq.ExecStatus.COMMAND_OK
        told[name] = (owner.pgconn.parameter_status(b"client_encoding") or b"").decode()
    owner.pgconn.exec_(b"SET client_encoding = 'UTF8'")
    assert {name for name, spelled in told.items() if codec_of(spelled) is None} == set()
    assert told["UNICODE"] == "UNICODE"
    assert codec_of("UNICODE") == codec_of("UTF8")


def test_every_encoding_of_postgresql_is_read_or_named(owner: psycopg.Connection) -> None:
    """What it takes as client_encoding, in its own spelling, we read, or know that we don't."""
    names = owner.execute("SELECT DISTINCT pg_encoding_to_char(i) FROM generate_series(0, 60) i").fetchall()
    taken = set()
    for (name,) in names:
        result = owner.pgconn.exec_(f"SET client_encoding = '{name}'".encode())
        if result.status == pq.ExecStatus.COMMAND_OK:
            taken.add((owner.pgconn.parameter_status(b"client_encoding") or b"").decode())
    owner.pgconn.exec_(b"SET client_encoding = 'UTF8'")
    assert taken - set(readable()) == {name for name in _UNREAD if name in taken}
    assert set(readable()) <= taken
    assert all(is_unread(name) and is_unread(name.lower().replace("_", "-")) for name in _UNREAD)
