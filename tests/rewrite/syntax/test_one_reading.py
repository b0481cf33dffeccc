"""The parser and PostgreSQL's lexer read a private statement alike, or it is not understood."""

from random import Random

import pytest

from dpsql.lexer.tokens import TEXTS, tokens
from dpsql.rewrite.syntax.read.agree import same_tokens
from dpsql.rewrite.syntax.read.bridges import bridged
from dpsql.rewrite.syntax.read.dialect import Client, with_marked_parameters
from dpsql.rewrite.syntax.read.parse import Wrap, parse, parsed

QUERY = "select count(*) from rides"

WRAPPED = [
    (QUERY, Wrap.NOTHING, "", ""),
    (f"/* /* */ */ {QUERY}", Wrap.NOTHING, "", ""),
    (f"--\r{QUERY}", Wrap.NOTHING, "", ""),
    (
        f"declare c no scroll cursor with hold for {QUERY}",
        Wrap.DECLARE,
        "declare c no scroll cursor with hold for ",
        "",
    ),
    (
        f"declare\f\"c'\"--'\rbinary cursor/**/for\r{QUERY}",
        Wrap.DECLARE,
        "declare\f\"c'\"--'\rbinary cursor/**/for\r",
        "",
    ),
    (f"copy({QUERY} where note = ')') to stdout", Wrap.COPY, "copy(", ") to stdout"),
    (f"create temp table a (b) on commit drop as {QUERY} with no data;", Wrap.CREATE, None, " with no data;"),
    (f'create local temporary table if not exists U&"a" as {QUERY} -- with data', Wrap.CREATE, None, ""),
    (f"explain (costs off, verbose) {QUERY}", Wrap.EXPLAIN, "explain (costs off, verbose) ", ""),
    (f"explain analyze verbose /*'*/ {QUERY}", Wrap.EXPLAIN, "explain analyze verbose /*'*/ ", ""),
]


@pytest.mark.parametrize(("text", "wrap", "prefix", "suffix"), WRAPPED)
def test_query_is_found_in_what_stands_around_it(text: str, wrap: Wrap, prefix: str | None, suffix: str) -> None:
    """By tokens: whatever stands in comments and literals ends nothing."""
    found = parse(text, parsed)
    assert found is not None
    assert (found.wrap, found.around[1]) == (wrap, suffix)
    assert prefix is None or found.prefix == prefix
    assert found.text([found.queries[0].text]) == text


READ_OTHERWISE = [
    "select count(*) from rides where note = 'a\u00a0' --\u2028",
    "select count(*) from rides --\r where seats = 1",
    "select count(*)\u00a0from rides",
    "select count(*) from rides where seats = 1\v",
    "select count(*) from rides /* /* */ where seats = 1 */",
]


@pytest.mark.parametrize("text", READ_OTHERWISE)
def test_statement_is_not_understood_unless_both_read_it_alike(text: str) -> None:
    """Either what the parser reads is what PostgreSQL reads, or there is no statement."""
    found = parse(text, parsed)
    assert found is None or same_tokens(
        tuple(tokens(bridged(found.queries[0].text))),
        Client().tokenize(with_marked_parameters(bridged(found.queries[0].text))),
    )


PARTS = (
    "'",
    "\\",
    '"',
    "$$",
    "$a$",
    "/*",
    "*/",
    "--",
    "\n",
    "\r",
    "e'",
    "U&'",
    "n'",
    "x",
    "1",
    ".",
    " ",
    "$1",
    ",",
    ";",
    "\u00a0",
)


def test_literals_of_the_parser_are_postgresqls() -> None:
    """Where all tokens agree, so does each literal: none begins or ends inside another one's."""
    random, agreed = Random(3), 0  # noqa: S311 # the same texts every time
    for _ in range(20_000):
        text = "".join(random.choices(PARTS, k=random.randint(1, 12)))
        try:
            ours, theirs = tuple(tokens(text)), Client().tokenize(with_marked_parameters(text))
        except Exception:  # noqa: BLE001, S112 # one of both does not read it
            continue
        if not same_tokens(ours, theirs):
            continue
        agreed += 1
        whole = {(token.start, token.end) for token in ours if token.sort in TEXTS}
        found = {(t.start, t.end + 1) for t in theirs}
        # An N before a literal is a token of its own to PostgreSQL.
        assert all(span in found or (span[0] - 1, span[1]) in found for span in whole), text
    assert agreed > 1_000
