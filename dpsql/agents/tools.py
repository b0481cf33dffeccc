"""The calls of an agent: describe the tables, plan a statement, ask it, look at the budget.

Names, comments, declared values and answers are somebody's data; they stand in fields of their own, and say nothing to us.
"""

import asyncio
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any

from dpsql.agents.session import AgentRefused, AgentSession, RefusedForm, Sessions, for_agents
from dpsql.errors import DpsqlError
from dpsql.lexer.reader import asks_only, tokens
from dpsql.plots.margins import WiderStatement, wider_statements

_Found = Mapping[str, Any]
_Rows = Sequence[Sequence[Any]]
LONGEST_STATEMENT = 32_000
"""Characters of a statement."""
_MOST_ROWS = 5_000
LONGEST_ANSWER = 1_000_000
"""Characters of the rows that are told."""
_MOST_VALUES, _FEW_VALUES = 200, 20
"""Declared values of a column that are listed of one table, and of each where all are described."""
Number = float | str | None
"""A number as models write it: 0.1 or '0.1'."""
# These are planned, asked as a stream and given margins. All else, as SET or CREATE TEMP TABLE, is one command (`_done`).
_NAME = "CASE n.nspname WHEN 'public' THEN c.relname::text ELSE pg_catalog.concat(n.nspname, '.', c.relname) END"
_OURS = "n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'dpsql')"
# Row security marks protected tables in the shadow. reltuples is -1 in a table that was never analyzed; of a protected one it
# would be of the shadow's empty table.
_TABLES = f"""
SELECT {_NAME}, CASE WHEN c.relrowsecurity THEN 'protected' WHEN c.relkind = 'v' THEN 'view' ELSE 'public' END,
       pg_catalog.obj_description(c.oid, 'pg_class'),
       CASE WHEN c.relkind = 'r' AND NOT c.relrowsecurity AND c.reltuples >= 0 THEN c.reltuples::bigint END
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE {_OURS} AND c.relkind IN ('r', 'v')
   AND pg_catalog.has_table_privilege(c.oid, 'select') AND ($1::text IS NULL OR {_NAME} = $1)
 ORDER BY 1
"""  # noqa: S608  # names of our own
_COLUMNS = """
SELECT table_name, column_name, type, lower_bound, upper_bound, "values", nullable, description FROM dpsql.columns
 WHERE $1::text IS NULL OR table_name = $1
"""
_UNITS = """
SELECT table_name, unit_kind, unit_columns, max_rows, expected_rows FROM dpsql.tables
 WHERE unit_kind = $2 AND ($1::text IS NULL OR table_name = $1)
"""
_KIND = "SELECT unit_kind FROM dpsql.budget"
_REFERENCES = f"""
SELECT {_NAME}, pg_catalog.pg_get_constraintdef(r.oid) FROM pg_catalog.pg_constraint r
  JOIN pg_catalog.pg_class c ON c.oid = r.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE r.contype = 'f' AND {_OURS} ORDER BY 1, 2
"""  # noqa: S608
# charge_id grows: what is above the newest one from before the question was charged since, by this user. Other sessions of
# the user's may be among it; `tell_answer` takes the lines that have its own texts.
_CHARGED = """
SELECT epsilon, statement FROM dpsql.charges WHERE charge_id > $1 AND user_name = current_user ORDER BY charge_id
"""
_PREPARED = "SELECT statement FROM pg_prepared_statements WHERE from_sql"
_NEWEST = "SELECT coalesce(max(charge_id), 0) FROM dpsql.charges"
# The notice of `gateway.catalogue.made_up`, where rows of a protected table were asked for.
_MADE_UP = re.compile("these rows of .* are made up")
_NOTED = re.compile(r"\s*(Left out|Output \d+: distinguishable|NULL where|Mostly NULL)")
"""The lines of EXPLAIN that say which rows or values an answer will not have."""
_FIRST_LOOK = re.compile(r"\s*(Left out: groups whose count|Output \d+: distinguishable)")
"""Those of them that are of the first look alone, where an error is aimed at."""
_WHOLE = 2_000
"""Characters that dpsql.charges has of a statement at most."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a statement is to be answered: dpsql's settings, for one call."""

    epsilon: Number = None
    error: Number = None
    reuse: str | None = None
    empty_groups: str | None = None

    def settings(self) -> Mapping[str, str | None]:
        """Return the settings by their names; None leaves one as it is."""
        return {
            "dpsql.epsilon": _text(self.epsilon),
            "dpsql.error": _text(self.error),
            "dpsql.reuse": self.reuse,
            "dpsql.empty_groups": self.empty_groups,
        }


NO_WISHES = Wishes()


def _alone(table: str) -> str:
    """Return the name of a table without its schema."""
    return table.rpartition(".")[2]


async def tell_tables(sessions: Sessions, table: str | None) -> _Found:
    """Return the tables that the role may use, or one of them; only aggregates of protected ones are answered.

    What is not said is so: a column without bounds or values has none, and one is not NULL unless it may be.
    """
    async with sessions.session() as session:
        tables = await session.rows(_TABLES, (table,))
        if table is not None and not tables:
            named = {_alone(name): name for name, *_ in await session.rows(_TABLES, (None,))}
            close = get_close_matches(_alone(table), named, n=1)
            asked = f"; did you mean {json.dumps(named[close[0]])}?" if close else ";"
            raise AgentRefused(f"there is no table {json.dumps(table)} that you may use{asked} describe() lists them")
        columns = await session.rows(_COLUMNS, (table,))
        references = await session.rows(_REFERENCES)
        ((kind,),) = await session.rows(_KIND)
        units = {name: unit for name, *unit in await session.rows(_UNITS, (table, kind))}
    values = _FEW_VALUES if table is None else _MOST_VALUES
    return {"tables": [_table(row, columns, references, units.get(row[0]), values) for row in tables]}


def _table(
    row: Sequence[Any], columns: _Rows, references: _Rows, unit: Sequence[Any] | None, most_values: int
) -> _Found:
    name, kind, about, rows = row
    # A public table has no unit, and its number of rows is PostgreSQL's own estimate. Of a protected one it is what the owner
    # has declared.
    unit_kind, unit_columns, most, expected = unit or (None, None, None, rows)
    return _without_nothing(
        {
            "name": name,
            "kind": kind,
            "rows": expected,
            "unit": unit_kind,
            "unit_columns": unit_columns,
            "rows_per_unit": None if unit is None else most or "chosen",
            "description": about,
            "columns": {column[1]: _column(column[2:], most_values) for column in columns if column[0] == name},
            "references": [text.removeprefix("FOREIGN KEY ") for of, text in references if of == name],
        }
    )


def _column(row: Sequence[Any], most_values: int) -> _Found:
    kind, low, high, values, nullable, about = row
    return _without_nothing(
        {
            "type": kind,
            "bounds": [] if low is None else [_number(low), _number(high)],
            "values": values[:most_values] if values else None,
            # False where none is, which says nothing (`_without_nothing`); a 0 would stay.
            "values_left_out": len(values or ()) > most_values and len(values) - most_values,
            "nullable": nullable,
            "description": about,
        }
    )


def _number(bound: str) -> object:
    """Return a bound as a number, if it is one: others are dates."""
    try:
        return _written(Decimal(bound))
    except InvalidOperation:
        return bound


def _without_nothing(said: _Found) -> _Found:
    """Return what is said without what says nothing."""
    # Compared with `is`: 0 == False, and an ε of 0 says something.
    return {
        key: value
        for key, value in said.items()
        if value is not None and value is not False and value not in ([], (), {})
    }


async def tell_plan(
    sessions: Sessions,
    statement: str,
    wishes: Wishes = NO_WISHES,
    *,
    details: bool = False,
) -> _Found:
    """Return what a statement would cost now and how far off it would be; free. With `details` EXPLAIN's lines, too."""
    query = _checked(statement)
    async with sessions.session() as session:
        await session.set(wishes.settings())
        plan = await _explained(session, query)
        rows = await session.rows(f"EXPLAIN {query}") if details else ()
    return _without_nothing({**_plan(plan), "lines": [for_agents(line) for (line,) in rows]})


async def tell_answer(
    sessions: Sessions,
    statement: str,
    wishes: Wishes = NO_WISHES,
    rows: int = 200,
) -> _Found:
    """Return the answer to a statement, how far off it is, what was left out, what was paid and the rest of the budget."""
    text = _checked(statement)
    async with sessions.session() as session:
        await session.set(wishes.settings())
        is_query = _is_query(text)
        plan = await _explained(session, text) if is_query else {}
        await _require_affordable(session, plan, wishes.epsilon)
        ((before,),) = await session.rows(_NEWEST)
        # What EXPLAIN and our own looks were told is not of the answer.
        session.notices.clear()
        most = min(max(rows, 1), _MOST_ROWS)
        # On a thread: to parse a long statement would keep the other conversations waiting.
        wider = await asyncio.to_thread(wider_statements, text) if is_query else ()
        answer = await _asked(session, text, wider, most) if is_query else await _done(session, text)
        told = [*session.news, *session.notices]
        # Fewer rows than were asked for, and some left out: only the limit of characters does both.
        if len(answer["rows"]) < most and answer["rows_left_out"]:
            told.append(f"rows were left out: a reply has {LONGEST_ANSWER:,} characters at most")
        charged = await session.rows(_CHARGED, (before,))
        prepared = (
            () if is_query else [said for (said,) in await session.rows(_PREPARED)]
        )  # EXECUTE pays for one of these
        left = await _budget(session)
    ours = {each[:_WHOLE] for each in (text, *(statement.text for statement in wider))}
    paid = sum(
        (cost for cost, of in charged if of[:_WHOLE] in ours or any(of[:_WHOLE] in said for said in prepared)),
        Decimal(0),
    )
    # `rows` and `columns` stand in the reply by themselves, too: an empty list of rows is an answer, and would be left out
    # here.
    of_answer = _without_nothing({**answer, "rows_left_out": answer["rows_left_out"] or None})
    return {
        "columns": answer["columns"],
        "rows": answer["rows"],
        **of_answer,
        **_without_nothing({"made_up": any(_MADE_UP.match(text) for text in told), "clamped": _clamped(plan)}),
        **_without_nothing({"notices": told}),
        "epsilon_paid": _written(paid),
        "epsilon_left": left["epsilon_left"],
    }


async def _asked(session: AgentSession, text: str, wider: Sequence[WiderStatement], most: int) -> _Found:
    """Return the answer to a query with the margin of each row's numbers, wherever these cost nothing more.

    It is asked as it was written, and so stands in the ledger; then once more with margins, if EXPLAIN says that it is free.
    """
    names, rows, more = await session.ask_for(text, most, LONGEST_ANSWER)
    # The answer's own notices, before the same is asked again: that would say all of them twice.
    answer, notices = _answer(names, rows, more), list(session.notices)
    try:
        for statement in wider:
            try:
                if not _is_free(await _explained(session, statement.text)):
                    continue
                _, again, _ = await session.ask_for(statement.text, most, LONGEST_ANSWER)
            except RefusedForm:
                continue
            width = len(names)
            # A new epoch may have begun in between, or rows of equal rank come in another order: margins of other rows are
            # worse than none. `again` may be shorter, since its rows are longer.
            if [row[:width] for row in again] != rows[: len(again)]:
                continue
            margins = {name: [_shown(row[width + place]) for row in again] for place, name in enumerate(statement.of)}
            return {**answer, "margins": margins}
    except AgentRefused:  # the answer is paid for, whatever becomes of its margins
        pass
    finally:
        session.notices[:] = notices
    return answer


def _is_free(plan: _Found) -> bool:
    # `Left To Pay` is there only where some of it is free already.
    return "Epsilon" not in plan or Decimal(plan.get("Left To Pay", plan["Epsilon"])) == 0


async def tell_budget(sessions: Sessions) -> _Found:
    """Return what the role may still spend."""
    async with sessions.session() as session:
        return await _budget(session)


async def _budget(session: AgentSession) -> _Found:
    cursor = await session.ask("SELECT * FROM dpsql.budget")
    names = [column.name for column in cursor.description or ()]
    return dict(zip(names, map(_shown, (await cursor.fetchall())[0]), strict=True))


def _text(number: Number) -> str | None:
    return number if number is None or isinstance(number, str) else f"{number:.15g}"


async def _explained(session: AgentSession, query: str) -> _Found:
    """Return the top node of a query's plan."""
    ((explained,),) = await session.rows(f"EXPLAIN (FORMAT JSON) {query}")
    ((top,),) = (explained,) if isinstance(explained, list) else (json.loads(explained),)
    plan: _Found = top["Plan"]
    return plan


def _plan(plan: _Found) -> _Found:
    """Return the price and the expected errors of a query; PostgreSQL's own plan says that it has none.

    The price is what is to be paid now. Margins are those of measuring: what is read off another answer errs as that does.
    Where an error is aimed at, nobody knows the price before: it is the most that may be paid, and margins are with all that.
    """
    if "Epsilon" not in plan:
        return {"epsilon": 0, "free": "it reads no protected table"}
    in_full = _written(Decimal(plan["Epsilon"]))
    now = _written(Decimal(plan.get("Left To Pay", plan["Epsilon"])))
    read_off = plan.get("Read Off", ())
    known = "answered before in this epoch" if now == 0 and not read_off else None
    aims = "Target" in plan and now != 0
    most = _written(Decimal(plan["At Most"])) if aims else now
    # What has met its target errs by less than the first look at it, of which EXPLAIN tells.
    outputs = () if now == 0 and "Target" in plan else plan.get("Outputs", ())
    return _without_nothing(
        {
            "epsilon": most,
            "epsilon_at_least": now if aims else None,
            "epsilon_if_measured": in_full if in_full != now else None,
            "delta": plan.get("Delta"),
            "aims_at": plan.get("Target"),
            "epsilon_at_most": most if aims else None,
            "free": [{"outputs": part["Outputs"], "read_off": part["Answer"]} for part in read_off] or known,
            "free_instead": plan.get("Free Instead"),
            "margins": [
                _without_nothing(
                    {
                        "output": output["Output"],
                        "half_width_95": _digits(output["Margin With All" if aims else "Margin"]),
                        "unit": output["Unit"],
                        "relative": _digits(output["Relative With All" if aims else "Relative"]),
                        "if": ", ".join([*(["all of epsilon_at_most is paid"] if aims else []), *given]) or None,
                    }
                )
                for output in outputs
                for given in [[output["Given"]] if "Given" in output else []]
            ],
            "clamped": _clamped(plan),
            "notes": [
                line.strip()
                for line in plan.get("Details", ())
                if _NOTED.match(line) and not (aims and _FIRST_LOOK.match(line))
            ],
        }
    )


def _clamped(plan: _Found) -> Sequence[str]:
    """Return which numbers count as the nearest end of their bounds, if they lie beyond."""
    found = [clamp for part in plan.get("Measurements", ()) for clamp in part.get("Clamped", ())]
    return list(dict.fromkeys(f"{of['Expression']} to {of['Low']:g} … {of['High']:g}" for of in found))


def _digits(number: float | None) -> float | int | None:
    """Return three digits of a number."""
    return None if number is None else _written(Decimal(f"{number:.3g}"))  # type: ignore[return-value]


async def _require_affordable(session: AgentSession, plan: _Found, epsilon: Number) -> None:
    """See that a plan costs no more than a call pays, as only the profile does: its price is the policy's.

    Raises:
        AgentRefused: it does.
    """
    # Where an error is aimed at, `Epsilon` is that of the first look; what it may come to is `At Most`.
    cost = Decimal(plan.get("At Most", plan.get("Epsilon", "0")))
    ((most,),) = await session.rows("SELECT per_query_epsilon FROM dpsql.budget")
    most = most if epsilon is None else min(most, Decimal(str(epsilon)))
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


def _is_query(statement: str) -> bool:
    """Return whether a statement is a query; what can't be read is the server's to refuse."""
    try:
        return asks_only(statement)
    except DpsqlError:
        return False


def _first_word(statement: str) -> str:
    try:
        return next((token.word for token in tokens(statement) if token.word != ";"), "")
    except DpsqlError:
        return ""


def _checked(statement: str) -> str:
    """Return a statement without the blanks and the semicolon around it.

    Raises:
        AgentRefused: it is empty, too long or can't be sent.
    """
    # EXPLAIN is put before it, and a subquery around it: a semicolon at the end would be in the middle of these.
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
    if _first_word(text) == "copy":
        raise AgentRefused(
            "Refused: COPY sends its rows where no tool reads them. Instead: ask the query that stands in it"
        )
    return text


def _shown(value: object) -> object:
    """Return a value as JSON has it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            # JSON has no NaN and no infinity.
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return _written(value)
        case datetime() | date() | time():
            return value.isoformat()
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
