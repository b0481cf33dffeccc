"""Our lexer and PostgreSQL's agree: on tokens, on where statements begin and end, on their kinds and their literals."""

import re
from collections.abc import Iterator
from itertools import count
from random import Random

import psycopg
import pytest
from psycopg import pq

from dpsql.errors import DpsqlError, SyntaxFailed
from dpsql.lexer import pieces
from dpsql.lexer import reader as lexer_reader
from dpsql.lexer import reader as lexer_tokens
from dpsql.lexer.reader import TEXTS, Reader, Token, TokenKind, statement_kind, statements, tokens
from tests.support.samples import examples
from tests.wire import lexemes

SOUPS = examples(2_500, 10_000)
STATEMENTS = examples(5_000, 20_000)
_DOLLAR = '$"'
"""A dollar right behind a number, which we refuse where PostgreSQL may see a token of its own."""

_MADE = (
    "CREATE TEMP TABLE kept (a int)",
    "CREATE OR REPLACE FUNCTION fired() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
    "CREATE OR REPLACE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE OR REPLACE PROCEDURE called() LANGUAGE plpgsql AS 'BEGIN END'",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS seen AS SELECT 1",
    "SET client_min_messages = error",
    "SET escape_string_warning = off",
)


@pytest.fixture(params=[True, False], ids=["conforming", "backslashes"])
def conforming(request: pytest.FixtureRequest) -> bool:
    """Give both values of `standard_conforming_strings`."""
    return bool(request.param)


@pytest.fixture
def owner(plain: str) -> Iterator[psycopg.Connection]:
    """Give a superuser's connection to a database that no test minds."""
    with psycopg.connect(plain, autocommit=True) as connection:
        for statement in _MADE:
            connection.execute(statement.encode())
        yield connection


def _ours(text: str, conforming: bool) -> tuple[list[Token], DpsqlError | None]:
    read: list[Token] = []
    try:
        read.extend(tokens(text, conforming=conforming))
    except DpsqlError as failed:
        return read, failed
    return read, None


def _disagreement(text: str, result: pq.abc.PGresult, conforming: bool) -> str | None:
    """Return how PostgreSQL's verdict on a text contradicts ours."""
    ours, failed = _ours(text, conforming)
    place = result.error_field(pq.DiagnosticField.STATEMENT_POSITION)
    if place is None:
        return None if failed is None else f"only we say: {failed}"
    told, at = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(), int(place) - 1
    if failed is not None and _DOLLAR in str(failed):
        return None
    if failed is not None and failed.position is not None:
        return None if at <= failed.position - 1 else f"we say {failed} at {failed.position}, it says {told}"
    inside = [token for token in ours if token.start <= at < token.end]
    if "end of input" in told:
        return None if at >= len(text.rstrip()) or not ours else told
    if not inside:
        return f"{told}: between our tokens"
    (token,) = inside
    if told.startswith("invalid Unicode"):
        return (
            None
            if token.sort in (TokenKind.UNICODE, TokenKind.UNICODE_NAME, TokenKind.ESCAPED) or at == token.start
            else told
        )
    near = told.partition('at or near "')[2].removesuffix('"')
    if at != token.start or (near and not near.startswith(token.text)):
        return f"{told}: we have {token}"
    # `U&'…' UESCAPE '…'` is one token to its grammar.
    longer = near and near != token.text and token.sort not in (TokenKind.UNICODE, TokenKind.UNICODE_NAME)
    return f"{told}: we have only {token}" if longer else None


def test_tokens_are_where_postgresql_has_them(owner: psycopg.Connection, conforming: bool) -> None:
    """What a syntax error points at is a token of ours, whatever stands before it."""
    owner.execute(f"SET standard_conforming_strings = {'on' if conforming else 'off'}".encode())
    random, verdicts = Random(conforming), []  # noqa: S311 # the same soups every time
    pointed = 0
    for _ in range(SOUPS // 2):
        text = lexemes.soup(random)
        result = owner.pgconn.exec_(text.encode())
        pointed += result.error_field(pq.DiagnosticField.STATEMENT_POSITION) is not None
        verdict = _disagreement(text, result, conforming)
        if verdict is not None:
            verdicts.append((text, verdict))
    assert verdicts == []
    assert pointed > SOUPS // 3


def _message(random: Random, numbers: Iterator[int]) -> tuple[str, int]:
    """Return a transaction of several statements, and how many they are."""
    parts = ["begin"]
    for _ in range(random.randint(1, 6)):
        if random.random() < 0.5:
            parts.append(lexemes.selected(random))
        else:
            whole = random.choice(lexemes.TEMPLATES).replace("{n}", f"n{next(numbers)}")
            parts += [lexemes.spaced(random, part) for part in whole.split(" ; ")]
    parts.append("rollback")
    random_blank = random.choice(("", " ")) + random.choice(("", lexemes.blank(random)))
    return "".join(
        part + random_blank + ";" * random.choice((1, 1, 1, 2)) + random.choice(("", lexemes.blank(random)))
        for part in parts
    ), len(parts)


def _results(owner: psycopg.Connection, text: str) -> list[pq.abc.PGresult]:
    owner.pgconn.send_query(text.encode())
    results = []
    while (result := owner.pgconn.get_result()) is not None:
        results.append(result)
    return results


def _is_of_kind(tag: str, told: str | None) -> bool:
    """Return whether a command tag is one of what we take a statement for."""
    if told == "WITH":
        return tag in ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE")
    if told in ("CREATE TABLE", "CREATE MATERIALIZED VIEW", "EXECUTE"):  # … AS SELECT, and what was prepared
        return tag in ("CREATE TABLE", "SELECT")
    return tag == told or (told in ("DISCARD", "CREATE TEXT SEARCH") and tag.startswith(told))


def _selected_differently(text: str, result: pq.abc.PGresult) -> str | None:
    """Return the first literal or name of a SELECT that PostgreSQL understands differently."""
    reader = Reader(text)
    reader.take()
    for column in range(result.nfields):
        if reader.token.sort in TEXTS or reader.word == "n":
            reader.skip("n")
            value, got = reader.string(), result.get_value(0, column)
            if got is None or value != got.decode():
                return f"{value!r} is {got!r}"
        else:
            reader.take()
        if reader.skip("as"):
            name, called = reader.name(), result.fname(column)
            if called is None or name != called.decode():
                return f"{name!r} is called {called!r}"
        if not reader.skip(",") and not reader.is_at_end:
            return f"{reader.token} is no comma"
    return None if reader.is_at_end else "there is more"


def _check(owner: psycopg.Connection, text: str, parts: int) -> list[str]:
    """Return what is wrong with our reading of one message."""
    results = _results(owner, text)
    last = results[-1]
    if last.status == pq.ExecStatus.FATAL_ERROR:
        return [f"the message is not what it should be: {last.error_message!r}"]
    spans = statements(text)
    wrong = [] if len(spans) == len(results) == parts else [f"{len(spans)} statements, {len(results)}, {parts}"]
    for (start, end), result in zip(spans, results, strict=False):
        part = text[start:end]
        tag = (result.command_status or b"").decode().rstrip("0123456789 ")
        told = statement_kind(Reader(part))
        if not _is_of_kind(tag, told):
            wrong.append(f"{told} is {tag}")
        if part[:6] == "SELECT" and tag == "SELECT" and result.nfields and " into" not in part.lower():
            wrong.append(_selected_differently(part, result) or "")
        alone = owner.pgconn.prepare(b"", part.encode())
        if alone.status != pq.ExecStatus.COMMAND_OK:
            wrong.append(f"{part!r} alone: {alone.error_message!r}")
    return [words for words in wrong if words]


def test_statements_begin_and_end_where_postgresql_has_them(owner: psycopg.Connection) -> None:
    """As many as were made, each one alone, of the kind that its command tag says, with the values that it gives."""
    random, numbers, done = Random(7), count(), 0  # noqa: S311 # the same messages every time
    while done < STATEMENTS:
        text, parts = _message(random, numbers)
        assert (text, _check(owner, text, parts)) == (text, [])
        done += parts


@pytest.mark.parametrize("text", ["select 1\v", "select '1'\n\v'2'", "select " + "+" * 64 + "1", "select 1$1"])
def test_what_versions_read_differently_is_refused(text: str) -> None:
    """A vertical tab, an operator without end, a dollar behind a number."""
    with pytest.raises(SyntaxFailed):
        statements(text)
    with pytest.raises(SyntaxFailed):
        list(tokens(text))


@pytest.mark.parametrize("at_once", [2_000, 3, 1])
def test_both_ways_of_reading_agree(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements are found in leaps of any length, and end where the tokens have their semicolons."""
    monkeypatch.setattr(lexer_reader, "_RUN", lexer_reader.tokens_in_a_row(at_once))
    random = Random(11)  # noqa: S311 # the same soups every time
    for _ in range(SOUPS // 2):
        text = lexemes.soup(random)
        ours, failed = _ours(text, True)
        if failed is not None:
            with pytest.raises(DpsqlError) as caught:
                statements(text)
            assert caught.value.position == failed.position
            continue
        expected: list[list[Token]] = [[]]
        for token in ours:
            if token.word == ";":
                expected.append([])
            else:
                expected[-1].append(token)
        kept = [part for part in expected if part]
        spans = statements(text)
        assert [start for start, _ in spans] == [part[0].start for part in kept]
        assert all(part[-1].end <= end for (_, end), part in zip(spans, kept, strict=True))


def test_names_are_cut_as_postgresql_cuts_them() -> None:
    """At 63 bytes, between characters."""
    (token,) = tokens('"' + "é" * 40 + '"')
    assert lexer_tokens.token_name(token) == "é" * 31


def test_letters_are_those_of_ascii_and_all_beyond() -> None:
    """A name begins with one, goes on with digits and dollars too, and a tag with digits."""
    signs = [chr(n) for n in (*range(1, 0x180), 0x2028, 0xD7FF, 0xFFFF, 0x10FFFF)]
    letters = {c for c in signs if c == "_" or not c.isascii() or c.isalpha()}
    digits = set("0123456789")
    assert {c for c in signs if re.fullmatch(pieces.NAME, c)} == letters
    assert {c for c in signs if re.fullmatch(pieces.NAME, f"a{c}")} == letters | digits | {"$"}
    assert {c for c in signs if re.fullmatch(pieces.TAG, f"$a{c}$")} == letters | digits
