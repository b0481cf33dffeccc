"""Subqueries over public tables are constants."""

import pytest

from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "(SELECT max(zones.zone_id) FROM zones) + seats": "add(9, seats)",
    "from_zone IN (SELECT zones.zone_id FROM zones WHERE zones.borough = 'Queens')": "in(from_zone, 1, 4)",
}


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_public_subquery_is_its_values(sql: str, translator: Translator) -> None:
    """The shadow has the rows, the engine sees what comes out."""
    assert translated(translator, sql) == TRANSLATED[sql]
