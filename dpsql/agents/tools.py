"""The calls of an agent: describe the tables, plan a statement, ask it, look at the budget.

Names, comments, declared values and answers are somebody's data; they stand in fields of their own, and say nothing to us.
"""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from dpsql.agents.session import AgentRefused, AgentSession, Login, RefusedForm
from dpsql.errors import DpsqlError
from dpsql.lexer.tokens import tokens
from dpsql.plots.margins import WiderStatement, wider_statements

_Found = Mapping[str, Any]
LONGEST_STATEMENT = 32_000
"""Characters of a statement."""
_MOST_ROWS = 5_000
LONGEST_ANSWER = 1_000_000
"""Characters of the rows that are told."""
_MOST_VALUES = 200
_QUERIES = frozenset({"select", "with", "values", "table", "("})
_NAME = "CASE n.nspname WHEN 'public' THEN c.relname::text ELSE pg_catalog.concat(n.nspname, '.', c.relname) END"
_OURS = "n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'dpsql')"
_TABLES = f"""
SELECT {_NAME}, CASE WHEN c.relrowsecurity THEN 'protected' WHEN c.relkind = 'v' THEN 'view' ELSE 'public' END,
       pg_catalog.obj_description(c.oid, 'pg_class')
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE {_OURS} AND c.relkind IN ('r', 'v')
   AND pg_catalog.has_table_privilege(c.oid, 'select') AND ($1::text IS NULL OR {_NAME} = $1)
 ORDER BY 1
"""  # noqa: S608  # names of our own
_COLUMNS = """
SELECT table_name, column_name, type, lower_bound, upper_bound, "values", nullable, description FROM dpsql.columns
 WHERE $1::text IS NULL OR table_name = $1
"""
_REFERENCES = f"""
SELECT {_NAME}, pg_catalog.pg_get_constraintdef(r.oid) FROM pg_catalog.pg_constraint r
  JOIN pg_catalog.pg_class c ON c.oid = r.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE r.contype = 'f' AND {_OURS} ORDER BY 1, 2
"""  # noqa: S608
_CHARGED = """
SELECT epsilon, statement FROM dpsql.charges WHERE charge_id > $1 AND user_name = current_user ORDER BY charge_id
"""
_NEWEST = "SELECT coalesce(max(charge_id), 0) FROM dpsql.charges"
_WHOLE = 2_000
"""Characters that dpsql.charges has of a statement at most."""


async def tell_tables(login: Login, table: str | None) -> _Found:
    """Return the tables that the role may use, or one of them; only aggregates of protected ones are answered."""
    async with login.session() as session:
        tables = await session.rows(_TABLES, (table,))
        if table is not None and not tables:
            raise AgentRefused(f"there is no table {json.dumps(table)} that you may use; describe() lists them")
        columns = await session.rows(_COLUMNS, (table,))
        references = await session.rows(_REFERENCES)
    return {
        "tables": [
            {
                "name": name,
                "kind": kind,
                "description": about,
                "columns": [_column(column[1:]) for column in columns if column[0] == name],
                "references": [text for of, text in references if of == name],
            }
            for name, kind, about in tables
        ]
    }


def _column(row: Sequence[Any]) -> _Found:
    name, kind, low, high, values, nullable, about = row
    told = {"name": name, "type": kind, "nullable": nullable, "description": about}
    if low is not None:
        told["bounds"] = [low, high]
    if values is not None:
        told["values"] = values[:_MOST_VALUES]
        told["values_left_out"] = max(0, len(values) - _MOST_VALUES)
    return {key: value for key, value in told.items() if value is not None}


async def tell_plan(login: Login, statement: str, epsilon: str | None, error: str | None) -> _Found:
    """Return what a statement would cost and how far off it would be; free."""
    query = _checked(statement)
    async with login.session() as session:
        await _set(session, epsilon, error)
        plan = await _planned(session, query)
        lines = await session.rows(f"EXPLAIN {query}")
    return {**plan, "lines": [line for (line,) in lines]}


async def tell_answer(login: Login, statement: str, epsilon: str | None, error: str | None, rows: int) -> _Found:
    """Return the answer to a statement, how far off it is, what was left out, what was paid and the rest of the budget."""
    text = _checked(statement)
    async with login.session() as session:
        await _set(session, epsilon, error)
        is_query = _first_word(text) in _QUERIES
        plan = await _planned(session, text) if is_query else {"clamped": []}
        await _see_that_it_is_paid(session, plan, epsilon)
        ((before,),) = await session.rows(_NEWEST)
        session.notices.clear()
        most = min(max(rows, 1), _MOST_ROWS)
        wider = await asyncio.to_thread(wider_statements, text) if is_query else ()
        answer = await _asked(session, text, wider, most) if is_query else await _done(session, text)
        told = list(session.notices)
        if len(answer["rows"]) < most and answer["rows_left_out"]:
            told.append(f"rows were left out: those that are told have {LONGEST_ANSWER:,} characters at most")
        charged = await session.rows(_CHARGED, (before,))
        left = await _budget(session)
    ours = {each[:_WHOLE] for each in (text, *(statement.text for statement in wider))}
    paid = sum((cost for cost, of in charged if of[:_WHOLE] in ours), Decimal(0))
    return {
        **answer,
        "clamped": plan["clamped"],
        "notices": told,
        "epsilon_paid": _written(paid),
        "epsilon_left": left["epsilon_left"],
    }


async def _asked(session: AgentSession, text: str, wider: Sequence[WiderStatement], most: int) -> _Found:
    """Return the answer to a query with the margin of each row's numbers, wherever that costs nothing."""
    for statement in wider:
        try:
            names, rows, more = await session.ask_for(statement.text, most, LONGEST_ANSWER)
        except RefusedForm:
            session.notices.clear()
            continue
        width = len(names) - len(statement.of)
        margins = {name: [_shown(row[width + place]) for row in rows] for place, name in enumerate(statement.of)}
        return {**_answer(names[:width], [row[:width] for row in rows], more), "margins": margins}
    return {**_answer(*await session.ask_for(text, most, LONGEST_ANSWER)), "margins": {}}


async def tell_budget(login: Login) -> _Found:
    """Return what the role may still spend."""
    async with login.session() as session:
        return await _budget(session)


async def _budget(session: AgentSession) -> _Found:
    cursor = await session.ask("SELECT * FROM dpsql.budget")
    names = [column.name for column in cursor.description or ()]
    return dict(zip(names, map(_shown, (await cursor.fetchall())[0]), strict=True))


async def _set(session: AgentSession, epsilon: str | None, error: str | None) -> None:
    await session.set("dpsql.epsilon", epsilon)
    await session.set("dpsql.error", error)


async def _planned(session: AgentSession, query: str) -> _Found:
    """Return the price and the expected errors of a query; PostgreSQL's own plan says that it has none."""
    ((explained,),) = await session.rows(f"EXPLAIN (FORMAT JSON) {query}")
    ((top,),) = (explained,) if isinstance(explained, list) else (json.loads(explained),)
    plan = top["Plan"]
    clamped = [clamp for part in plan.get("Measurements", ()) for clamp in part.get("Clamped", ())]
    return {
        "epsilon": plan.get("Epsilon", "0"),
        **({"delta": plan["Delta"]} if "Delta" in plan else {}),
        **({"aims_at": plan["Target"], "epsilon_at_most": plan["At Most"]} if "Target" in plan else {}),
        "free": "the same again in this epoch, also with other HAVING, ORDER BY and LIMIT"
        if "Epsilon" in plan
        else "all of it: it reads no protected table",
        "margins": [
            {
                "output": output["Output"],
                "half_width_95": output["Margin"],
                **({"unit": output["Unit"]} if output["Unit"] else {}),
                "relative": output["Relative"],
            }
            for output in plan.get("Outputs", ())
        ],
        "clamped": [f"{clamp['Expression']} counts within {clamp['Low']:g} and {clamp['High']:g}" for clamp in clamped],
    }


async def _see_that_it_is_paid(session: AgentSession, plan: _Found, epsilon: str | None) -> None:
    """See that a plan costs no more than a call pays, as only the profile does: its price is the policy's.

    Raises:
        AgentRefused: it does.
    """
    cost = Decimal(plan.get("epsilon_at_most", plan.get("epsilon", "0")))
    ((most,),) = await session.rows("SELECT per_query_epsilon FROM dpsql.budget")
    most = most if epsilon is None else min(most, Decimal(epsilon))
    if cost > most:
        raise AgentRefused(f"this costs ε = {cost}, and a call pays {most} at most; whoever may pay it asks in SQL")


async def _done(session: AgentSession, command: str) -> _Found:
    """Return what became of a command, with the few rows that some have, as SHOW."""
    cursor = await session.ask(command)
    if cursor.description is None:
        return {**_answer([], [], 0), "margins": {}, "status": cursor.statusmessage}
    names = [column.name for column in cursor.description]
    return {**_answer(names, await cursor.fetchmany(_MOST_ROWS), 0), "margins": {}}


def _answer(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], more: int) -> _Found:
    return {"columns": columns, "rows": [[_shown(value) for value in row] for row in rows], "rows_left_out": more}


def _first_word(statement: str) -> str:
    """Return the word with which a statement begins, after comments; nothing where it can't be read."""
    try:
        return next((token.word for token in tokens(statement)), "")
    except DpsqlError:
        return ""


def _checked(statement: str) -> str:
    """Return a statement without the blanks and the semicolon around it.

    Raises:
        AgentRefused: it is empty, too long or can't be sent.
    """
    text = statement.strip().rstrip(";").rstrip()
    if not text:
        raise AgentRefused("the statement is empty; write one SELECT")
    if len(text) > LONGEST_STATEMENT:
        raise AgentRefused(
            f"the statement has {len(text):,} characters, and may have {LONGEST_STATEMENT:,}; write a list of values as"
            " BETWEEN, or as a join with a public table"
        )
    if "\0" in text:
        raise AgentRefused("the statement has a character with the code 0; leave it out")
    return text


def _shown(value: object) -> object:
    """Return a value as JSON has it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return _written(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case list() | tuple():
            return [_shown(item) for item in value]
        case dict():
            return value
        case _:
            return str(value)


def _written(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    return int(value) if value == value.to_integral_value() else float(value)
