"""A month of questions before it is asked: what each would err by at its share of a total ε, and what all of them risk.

Each question is explained over the visitor's own connection, which is free and reads nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.belief import belief_after
from dpsql.epsilon.advising.lines import decimal
from dpsql.errors import DpsqlError
from dpsql.gateway.explaining.explained import Explained
from dpsql.lexer.split import statements
from dpsql.policy.model import Role
from dpsql.web.choosing.asked_lately import MOST_CHARACTERS, MOST_QUESTIONS
from dpsql.web.choosing.policies import LEAST_POLICY_EPSILON, MOST_POLICY_EPSILON
from dpsql.web.curves import Json
from dpsql.web.inputs import BadField, fraction, whole
from dpsql.web.site import Refused, VisitorClient

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
    people = whole(given, "people", 2, 10**9)
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
    except Refused as refused:
        return {**told, "refused": refused.message, "hint": refused.hint, "outputs": None}
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
