"""Formats of times."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "to_char(picked, 'YYYY')": "map[('2019',)](date_trunc[year](picked), 1546300800000000)",
}
REFUSED = {
    "to_char(picked, note)": "to-char-format",
    "to_char(picked, 'MS')": "to-char-format",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_format_is_a_map_of_the_finest_unit_that_it_shows(sql: str, translator: Translator) -> None:
    """One text a year, not one a microsecond."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_formats_of_too_many_texts_are_refused(sql: str, translator: Translator) -> None:
    """Or of unknown ones."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]
