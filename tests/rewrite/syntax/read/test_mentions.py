"""Which statements name a table, and where one is read."""

import pytest
from sqlglot import exp

from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.read.parse import mentions, parse, reads

NAMES = frozenset({"trips", "big", 'odd"name'})


@pytest.mark.parametrize(
    ("text", "named", "read"),
    [
        ("SELECT * FROM trips", True, True),
        ("SELECT * FROM public.TRIPS", True, True),
        ('SELECT 1 FROM zones JOIN ONLY "trips" ON true', True, True),
        ('SELECT * FROM U&"tr\\0069ps"', True, True),
        ('SELECT * FROM "odd""name"', True, True),
        ("TABLE trips", True, True),
        ("SELECT trips FROM zones", True, False),
        ("SELECT 1 AS trips", True, False),
        ("SELECT '{int}'::regtype[] FROM pg_class WHERE relname = 'trips'", False, False),
        ('SELECT a::bigserial, trips_old FROM "Trips"', False, False),
        ("SELECT 1 -- trips", False, False),
        ("SELECT $$FROM trips$$, 'FROM trips', E'FROM \\'trips' /* FROM trips /* */ trips */", False, False),
        ("SELECT * FROM trips WHERE 'unterminated", True, True),
    ],
)
def test_names_are_told_from_what_only_looks_so(text: str, named: bool, read: bool) -> None:
    """By tokens; a text that can't be read is taken for the worst."""
    assert (mentions(text, NAMES), reads(text, NAMES)) == (named, read)


@pytest.mark.parametrize(
    "text", ["SELECT 1 WHERE 1 IN ($1,$2)", "SELECT array[$1,$2]", "SELECT $1+$2", "SELECT f($1,$2,$1), $$a,$1$$, '$1'"]
)
def test_parameters_need_no_space(text: str) -> None:
    """`$1,$` begins no quote, and what stands in quotes stays what it is."""
    statement = parse(text, parse_query)
    assert statement is not None
    assert len(list(statement.queries[0].tree.find_all(exp.Parameter))) == text.split("$$", maxsplit=1)[0].count("$")
