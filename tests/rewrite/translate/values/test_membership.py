"""Lists, arrays and rows of several values."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "seats IN (1, 2)": "in(seats, 1, 2)",
    "seats NOT IN (1, NULL)": "not(in(seats, 1, NULL))",
    "seats <> ALL (ARRAY[1, 2])": "not(in(seats, 1, 2))",
    "seats > ANY (ARRAY[1, 2])": "gt(seats, 1)",
    "seats >= ALL (ARRAY[1, 2, 3, NULL])": "and(ge(seats, 3), ge(seats, NULL))",
    "seats < SOME (ARRAY[1, 2, 3])": "lt(seats, 3)",
    "seats < SOME (ARRAY[1])": "lt(seats, 1)",
    "seats > ALL ('{}'::int[])": "True",
    "seats > ALL (NULL::int[])": "NULL",
    "note LIKE ANY (ARRAY['a%', NULL])": "or(like(note, a%), NULL)",
    "note NOT LIKE ALL ('{a%,b}'::text[])": "and(not(like(note, a%)), not(like(note, b)))",
    "ROW (seats, stars) <= ROW (1, 2)": "or(lt(seats, 1), and(eq(seats, 1), le(stars, 2)))",
}
REFUSED = {
    "(seats, stars) = (1, 2, 3)": "rows-alike",
    "(seats, stars) = 1": "rows-alike",
    "paid LIKE ANY (ARRAY[1])": "like-literal",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_list_is_made_of_comparisons(sql: str, translator: Translator) -> None:
    """With each of its values, or with all at once where they are constants."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_rows_and_lists_of_other_forms_are_refused(sql: str, translator: Translator) -> None:
    """By the rule that they break."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]
