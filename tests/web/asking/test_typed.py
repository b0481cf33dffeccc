"""Which texts are sent on, and which are refused at the field."""

from fractions import Fraction

import pytest

from dpsql.policy.model import Period, Privacy, Role, RoleBudget
from dpsql.web.asking.answers import LONGEST_STATEMENT, begins_at, settings_of, typed_statement
from dpsql.web.inputs import BadField

ROLE = Role("analyst", "passenger", RoleBudget(Privacy(Fraction(10)), Period.NEVER), Privacy(Fraction(1, 2)))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("  SELECT 1;\n", "SELECT 1"),
        ("-- which\nSELECT ';' ; -- done", "SELECT ';'"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a"),
        ("(SELECT 1)", "(SELECT 1)"),
        (
            "SELECT a.into, 1 AS into, 'INSERT' FROM a FOR UPDATE",
            "SELECT a.into, 1 AS into, 'INSERT' FROM a FOR UPDATE",
        ),
    ],
)
def test_one_query_is_taken(text: str, statement: str) -> None:
    """Without what stands around it."""
    assert typed_statement({"statement": text}) == statement
    assert text[begins_at(text) :].startswith(statement)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write a question"),
        (" ; ", "write a question"),
        ("SELECT 1; SELECT count(*) FROM trips", "one statement at a time"),
        ("SET dpsql.epsilon = '5'", "only queries"),
        ("EXPLAIN SELECT 1", "only queries"),
        ("ANALYZE trips", "only queries"),
        ("DELETE FROM trips", "only queries"),
        ("SELECT count(*) INTO TEMP a FROM trips", "only queries"),
        ("WITH a AS (INSERT INTO b VALUES (1) RETURNING 1) SELECT * FROM a", "only queries"),
        ("WITH a AS (SELECT 1) UPDATE b SET c = 1", "only queries"),
        ("SELECT 'open", "unterminated"),
        ("SELECT 1\0", "code 0"),
        ("x" * (LONGEST_STATEMENT + 1), "32,001 characters"),
    ],
)
def test_anything_else_is_refused_at_the_field(text: str, words: str) -> None:
    """What is sent behind EXPLAIN must be one query, or it would be asked."""
    with pytest.raises(BadField, match=words) as refused:
        typed_statement({"statement": text})
    assert refused.value.field == "statement"


def test_epsilon_is_the_roles_at_most() -> None:
    """Nothing is set where nothing is chosen."""
    assert settings_of({}, ROLE) == {}
    assert settings_of({"epsilon": " 0.25 "}, ROLE) == {"dpsql.epsilon": "0.25"}
    for wrong in ("0.6", "0", "-1", "much", "'; SELECT 1"):
        with pytest.raises(BadField) as refused:
            settings_of({"epsilon": wrong}, ROLE)
        assert refused.value.field == "epsilon"
