"""Which sqlglot dpsql can work with."""

import re

import pytest
from sqlglot.parsers.postgres import PostgresParser

from dpsql.errors import ConfigError
from dpsql.rewrite.syntax.read import dialect
from dpsql.rewrite.syntax.read.dialect import Client, parse_query, require_faithful_parser
from dpsql.rewrite.syntax.read.parse import parse
from tests.support import golden


def test_sqlglot_in_python_is_taken() -> None:
    """As it is installed with dpsql."""
    require_faithful_parser()


def test_a_python_that_misreads_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first releases of 3.11 do, which take a literal and the blank behind it for one."""
    monkeypatch.setattr(dialect, "_REPEATED", re.compile("(?:ab?c?)*+"))
    with pytest.raises(ConfigError, match="misread") as caught:
        require_faithful_parser()
    assert caught.value.hint == "Use Python 3.11.5 or later."


def test_short_way_to_names_and_constants_ends_in_the_same_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves out the levels of operators, and nothing else."""
    texts = [statement.sql for statement in golden.load()]
    short = [_tree(text) for text in texts]
    monkeypatch.setattr(Client.Parser, "_parse_disjunction", PostgresParser._parse_disjunction)
    assert short == [_tree(text) for text in texts]


def _tree(text: str) -> str | None:
    statement = parse(text, parse_query)
    return None if statement is None else "; ".join(repr(query.tree) for query in statement.queries)
