"""The page Choose: how large ε may be, what that means, and how noisy answers become. Public numbers only."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import accumulate

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.epsilon.advising.advice import decimal
from dpsql.epsilon.advising.rule import MEMBERSHIP, VALUE, belief_after
from dpsql.epsilon.noise.outputs import OutputKind
from dpsql.errors import DpsqlError
from dpsql.gateway.explaining.explained import Explained
from dpsql.lexer.reader import TokenKind, statements, tokens
from dpsql.policy.model import NoiseLevel, Period, Policy, Role, Table
from dpsql.shadow.splice import shadow_literal
from dpsql.web.choosing.policies import (
    CHARTS,
    LEAST_POLICY_EPSILON,
    MOST_POLICY_EPSILON,
    PUBLISHED,
    QUERIES,
    STAYS,
    rule_of,
    study_of,
)
from dpsql.web.inputs import BadField, Json, fraction, whole_number
from dpsql.web.page_context import PageContext
from dpsql.web.sessions import Visitor
from dpsql.web.site import Cells, ServerRefused, VisitorClient

# The questions of the last 31 days, to be planned again: an owner's from the audit trail, others' from their role's charges.
#
# Both are read over the visitor's own connection, and their parameters put in place.

MOST_QUESTIONS, MOST_CHARACTERS = 40, 20_000
"""The most questions and characters of a plan."""
_LONGEST, _LONGEST_PARAMETER, _MOST_PARAMETERS = 2_000, 200, 100
"""The tables show so much of a text, of a parameter, and so many of these: a text that may have been cut short is not
a question."""
_CURSOR = re.compile(
    r"""DECLARE\s+(?:"(?:[^"]|"")+"|\w+)(?:\s+(?:BINARY|ASENSITIVE|INSENSITIVE|NO|SCROLL|CURSOR|WITH|WITHOUT|HOLD))+\s+FOR\s+""",
    re.IGNORECASE,
)
"""The words before a question whose answer is fetched in pieces."""
_LATELY = "made_at > now() - interval '31 days'"
_AUDIT = f"""SELECT statement, parameters, count(*), count(*) FILTER (WHERE epsilon > 0), min(made_at)
  FROM dpsql.audit WHERE releases IS NOT NULL AND verdict IN ('answered', 'free') AND {_LATELY}
 GROUP BY statement, parameters ORDER BY sum(epsilon) DESC, count(*) DESC, max(line) DESC"""  # noqa: S608  # constants
_CHARGES = f"""SELECT statement, NULL, count(DISTINCT made_at), count(DISTINCT made_at), min(made_at)
  FROM dpsql.charges WHERE {_LATELY} GROUP BY statement ORDER BY sum(epsilon) DESC, max(charge_id) DESC"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class _AskedQuestion:
    statement: str
    asked: int
    charged: int
    first: datetime


async def recent_questions(client: VisitorClient, role: Role) -> Json:
    """Return the questions that the visitor may see, the dearest first, and in a sentence what was taken from where."""
    return questions_from_rows(await client.rows(_AUDIT if role.owner else _CHARGES), owner=role.owner)


def questions_from_rows(rows: Sequence[Cells], *, owner: bool) -> Json:
    """Return what `recent_questions` does, from the rows of the audit trail, or of the charges."""
    source = "the audit trail" if owner else "what your role was charged for"
    whole = [question for question in map(_question, rows) if question is not None]
    # They only grow: from the first question that does not fit on, none is taken. Between two stands what parts them on the
    # page.
    sizes = accumulate(len(question.statement) + len(";\n\n") for question in whole)
    taken = [question for question, size in zip(whole, sizes, strict=True) if size <= MOST_CHARACTERS][:MOST_QUESTIONS]
    said = _said(taken, source) if taken else f"Nothing to be planned is in {source} of the last 31 days."
    if more := len(whole) - len(taken):
        said += f" Left out: {more:,} that cost no more than these."
    if lost := len(rows) - len(whole):
        kept = "cut short, or with parameters that the trail does not keep (EXECUTE)"
        charged = "with parameters, which only the audit trail has; that is for owners"
        said += f" Left out: {lost:,} {kept if owner else charged}."
    return {"questions": [question.statement for question in taken], "said": said}


def _said(taken: Sequence[_AskedQuestion], source: str) -> str:
    first, asked, charged = (
        min(question.first for question in taken),
        sum(question.asked for question in taken),
        sum(question.charged for question in taken),
    )
    many = "1 question" if len(taken) == 1 else f"{len(taken)} questions, the dearest first"
    return f"Taken from {source} since {first:%d %B %Y}: {many}; asked {_times(asked)}, charged {_times(charged)}."


def _times(many: int) -> str:
    return "once" if many == 1 else f"{many:,} times"


def _question(row: Cells) -> _AskedQuestion | None:
    """Return a question that can be asked as it stands; None if something of it is missing."""
    statement, parameters, asked, charged, first = row
    given = parameters if isinstance(parameters, list) else []
    if not isinstance(first, datetime) or len(str(statement)) > _LONGEST or len(given) >= _MOST_PARAMETERS:
        return None
    if any(parameter is not None and len(parameter) >= _LONGEST_PARAMETER for parameter in given):
        return None
    text = _filled(str(statement), given)
    return None if text is None else _AskedQuestion(text, int(str(asked)), int(str(charged)), first)


def _filled(statement: str, given: Sequence[str | None]) -> str | None:
    """Return a statement with literals in the places of its parameters; None if one has no value."""
    # ward = $1 with 'a' → ward = 'a'. By tokens, so that a $1 within a text or a comment stays.
    text, behind = "", 0
    try:
        for token in tokens(statement):
            if token.sort is not TokenKind.PARAMETER:
                continue
            place = int(token.text[1:])
            if not 0 < place <= len(given):
                return None
            value = given[place - 1]
            text += statement[behind : token.start] + ("NULL" if value is None else shadow_literal(value))
            behind = token.end
    except DpsqlError:  # written under other settings than a page's
        return None
    # DECLARE c CURSOR FOR SELECT … is the question behind it, and is planned as that.
    return _CURSOR.sub("", (text + statement[behind:]).strip().rstrip(";"))


# A month of questions before it is asked: what each would err by at its share of a total ε, and what all of them risk.
#
# Each question is explained over the visitor's own connection, which is free and reads nothing.

_WEIGHED = re.compile(r"\s*(\d{1,3})\s+[x×]\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class _Question:
    statement: str
    weight: int


async def plan_of(given: Mapping[str, str], role: Role, client: VisitorClient) -> Json:
    """Return the errors of all questions at their shares of a total, and what can be believed once that is spent.

    Raises:
        BadField: no question, too many, or a number that makes no sense.
    """
    people = whole_number(given, "people", 2, 10**9)
    total = fraction(given, "plan_epsilon", Fraction(LEAST_POLICY_EPSILON), Fraction(MOST_POLICY_EPSILON))
    asked = _questions(given.get("questions", ""))
    belief = belief_after(total, people)
    return {
        "questions": await _shared_out(asked, total, role, client),
        "named": belief.singled_out,
        "guess": belief.membership,
        "valued": belief.value,
    }


async def _shared_out(asked: Sequence[_Question], total: Fraction, role: Role, client: VisitorClient) -> Sequence[Json]:
    """Explain questions at their shares of a total; what is refused, at any share or at its own, takes none."""
    told = [await _explained(question, total, role, client) for question in asked]
    # A question that is refused gives its share to the others, whose larger shares have to be explained again. Each round but
    # the last loses one, so that it ends.
    while True:
        taking = [not (each.get("refused") or each.get("outputs") is None) for each in told]
        weights = sum(question.weight for question, takes in zip(asked, taking, strict=True) if takes)
        told = [
            await _explained(question, total * question.weight / weights, role, client)
            if takes
            else {**each, "epsilon": None, "capped": None}
            for question, each, takes in zip(asked, told, taking, strict=True)
        ]
        if not any(takes and each.get("refused") for takes, each in zip(taking, told, strict=True)):
            return told


async def _explained(question: _Question, share: Fraction, role: Role, client: VisitorClient) -> Json:
    """Return what EXPLAIN says of a question at its share, or at the most that the role may pay for one."""
    paid = min(share, role.per_query.epsilon)
    capped = decimal(paid) if paid < share else None
    told: Json = {"statement": question.statement, "epsilon": decimal(share), "capped": capped}
    try:
        ((plan,),) = await client.rows(f"EXPLAIN (FORMAT JSON) {question.statement}", f"{float(paid):.12g}")
    except ServerRefused as refused:
        return {**told, "refused": refused.message, "hint": refused.hint, "outputs": None}
    # Not one row of one column.
    except ValueError:
        return {**told, "refused": "this is not one question", "hint": None, "outputs": None}
    return {**told, "outputs": _outputs(plan)}


def _outputs(plan: object) -> Sequence[Json] | None:
    """Return each output's margin; None for a statement that is not private and costs nothing."""
    match plan:
        case [{"Plan": {"Measurements": _} as node}]:
            explained = Explained.of(node)
        case _:
            return None
    told: list[Json] = [
        {
            "name": output.name,
            "margins": output.margins,
            "unit": output.unit,
            "relative": output.relative,
            "given": output.given,
        }
        for output in explained.outputs
    ]
    few = (f"order statistics of {choice.of.expression}" for choice in explained.choices)
    told += (
        {"name": name, "margins": None, "rows": choice.enough}
        for name, choice in zip(few, explained.choices, strict=True)
    )
    return told


def _questions(text: str) -> list[_Question]:
    """Read SQL statements with semicolons between them; `2 x SELECT …` gets twice the share of the others."""
    if len(text) > MOST_CHARACTERS:
        raise BadField("questions", f"questions must have at most {MOST_CHARACTERS:,} characters")
    try:
        questions = [_weighed(text[begin:end].strip()) for begin, end in statements(text)]
    except DpsqlError as error:
        raise BadField("questions", error.message) from None
    if not 0 < len(questions) <= MOST_QUESTIONS:
        raise BadField(
            "questions", f"questions must be 1 to {MOST_QUESTIONS} SQL statements, with a semicolon after each"
        )
    return questions


def _weighed(text: str) -> _Question:
    weighed = _WEIGHED.match(text)
    weight = int(weighed[1]) if weighed else 1
    return _Question(text[weighed.end() :] if weighed else text, max(weight, 1))


# The page.

_PEOPLE = 10_000
"""How many people the page begins with, unless the table has rows for more."""


async def choose_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page, with the visitor's own role as the example."""
    policy, role = context.site.policy, visitor.role
    tables = [t for t in policy.tables.values() if role.protects in t.units]
    largest = max(tables, key=lambda table: table.expected_rows or 0, default=None)
    rows = (largest and largest.expected_rows) or _PEOPLE
    max_rows, given = await _counted(largest, role, policy, visitor.client) if largest else (1, "")
    return context.page(
        request,
        "choose.html",
        visitor,
        kinds=sorted(policy.budgets),
        role=role,
        # So many at least, rounded up: each has as many rows as count, or fewer.
        people=max(_PEOPLE, -(-rows // max_rows)),
        rows=rows,
        max_rows=max_rows,
        given=given,
        periods=[str(period) for period in Period],
        stays=STAYS,
        levels=[str(level) for level in NoiseLevel],
        outputs=[str(output) for output in OutputKind],
        membership=f"{float(100 * MEMBERSHIP):g}",
        value=f"{float(100 * VALUE):g}",
        charts=CHARTS,
        queries=QUERIES,
        published=PUBLISHED,
    )


async def _counted(table: Table, role: Role, policy: Policy, client: VisitorClient) -> tuple[int, str]:
    """Return how many rows of one person count, and where that is chosen for each statement, for which C it stands."""
    declared = table.units[role.protects].max_rows
    try:
        ((plan,),) = await client.rows(f"EXPLAIN (FORMAT JSON) SELECT count(*) FROM {policy.asked_as(table.name)}")  # noqa: S608
    except ServerRefused:
        return declared, ""
    (output,) = Explained.of(plan[0]["Plan"]).outputs
    known = re.match(r"C is ([\d,]+), ", output.given)
    return int(known[1].replace(",", "")) if known else declared, output.given


async def rule(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the rule for a role's total: what is acceptable, what a chosen ε means, levels, and the YAML."""
    return JSONResponse(await asyncio.to_thread(rule_of, request.query_params, context.site.policy, visitor.role))


async def study(request: Request, _: PageContext, __: Visitor) -> Response:
    """Return what one answer about a few people, typed in by the visitor, could reveal."""
    return JSONResponse(await asyncio.to_thread(study_of, request.query_params))


async def plan(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what a month of questions would err by and risk; nothing is asked and nothing paid."""
    return JSONResponse(await plan_of(await context.form(request), visitor.role, visitor.client))


async def last_month(_: Request, __: PageContext, visitor: Visitor) -> Response:
    """Return the questions of the last month that the visitor may see, and where they were taken from."""
    return JSONResponse(await recent_questions(visitor.client, visitor.role))
