"""Names as PostgreSQL reads them."""

import pytest
import sqlglot
from sqlglot import exp

from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import Client


@pytest.mark.parametrize(
    ("written", "name"), [("Fare", "fare"), ('"Fare"', "Fare"), ("ÄRGER", "Ärger"), ('"a""b"', 'a"b')]
)
def test_names_are_folded_unless_they_are_quoted(written: str, name: str) -> None:
    """PostgreSQL folds ASCII letters in UTF-8, and no others."""
    tree = sqlglot.parse_one(f"SELECT {written}", read=Client)
    column = tree.find(exp.Column)
    assert column is not None
    assert fold(column.this) == name


def test_what_is_no_name_is_empty() -> None:
    """As of a column without a table."""
    assert fold(None) == fold(exp.Literal.number(1)) == ""
