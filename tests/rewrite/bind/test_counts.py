"""Which parameters of LIMIT and OFFSET are read as if they were written: those whose text is the number that counts."""

import pytest

from dpsql.question import Argument
from dpsql.rewrite.bind.deparsed import counts_of, with_counts
from dpsql.rewrite.syntax.read.dialect import parse_query, render

FORMS = {
    ("SELECT 1 FROM t OFFSET $1", "0", "bigint"): "SELECT 1 FROM t OFFSET 0",
    ("SELECT 1 FROM t OFFSET $1::bigint", "0", "integer"): "SELECT 1 FROM t OFFSET 0",
    ("SELECT 1 FROM t LIMIT $1", None, "bigint"): "SELECT 1 FROM t LIMIT NULL",
    ("SELECT 1 FROM t LIMIT $1", "7", "bigint"): None,
    ('SELECT 1 FROM t OFFSET $1::"char"::int', "0", '"char"'): None,
    ('SELECT 1 FROM t OFFSET $1::"char"::int', "0", "text"): None,
    ("SELECT 1 FROM t LIMIT $1::bit(4)::int", "1", "bit"): None,
}
"""By a text, a value and its type what is read; None: the parameter stays. '0' of type "char" is 48, and a bit may be 8."""


@pytest.mark.parametrize(("form", "wanted"), FORMS.items())
def test_what_decides_is_read_as_written(form: tuple[str, str | None, str], wanted: str | None) -> None:
    """0, 1 and NULL, through casts between numbers; no cast that makes another number of them."""
    text, value, kind = form
    tree = parse_query(text)
    assert tree is not None
    before = render(tree)
    with_counts(tree, counts_of(text, (Argument(value, kind),)))
    assert render(tree) == (before if wanted is None else wanted)
