"""The parser and PostgreSQL's lexer read a private statement alike, or it is not understood."""

import pytest

from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.read.parse import Wrap, parse

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
    statement = parse(text, parse_query)
    assert statement is not None
    assert (statement.wrap, statement.around[1]) == (wrap, suffix)
    assert prefix is None or statement.prefix == prefix
    assert statement.text([statement.queries[0].text]) == text
