"""Groups by columns of rarer types of which nothing is declared: found out, and shown as PostgreSQL shows them."""

import pytest

from tests.queries.test_golden import compare
from tests.support.fix_types import NewTyped
from tests.support.fix_world import Answer
from tests.support.golden import Golden
from tests.support.reference import Reference

ENGINES = ("duckdb", "postgres")
OWN = 16_384
"""From which number on types are not PostgreSQL's own: those of enumerations differ from database to database."""
SHARED = 20
"""Groups of as many rows are those that many people share; one's own have one or two."""
FOUND = (
    "SELECT opens, count(*) FROM marks GROUP BY 1",
    "SELECT stay, count(*) FROM marks GROUP BY 1",
    "SELECT seen, count(*) FROM marks GROUP BY 1",
    "SELECT ticket, count(*) FROM marks GROUP BY 1",
    "SELECT code, count(*) FROM marks GROUP BY 1",
    "SELECT day, count(*) FROM marks GROUP BY 1",
    "SELECT mood, ticket, count(*) FROM marks GROUP BY 1, 2",
    "SELECT paid, opens, stay, seen, count(*) FROM marks GROUP BY 1, 2, 3, 4",
    "SELECT ticket::text AS t, code::text AS c, count(*) FROM marks GROUP BY 1, 2",
    "SELECT code::varchar(1) AS c, left(ticket::text, 3) AS t, count(*) FROM marks GROUP BY 1, 2",
    "SELECT coalesce(opens, '12:00') AS o, count(*) FROM marks GROUP BY 1",
    "SELECT CASE WHEN paid THEN stay END AS s, CASE WHEN paid THEN ticket END AS t, count(*) FROM marks GROUP BY 1, 2",
    "SELECT opens, count(*) FROM marks WHERE opens IN ('07:03', '00:00', '01:02:03') GROUP BY 1",
    "SELECT seen, count(*) FROM marks WHERE seen >= '2019-03-31 00:30Z' GROUP BY 1",
    "SELECT stay, count(*) FROM marks WHERE stay < interval '0' GROUP BY 1",
    "SELECT code, count(*) FROM marks WHERE code IN ('a', '000') GROUP BY 1",
    "SELECT came::time AS t, count(*) FROM marks GROUP BY 1",
    "SELECT mood, came::timestamptz::time AS t, count(*) FROM marks WHERE came::time > '08:00' GROUP BY 1, 2",
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sql", FOUND)
def test_groups_are_found(sql: str, engine: str, typed: NewTyped, typed_reference: Reference) -> None:
    """All that many people share and none that is one person's, with the values and types that PostgreSQL has."""
    answer, expected = typed(engine, "eve").ask(sql), typed_reference.answer(sql, "person")
    assert (answer.names, len(answer.types)) == (expected.names, len(expected.types))
    assert all(type_ == other for type_, other in zip(answer.types, expected.types, strict=True) if other < OWN)
    shared = [row for row in expected.rows if int(str(row[-1])) >= SHARED]
    assert shared
    assert compare(answer, Answer(answer.names, answer.types, shared), Golden("types", sql, sql, "answered")) == []
