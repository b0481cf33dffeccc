"""The answer to a statement, with the margin of each number, what it is told beside, and what it was charged.

The statement is asked as it was written, and so it stands in the ledger. Then it is asked once more with margins, if EXPLAIN
says that this is free.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import sqlglot
from sqlglot import exp

from dpsql.accounting.privacy_loss import compose, remaining, show_down
from dpsql.errors import DpsqlError
from dpsql.gateway.explaining.explained import Explained
from dpsql.lexer.reader import Token, TokenKind, asks_only, statements, tokens
from dpsql.plots.margins import wider_statements
from dpsql.policy.model import Privacy, Role
from dpsql.web.inputs import BadField, Json, fraction
from dpsql.web.sessions import Visitor
from dpsql.web.site import Answer, ServerRefused, Site, VisitorClient

# The columns of an answer, as a table and a chart need them: keys, numbers with their margins, and margins.

_KINDS = {
    **dict.fromkeys((20, 21, 23), "whole"),
    **dict.fromkeys((700, 701, 1700), "number"),
    **dict.fromkeys((1082, 1114, 1184), "time"),
    16: "truth",
}
"""Kinds of values by PostgreSQL's number of their type; all others are texts."""
_NUMBERS = ("whole", "number")
_COUNTS = (exp.Count, exp.Sum, exp.CountIf)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column: its name, the kind of its values, and what it is for."""

    name: str
    kind: str
    role: str
    """`key`, `number`, or `margin`."""
    of: int | None = None
    """For a margin the column whose it is."""
    counts: bool = False
    """Whether 0 is nothing: of counts and sums."""

    def as_json(self) -> Json:
        """Return it for the page."""
        return {"name": self.name, "kind": self.kind, "role": self.role, "of": self.of, "counts": self.counts}


def output_columns(statement: str, names: Sequence[str], types: Sequence[int]) -> list[OutputColumn]:
    """Return what each column is, by the statement where that can be read, and else by its type."""
    plain = [OutputColumn(name, _KINDS.get(oid, "text"), "key") for name, oid in zip(names, types, strict=True)]
    items = _selected(statement)
    # sqlglot may read a statement otherwise than PostgreSQL does, which has said the columns: believed is what fits them.
    if items is None or len(items) != len(plain):
        return _by_type(plain)
    columns = []
    for place, (column, item) in enumerate(zip(plain, items, strict=True)):
        argument = _margin_of(item)
        if argument is not None:
            # avg(fare) beside dpsql.margin(avg(fare)): the same tree elsewhere among the items.
            of = next((i for i, other in enumerate(items) if i != place and other == argument), None)
            columns.append(replace(column, role="margin", of=of))
        elif column.kind in _NUMBERS and item.find(exp.AggFunc, exp.Anonymous, exp.Window):
            columns.append(replace(column, role="number", counts=isinstance(_bare(item), _COUNTS)))
        else:
            columns.append(column)
    return columns if any(column.role != "key" for column in columns) else _by_type(plain)


def _selected(statement: str) -> list[exp.Expr] | None:
    try:
        trees = sqlglot.parse(statement, read="postgres")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    match trees:
        case [exp.Select() as tree] if not tree.is_star:
            return [item.unalias() for item in tree.selects]
        case _:
            return None


def _margin_of(item: exp.Expr) -> exp.Expr | None:
    """Return what a call of `dpsql.margin` is about."""
    match item:
        case exp.Dot(this=exp.Identifier(this="dpsql"), expression=exp.Anonymous(this=name, expressions=[argument])):
            return argument if str(name).lower() == "margin" else None
        case _:
            return None


def _bare(item: exp.Expr) -> exp.Expr:
    return _bare(item.this) if isinstance(item, (exp.Filter, exp.Paren, exp.Cast, exp.Round)) else item


def _by_type(columns: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return numbers as numbers, but for the first column where there are others."""
    return [
        replace(column, role="number") if column.kind in _NUMBERS and (place or len(columns) == 1) else column
        for place, column in enumerate(columns)
    ]


# What a visitor's role was told before, with what each answer cost, and what is free now: read over their own connection.

_MOST_SHOWN = 60
"""Answers that are listed."""
_BUDGET = """SELECT epsilon_total, epsilon_spent, epsilon_left, per_query_epsilon, coalesce(to_char(renews AT TIME ZONE 'UTC',
  'YYYY-MM-DD'), '') FROM dpsql.budget"""
# An answer may be charged in several lines, all of one time: they are one here.
_CHARGED = f"""SELECT statement, user_name, trim_scale(sum(epsilon))::text,
       to_char(made_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')
  FROM dpsql.charges GROUP BY statement, user_name, made_at ORDER BY made_at DESC LIMIT {_MOST_SHOWN}
"""  # noqa: S608  # a number of our own
_FREE_AGAIN = f"""
SELECT statement, string_agg(DISTINCT measured, '; ') FROM dpsql.releases GROUP BY statement LIMIT {_MOST_SHOWN}
"""  # noqa: S608
_CUT = "…"
"""The end of a statement that the tables have cut short."""


async def budget_of(client: VisitorClient) -> Json:
    """Return the budget of the visitor's role as it stands now."""
    ((total, spent, left, most, renews),) = (await client.answer(_BUDGET)).rows
    return {"total": total, "spent": spent, "left": left, "most": most, "renews": renews or None}


async def history_of(client: VisitorClient) -> Json:
    """Return the newest answers that were paid for, and the statements off whose answers others are free now."""
    charged = (await client.answer(_CHARGED)).rows
    free = (await client.answer(_FREE_AGAIN)).rows
    now = {statement for statement, _ in free}
    return {
        "charged": [
            {
                "statement": statement,
                "user": user,
                "epsilon": cost,
                "time": time,
                "free": statement in now,
                "whole": _whole(statement),
            }
            for statement, user, cost, time in charged
        ],
        "free": [
            {"statement": statement, "measured": measured, "whole": _whole(statement)} for statement, measured in free
        ],
        "budget": await budget_of(client),
    }


def _whole(statement: str | None) -> bool:
    return statement is not None and not statement.endswith(_CUT)


# A statement as somebody typed it: what the page takes, and what it sends on.

LONGEST_STATEMENT = 32_000
"""Characters of a statement."""
_LEAST = Fraction(1, 10**9)


def typed_statement(given: Mapping[str, str]) -> str:
    """Return the one query of a text, without what stands around it.

    Nothing but a query is sent on from here: what sets or makes something would be left behind in the visitor's session.

    Raises:
        BadField: it is none, or several.
    """
    text = given.get("statement", "")
    if len(text) > LONGEST_STATEMENT:
        raise BadField(
            "statement",
            f"the statement has {len(text):,} characters, and may have {LONGEST_STATEMENT:,}; write a list of values as "
            "BETWEEN, or as a join with a public table",
        )
    if "\0" in text:
        raise BadField("statement", "the statement has a character with the code 0; leave it out")
    try:
        # By PostgreSQL's own lexical rules: a semicolon within a text, a comment or $$…$$ ends nothing.
        spans = statements(text)
    except DpsqlError as error:
        raise BadField("statement", error.message) from None
    if not spans:
        raise BadField("statement", "write a question: SELECT …")
    if len(spans) > 1:
        raise BadField("statement", "ask one statement at a time; WITH puts several questions into one")
    ((begin, end),) = spans
    if not asks_only(text[begin:end]):
        raise BadField(
            "statement",
            "only queries are asked here, which begin with SELECT or WITH and fill no table; psql takes the rest",
        )
    return text[begin:end].rstrip()


def begins_at(text: str) -> int:
    """Return where the statement of a text begins, after blanks and comments."""
    return statements(text)[0][0]


def settings_of(given: Mapping[str, str], role: Role) -> Mapping[str, str]:
    """Return the session's settings for one statement: the most ε that it pays, if that is chosen.

    Raises:
        BadField: the ε is none, or more than the role may pay for a statement.
    """
    if not given.get("epsilon", "").strip():
        return {}
    epsilon = fraction({"epsilon": given["epsilon"].strip()}, "epsilon", _LEAST, role.per_query.epsilon)
    return {"dpsql.epsilon": f"{float(epsilon):.12g}"}


# The price before the click: what EXPLAIN says of a statement that is being written, or why it would be refused, and where.
#
# Nothing is asked and nothing paid: EXPLAIN reads no record.

_EXPLAIN = "EXPLAIN (FORMAT JSON) "
_WRITTEN_INSTEAD = re.compile(r"((?:SELECT|WITH) .+?) is answered\b")
_WORD = re.compile(r"[\w$]+")


async def plan_of(statement: str, text: str, settings: Mapping[str, str], client: VisitorClient) -> Json:
    """Return the price of a statement, its expected errors and what of it is free; or the refusal, with its place.

    `text` is all that was typed, in whose UTF-16 units places are counted, as browsers do.
    """
    try:
        plan = await explain_plan(statement, settings, client)
    except ServerRefused as refused:
        return {"state": "refused", **await asyncio.to_thread(refusal_of, refused, statement, text)}
    return _priced(plan) if "Measurements" in plan else {"state": "public"}


async def explain_plan(statement: str, settings: Mapping[str, str], client: VisitorClient) -> Mapping[str, object]:
    """Return EXPLAIN's plan, the top node of it.

    Raises:
        ServerRefused: as the server says it, with the place in the statement itself.
    """
    try:
        answer = await client.answer(f"{_EXPLAIN}{statement}", settings)
    except ServerRefused as refused:
        # The server counts in what it was sent, which begins with our EXPLAIN.
        place = None if refused.place is None else max(refused.place - len(_EXPLAIN), 0)
        raise ServerRefused(refused.message, refused.hint, refused.rule, place) from None
    plan: Mapping[str, object] = answer.only_json()[0]["Plan"]
    return plan


def is_free(plan: Mapping[str, object]) -> bool:
    """Return whether what a plan is of would cost nothing now."""
    return "Measurements" not in plan or str(plan.get("Left To Pay", plan["Epsilon"])) == "0"


def refusal_of(refused: ServerRefused, statement: str, text: str) -> Json:
    """Return a refusal for the page: its words, what to write instead, and the place that it is about."""
    written = _WRITTEN_INSTEAD.search(refused.hint or "")
    span = _span(refused, statement)
    at = begins_at(text)
    return {
        "message": refused.message,
        "hint": refused.hint,
        "rule": refused.rule,
        # A hint with … in it stands for many statements, and is none that a click could ask.
        "instead": written[1] if written and "…" not in written[1] else None,
        "place": None if span is None else [_units(text[: at + end]) for end in span],
    }


def _priced(plan: Mapping[str, object]) -> Json:
    explained_plan = Explained.of(plan)
    left = str(plan.get("Left To Pay", explained_plan.epsilon))
    return {
        "state": "priced",
        "epsilon": explained_plan.epsilon,
        "left": left,
        "delta": explained_plan.delta or None,
        "most": plan.get("At Most"),
        "free": [
            {"outputs": item["Outputs"], "statement": item["Answer"]} for item in _mappings(plan.get("Read Off", []))
        ],
        "again": left == "0" and "Read Off" not in plan,
        "instead": plan.get("Free Instead", []),
        "clamped": list(dict.fromkeys(f"{c.expression} to {c.low:g} … {c.high:g}" for c in explained_plan.clamped)),
        "choices": [{"of": choice.of.expression, "enough": choice.enough} for choice in explained_plan.choices],
        "outputs": [
            {
                "name": output.name,
                "margins": output.margins,
                "unit": output.unit,
                "relative": output.relative,
                "given": output.given,
            }
            for output in explained_plan.outputs
        ],
    }


def _span(refused: ServerRefused, statement: str) -> tuple[int, int] | None:
    """Return the token that a refusal is about: where the server says, or the last that its message names."""
    read = list(_readable(statement))
    if refused.place is not None:
        at = min(max(refused.place - 1, 0), len(statement))
        return next(((token.start, token.end) for token in read if token.start <= at < token.end), (at, at))
    # No place was told: a refusal of ours names what it is about, as `column "fare" has no declared bounds` does.
    words = {word.lower() for word in _WORD.findall(refused.message)}
    named = [
        token
        for token in read
        if token.sort in {TokenKind.NAME, TokenKind.QUOTED} and token.text.strip('"').lower() in words
    ]
    names = [token for token in named if token.text.lower() not in _OF_MESSAGES]
    return (names[-1].start, names[-1].end) if names else None


_OF_MESSAGES = frozenset(
    "a all and any as at be by can for from group in is it no not of on or order rows t the to".split()
)
"""Words that are in a message as such, and in a statement mostly as others."""


def _readable(statement: str) -> Iterator[Token]:
    try:
        yield from tokens(statement)
    except DpsqlError:
        return


def _units(text: str) -> int:
    """Return the length of a text as JavaScript counts it."""
    # A lone surrogate, which a browser can send, is one unit there, too; UTF-16 by itself would refuse it.
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _mappings(value: object) -> Sequence[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


# The answer, with all of the above beside it.

_RECENT = 1_000
"""How many of a role's newest charges are looked at for those of one statement."""
_FREE = "free: "
_CALL = re.compile(r"[\w.]+[(.]")
"""A sentence that begins with a name of SQL, which stays as it is."""


async def answer_to(statement: str, settings: Mapping[str, str], site: Site, visitor: Visitor) -> Json:
    """Ask, and return the rows, the margins, the notices, and the charge.

    Raises:
        ServerRefused: the server's own words.
        ServerLost: the connection is lost.
    """
    # The ledger is looked at before and after, for the statement's own text. The one with margins has another, and is asked
    # only where it is free.
    before = await asyncio.to_thread(_paid, site, visitor, statement)
    answer = await visitor.client.answer(statement, settings)
    after = await asyncio.to_thread(_paid, site, visitor, statement)
    columns = await asyncio.to_thread(output_columns, statement, answer.columns, answer.types)
    rows, columns = await _with_margins(statement, settings, answer, columns, visitor)
    return {
        "columns": [column.as_json() for column in columns],
        "rows": rows,
        "cut": answer.cut,
        "notices": [_notice(text, columns) for text in answer.notices],
        "charged": show_down(remaining(after, before).epsilon),
        "budget": await budget_of(visitor.client),
    }


async def _with_margins(
    statement: str, settings: Mapping[str, str], answer: Answer, columns: list[OutputColumn], visitor: Visitor
) -> tuple[Sequence[Sequence[str | None]], list[OutputColumn]]:
    """Return the rows with margins as further columns, wherever they cost nothing; else the rows as they are."""
    for wider in await asyncio.to_thread(wider_statements, statement):
        try:
            if not is_free(await explain_plan(wider.text, settings, visitor.client)):
                continue
            margins = await visitor.client.answer(wider.text, settings)
        except ServerRefused:
            continue
        width = len(answer.columns)
        # Other rows than those that the visitor was charged for: an epoch has begun in between, or equal ones come in another
        # order. And of two columns of one name nobody could say whose a margin is.
        if [row[:width] for row in margins.rows] != list(answer.rows) or len(set(answer.columns)) < width:
            continue
        more = [
            OutputColumn(name, "number", "margin", answer.columns.index(of))
            for name, of in zip(margins.columns[width:], wider.of, strict=True)
        ]
        given = [
            column if column.role != "key" else _measured(column, place, more) for place, column in enumerate(columns)
        ]
        return margins.rows, [*given, *more]
    return answer.rows, columns


def _measured(column: OutputColumn, place: int, margins: Sequence[OutputColumn]) -> OutputColumn:
    return replace(column, role="number") if any(margin.of == place for margin in margins) else column


def _notice(text: str, columns: Sequence[OutputColumn]) -> Json:
    """Return a notice as a sentence, and what it is about: the price, a column by its place, or the answer."""
    about: int | str = "price" if text.startswith(_FREE) else "answer"
    for place, column in enumerate(columns):
        # Notices name a column as what was asked, avg(fare), whose name is avg then.
        if about == "answer" and column.role == "number" and re.search(rf"\b{re.escape(column.name)}\(", text):
            about = place
            break
    begun = text if _CALL.match(text) else f"{text[:1].upper()}{text[1:]}"
    return {"text": begun.rstrip(".") + ".", "about": about}


def _paid(site: Site, visitor: Visitor, statement: str) -> Privacy:
    """Return what this visitor has paid for a statement lately."""
    lines = site.ledger.entries(visitor.role.name, _RECENT)
    return compose(line.cost for line in lines if (line.user, line.statement) == (visitor.user, statement))
