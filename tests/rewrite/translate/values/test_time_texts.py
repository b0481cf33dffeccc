"""The beginnings of the texts of times."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

YEAR = "map[('{}',)](date_trunc[year](picked), 1546300800000000)"
TRANSLATED = {
    "left(picked::text, 4)": YEAR.format("2019"),
    "left((CAST(picked AS varchar)), 3)": YEAR.format("201"),
    "substr(picked::text, 3, 2)": YEAR.format("19"),
    "substring(picked::text FROM 0 FOR 3)": YEAR.format("20"),
    "left(picked::varchar(3), 4)": YEAR.format("201"),
}


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_beginning_is_a_map_of_the_finest_unit_that_it_shows(sql: str, translator: Translator) -> None:
    """One text a year, not one a microsecond."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize(
    "sql", ["left(picked::text, 20)", "left(picked::text, -3)", "picked::text", "right(picked::text, 4)"]
)
def test_what_shows_more_is_refused_with_what_to_write(sql: str, translator: Translator) -> None:
    """Texts to a fraction of a second are as many as times; the owner can't help that."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == "function-needs-domain"
    assert "to_char" in (refusal.value.hint or "")
