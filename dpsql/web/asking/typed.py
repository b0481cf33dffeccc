"""A statement as somebody typed it: what the page takes, and what it sends on."""

from collections.abc import Mapping
from fractions import Fraction

from dpsql.errors import DpsqlError
from dpsql.lexer.split import statements
from dpsql.lexer.tokens import tokens
from dpsql.policy.model import Role
from dpsql.web.inputs import BadField, fraction

LONGEST_STATEMENT = 32_000
"""Characters of a statement."""
_QUERIES = frozenset({"select", "with", "values", "table", "("})
_LEAST = Fraction(1, 10**9)


def typed_statement(given: Mapping[str, str]) -> str:
    """Return the one query of a text, without what stands around it.

    Nothing but a query is sent on from here: what sets or makes something would be left behind in the visitor's session.

    Raises:
        BadField: it is none, or several.
    """
    text = given.get("statement", "")
    if len(text) > LONGEST_STATEMENT:
        raise BadField(
            "statement",
            f"the statement has {len(text):,} characters, and may have {LONGEST_STATEMENT:,}; write a list of values as "
            "BETWEEN, or as a join with a public table",
        )
    if "\0" in text:
        raise BadField("statement", "the statement has a character with the code 0; leave it out")
    try:
        spans = statements(text)
    except DpsqlError as error:
        raise BadField("statement", error.message) from None
    if not spans:
        raise BadField("statement", "write a question: SELECT …")
    if len(spans) > 1:
        raise BadField("statement", "ask one statement at a time; WITH puts several questions into one")
    ((begin, end),) = spans
    if _first_word(text[begin:end]) not in _QUERIES:
        raise BadField("statement", "only queries are asked here, which begin with SELECT or WITH; psql takes the rest")
    return text[begin:end].rstrip()


def begins_at(text: str) -> int:
    """Return where the statement of a text begins, after blanks and comments."""
    return statements(text)[0][0]


def settings_of(given: Mapping[str, str], role: Role) -> Mapping[str, str]:
    """Return the session's settings for one statement: the most ε that it pays, if that is chosen.

    Raises:
        BadField: the ε is none, or more than the role may pay for a statement.
    """
    if not given.get("epsilon", "").strip():
        return {}
    epsilon = fraction({"epsilon": given["epsilon"].strip()}, "epsilon", _LEAST, role.per_query.epsilon)
    return {"dpsql.epsilon": f"{float(epsilon):.12g}"}


def _first_word(statement: str) -> str:
    return next((token.word for token in tokens(statement)), "")
