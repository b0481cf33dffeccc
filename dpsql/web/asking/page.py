"""The page Ask and what its script asks for.

Every call but one carries the token of the page: so a page that one visitor opened shows nothing of another's, who logs in
beside it.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.rewrite.ir.literal import FUNCTIONS as OF_CONSTANTS
from dpsql.rewrite.syntax.named.aggregate_names import LOGICAL, OF_AGGREGATES, QUANTILES, STATISTICS
from dpsql.web.asking.answers import answer_to, budget_of, history_of, plan_of, refusal_of, settings_of, typed_statement
from dpsql.web.inputs import BadField, Json
from dpsql.web.page_context import PageContext
from dpsql.web.sessions import Visitor
from dpsql.web.site import ServerRefused, VisitorClient

# A table and its columns, as their owner has declared them and a visitor may use them.


@dataclass(frozen=True, slots=True)
class ListedColumn:
    """A column, and what the owner of the data has declared of it."""

    name: str
    sql: str
    """The name as SQL spells it."""
    type: str
    low: str | None
    high: str | None
    values: tuple[str, ...]
    number_of_values: int
    about: str

    @property
    def is_number(self) -> bool:
        """Return whether values are numbers with declared bounds."""
        return self.low is not None and self.type.startswith(
            ("smallint", "integer", "bigint", "real", "double", "numeric")
        )

    @property
    def is_time(self) -> bool:
        """Return whether values are dates or timestamps with declared bounds."""
        return self.low is not None and self.type.startswith(("date", "timestamp"))

    @property
    def asks(self) -> str:
        """Return what may be asked of it."""
        if self.values or self.type == "boolean":
            return "count, GROUP BY, WHERE"
        if self.is_number:
            return "avg, sum, median, stddev, GROUP BY floor(…), WHERE"
        if self.is_time:
            return "min, max, GROUP BY date_trunc(…), WHERE"
        return "count(DISTINCT …), JOIN"

    def as_json(self) -> Json:
        """Return it for the page."""
        return {
            "name": self.name, "sql": self.sql, "type": self.type, "low": self.low, "high": self.high,
            "values": self.values, "more": max(0, self.number_of_values - len(self.values)), "about": self.about,
            "asks": self.asks,
        }  # fmt: skip

    def span(self) -> Fraction:
        """Return how long the declared range of numbers is."""
        return Fraction(self.high or 0) - Fraction(self.low or 0)


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table that the visitor may use."""

    name: str
    sql: str
    kind: str
    """`protected`, `view` or `public`."""
    about: str
    columns: tuple[ListedColumn, ...]
    references: tuple[str, ...]

    def as_json(self) -> Json:
        """Return it for the page."""
        protected = self.kind == "protected"
        return {
            "name": self.name, "sql": self.sql, "kind": self.kind, "about": self.about, "references": self.references,
            "columns": [{**column.as_json(), "asks": column.asks if protected else ""} for column in self.columns],
        }  # fmt: skip


# Three questions to begin with, made from the policy: a comparison, a course over time, a distribution.

_MOST_QUESTIONS = 3
_BUCKETS = 30
"""About so many buckets has a distribution."""
_FEW = 30
"""Values that a comparison has at most."""


@dataclass(frozen=True, slots=True)
class FirstQuestion:
    """A question in words, and its statement."""

    title: str
    statement: str

    def as_json(self) -> Json:
        """Return it for the page."""
        return {"title": self.title, "statement": self.statement}


def first_questions(tables: Sequence[ListedTable]) -> list[FirstQuestion]:
    """Return three questions, of the protected table that has most to be asked first."""
    protected = [table for table in tables if table.kind == "protected"]
    ranked = sorted(protected, key=lambda table: -len(list(_questions(table))))
    return list(islice((question for table in ranked for question in _questions(table)), _MOST_QUESTIONS))


def _questions(table: ListedTable) -> Iterator[FirstQuestion]:
    numbers = [column for column in table.columns if column.is_number and column.span() > 0]
    # False sorts before True: columns that their owner has described come first.
    wide = sorted((column for column in numbers if column.span() >= _BUCKETS), key=_is_described)
    measure = next(iter(wide or numbers), None)
    few = next((column for column in table.columns if 1 < len(column.values) <= _FEW), None)
    # Whole numbers with few values, as marks from 1 to 5, are groups as well.
    few = few or next((column for column in numbers if _is_whole(column) and column.span() < _FEW), None)
    time = next((column for column in table.columns if column.is_time), None)
    if few is not None:
        yield FirstQuestion(f"{table.name} by {few.name}", _grouped(table, few.sql, few, measure))
    if time is not None:
        yield FirstQuestion(f"{table.name} by day", _grouped(table, f"date_trunc('day', {time.sql})", time, None))
    if measure is not None and measure is not few:
        yield FirstQuestion(f"How {measure.name} is distributed", _distribution(table, measure))
    yield FirstQuestion(f"How many {table.name}", f"SELECT count(*)\nFROM {table.sql}")


def _is_described(column: ListedColumn) -> bool:
    return not column.about


def _is_whole(column: ListedColumn) -> bool:
    return column.type in {"smallint", "integer", "bigint"}


def _grouped(table: ListedTable, key: str, of: ListedColumn, measure: ListedColumn | None) -> str:
    mean = "" if measure is None or measure is of else f", avg({measure.sql})"
    alias = "" if key == of.sql else " AS day"
    # Names are quoted by the shadow: nothing here is a visitor's text.
    return f"SELECT {key}{alias}, count(*){mean}\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"


def _distribution(table: ListedTable, column: ListedColumn) -> str:
    # A fare of 0 … 60 in about 30 buckets: floor(fare / 2) * 2.
    step = _round_step(column.span() / _BUCKETS)
    bucket = f"floor({column.sql})" if step == "1" else f"floor({column.sql} / {step}) * {step}"
    return f"SELECT {bucket} AS {column.sql}, count(*)\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"


def _round_step(least: Fraction) -> str:
    """Return the first of 1, 2, 5, 10, 20 … and 0.5, 0.2 … that is at least so large."""
    power = Fraction(1)
    while power > least:
        power /= 10
    while power * 10 < least:
        power *= 10
    # power ≤ least ≤ 10·power here, so that one of the factors is enough.
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return f"{float(step):g}"


# What there is to be asked: tables and columns as the visitor's connection shows them, functions, a few questions.

_MOST_VALUES = 200
"""Declared values of a column that the page has; the editor completes these."""
_TABLE_NAME = "CASE n.nspname WHEN 'public' THEN c.relname::text ELSE pg_catalog.concat(n.nspname, '.', c.relname) END"
_TABLES = f"""
SELECT {_TABLE_NAME}, CASE n.nspname WHEN 'public' THEN quote_ident(c.relname)
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
SELECT {_TABLE_NAME}, pg_catalog.pg_get_constraintdef(r.oid) FROM pg_catalog.pg_constraint r
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


# The page.


async def ask_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page; what it has of tables and budgets its script asks for."""
    host, port = visitor.client.place
    return context.page(request, "ask.html", visitor, host=host, port=port, cap=visitor.role.per_query.epsilon)


async def who(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return who is logged in, and their token, to a page whose own is too old."""
    # Without a token, which is asked for here. A page of another origin can't read the answer: no header of ours lets it.
    return JSONResponse(
        {"user": visitor.user, "role": visitor.role.name, "token": context.sessions.token(request)},
    )


async def tables(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what may be asked of: tables, columns, values, functions; three questions to begin with; the budget."""
    await context.form(request)
    return JSONResponse({**await tables_of(visitor.client), "budget": await budget_of(visitor.client)})


async def plan(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the price of what is being written; nothing while another is explained, so that no page makes many wait."""
    given = await context.form(request)
    # Half a statement is no bad request: what is wrong stands beside it while it is written, and the answer is 200.
    try:
        statement, settings = _typed(given, visitor)
    except BadField as error:
        return JSONResponse({"state": "refused", "message": str(error), "field": error.field})
    if visitor.explaining:
        return JSONResponse({"state": "busy"})
    # No lock: nothing else runs on the loop between the look and this line.
    visitor.explaining = True
    try:
        return JSONResponse(await plan_of(statement, given["statement"], settings, visitor.client))
    finally:
        visitor.explaining = False


async def answer(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Ask, and return the answer with what it cost; a refusal with its place."""
    given = await context.form(request)
    statement, settings = _typed(given, visitor)
    try:
        return JSONResponse(await answer_to(statement, settings, context.site, visitor))
    except ServerRefused as refused:
        told = await asyncio.to_thread(refusal_of, refused, statement, given["statement"])
        return JSONResponse({"state": "refused", **told}, 409)


async def stop(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Cancel the answer that is on its way; what was charged stays charged."""
    await context.form(request)
    await visitor.client.stop()
    return JSONResponse({})


async def history(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what the role was told before, and the budget."""
    await context.form(request)
    return JSONResponse(await history_of(visitor.client))


async def share(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the name of a statement, by which others of the role can look it up."""
    given = await context.form(request)
    return JSONResponse({"name": context.shelf.put(visitor.role, typed_statement(given))})


async def shared_statement(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the statement of a name, to whoever has the role; it is not asked."""
    given = await context.form(request)
    statement = await context.shelf.find(visitor.role, given.get("name", ""), visitor.client)
    if statement is None:
        return JSONResponse(
            {
                "error": "this link has no statement for your role",
                "hint": "It may be of another role, or was made before the server started and never asked.",
                "field": None,
            },
            404,
        )
    return JSONResponse({"statement": statement})


def _typed(given: Mapping[str, str], visitor: Visitor) -> tuple[str, Mapping[str, str]]:
    return typed_statement(given), settings_of(given, visitor.role)
