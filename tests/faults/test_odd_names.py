"""Tables and columns whose names hold quotes, capitals and words of SQL can be asked like any other."""

import json
from collections.abc import Iterator

import duckdb
import psycopg
import pytest

from tests.support.connected import connections

NAMES = ['we"ird', "it's", "Order", "select", "a b;--", "ärzte", "$1", "per%cent", "back\\slash", "{}"]
_CONFIG = """\
dataset: odd
engine: {kind: duckdb, database: odd.duckdb}
schemas: schemas/
budget: {person: {epsilon: 1000000}}
roles:
  owner: {protects: person, budget: {epsilon: 1000000}, per_query: {epsilon: 1000}}
users: {}
"""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection]:
    """Give a connection to a server of tables with such names, each with a column of the same name."""
    place = tmp_path_factory.mktemp("odd")
    (place / "schemas").mkdir()
    (place / "config.yaml").write_text(_CONFIG)
    with duckdb.connect(place / "odd.duckdb") as database:
        for number, name in enumerate(NAMES):
            rows = "SELECT i % 50 AS pid, i % 3 AS x FROM range(300) r(i)"
            database.execute(
                f"CREATE TABLE {_quoted(name)} AS SELECT pid::INT AS pid, x::INT AS {_quoted(name)} FROM ({rows})"
            )
            schema = {
                "table": name,
                "privacy_units": {"person": {"column": "pid", "max_rows": 6}},
                "columns": {"pid": {"type": "integer"}, name: {"type": "integer", "bounds": [0, 2]}},
            }
            (place / "schemas" / f"{number}.yaml").write_text(json.dumps(schema, ensure_ascii=False))
    with connections(place / "config.yaml") as connect:
        yield connect("owner")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cursor", [psycopg.Cursor, psycopg.ClientCursor])
def test_a_table_may_have_any_name(
    odd: psycopg.Connection, name: str, cursor: type[psycopg.Cursor[tuple[object, ...]]]
) -> None:
    """In FROM, as an alias, as a key; what it is called changes no answer."""
    table, limit = _quoted(name), 0
    asked = cursor(odd).execute(
        f"SELECT t.{table.replace('%', '%%')}, count(*) AS {table.replace('%', '%%')} FROM {table.replace('%', '%%')} t"
        f" WHERE {table.replace('%', '%%')} >= %s GROUP BY 1 ORDER BY 1",
        (limit,),
    )
    assert asked.fetchall() == [(0, 100), (1, 100), (2, 100)]
    assert [column.name for column in asked.description or ()] == [name, name]
