"""What there is to be asked: tables and columns as the visitor's connection shows them, functions, a few questions."""

import json
from collections.abc import Sequence

from dpsql.rewrite.ir.spelled import FUNCTIONS as OF_CONSTANTS
from dpsql.rewrite.syntax.named.aggregate_names import LOGICAL, OF_AGGREGATES, QUANTILES, STATISTICS
from dpsql.web.asking.listed import ListedColumn, ListedTable
from dpsql.web.asking.questions import first_questions
from dpsql.web.curves import Json
from dpsql.web.site import VisitorClient

_MOST_VALUES = 200
"""Declared values of a column that the page has; the editor completes these."""
_NAME = "CASE n.nspname WHEN 'public' THEN c.relname::text ELSE pg_catalog.concat(n.nspname, '.', c.relname) END"
_TABLES = f"""
SELECT {_NAME}, CASE n.nspname WHEN 'public' THEN quote_ident(c.relname)
         ELSE pg_catalog.concat(quote_ident(n.nspname), '.', quote_ident(c.relname)) END,
       CASE WHEN c.relrowsecurity THEN 'protected' WHEN c.relkind = 'v' THEN 'view' ELSE 'public' END,
       coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '')
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'dpsql') AND c.relkind IN ('r', 'v')
   AND pg_catalog.has_table_privilege(c.oid, 'select')
 ORDER BY c.relrowsecurity DESC, 1
"""  # noqa: S608  # names of our own
_COLUMNS = """
SELECT table_name, column_name, quote_ident(column_name), type, lower_bound, upper_bound,
       array_to_json("values"[1:{most}])::text, coalesce(cardinality("values"), 0)::text, coalesce(description, '')
  FROM dpsql.columns
""".replace("{most}", str(_MOST_VALUES))
_REFERENCES = f"""
SELECT {_NAME}, pg_catalog.pg_get_constraintdef(r.oid) FROM pg_catalog.pg_constraint r
  JOIN pg_catalog.pg_class c ON c.oid = r.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE r.contype = 'f' AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'dpsql') ORDER BY 1, 2
"""  # noqa: S608
_FUNCTIONS = sorted({*STATISTICS, *QUANTILES, *LOGICAL, *OF_AGGREGATES, *OF_CONSTANTS, "date_trunc", "width_bucket"})


async def tables_of(client: VisitorClient) -> Json:
    """Return the tables, the functions, and three questions to begin with."""
    found = (await client.answer(_TABLES)).rows
    columns = [_column(row) for row in (await client.answer(_COLUMNS)).rows]
    references = (await client.answer(_REFERENCES)).rows
    tables = [
        ListedTable(
            str(name),
            str(sql),
            str(kind),
            str(about),
            tuple(column for table, column in columns if table == name),
            tuple(str(text) for table, text in references if table == name),
        )
        for name, sql, kind, about in found
    ]
    return {
        "tables": [table.as_json() for table in tables],
        "functions": _FUNCTIONS,
        "questions": [question.as_json() for question in first_questions(tables)],
    }


def _column(row: Sequence[str | None]) -> tuple[str, ListedColumn]:
    table, name, sql, kind, low, high, values, number, about = row
    listed = tuple(map(str, json.loads(values or "null") or ()))
    return str(table), ListedColumn(str(name), str(sql), str(kind), low, high, listed, int(number or 0), about or "")
