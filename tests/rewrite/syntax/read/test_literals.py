"""Literals with types around them."""

import pytest
import sqlglot

from dpsql.rewrite.syntax.read.dialect import literal_text, without_literal_type


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"),
        ("'a'::text", "a"),
        ("('a'::varchar(3))::text", "a"),
        ("'1'::int", None),
        ("5", None),
        ("x::text", None),
    ],
)
def test_a_text_is_one_whatever_type_of_text_it_is_of(text: str, value: str | None) -> None:
    """But no number, and no column."""
    assert literal_text(sqlglot.parse_one(text, read="postgres")) == value


@pytest.mark.parametrize(("text", "bare"), [("'1'::int", "'1'"), ("(5)::float", "5"), ("x::int", "CAST(x AS INT)")])
def test_a_literal_is_found_in_its_casts(text: str, bare: str) -> None:
    """Anything else stays as it is."""
    assert without_literal_type(sqlglot.parse_one(text, read="postgres")).sql("postgres") == bare
