"""Formats of times."""

import pytest
from psycopg.sql import SQL

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.groups import tried_value
from dpsql.rewrite.ir.expr import refs
from dpsql.rewrite.ir.literal import format_value
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated, tree
from tests.support.fix_world import World

TRANSLATED = {
    "to_char(picked, 'YYYY')": "map[('2019',)](date_trunc[year](picked), 1546300800000000)",
    "to_char(picked, 'dy')": "map[('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')]"
    "(to_integer(extract[isodow](picked)), 1, 2, 3, 4, 5, 6, 7)",
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


_FORMATS = (
    "HH24", "hh24", "HH12 AM", "hh:mi pm", "FMHH24", "HH24:MI", "FMMI", "HH24TH", "hh24th", "Dy", "DY", "dy", "Day",
    "DAY", "day", "FMDay", "TMDay", "D", "d", "Dth", "ID", "id", "Dy HH24", "ID-HH24", "FMDay, HH12 a.m.", "dAY",
    "DAy", "Dy Y", "DDY", "DD", "Hh24", "hH", "HH24 Mon", "D J", "DHH24MI", "IDHH", "MM HH24", "WW HH24", 'HH24"h"',
    '"Day" HH24', "Dy W", "HH24 SSSS", "TMDy", "Q HH24", "HH24 CC", "AD HH24", "FX HH24", "MMIDD", "MMI", "IDDD",
    "HH24 RM", "DYHH24", "dyd", "ddd", "SPD", "DSP", "p.m.D",
)  # fmt: skip
_MOMENTS = 40
_EVERY = 16_333_337_111
"""Microseconds between the moments: four and a half hours, so that they are at all hours and minutes of the bounds."""


@pytest.mark.parametrize("pattern", _FORMATS)
def test_a_format_says_of_each_moment_what_postgres_says(pattern: str, translator: Translator, world: World) -> None:
    """Also where what it shows comes again each day or week, and one week stands for all."""
    try:
        expr = translator.expression(tree(f"to_char(picked, '{pattern}')"))
    except Unsupported:
        return  # it is another's business what is refused
    (ref,) = refs(expr)
    interval = translator.facts_of(ref).interval
    assert interval is not None
    for place in range(_MOMENTS):
        moment = int(interval.low) + place * _EVERY
        text = format_value(min(moment, int(interval.high)), SqlType.TIMESTAMP)
        asked = SQL("SELECT to_char({}::timestamp, {})").format(text, pattern)
        row = world.owner.execute(asked).fetchone()
        assert row is not None
        assert tried_value(expr, {ref: min(moment, int(interval.high))}) == row[0], text
