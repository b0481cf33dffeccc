"""The price before the click: what EXPLAIN says of a statement that is being written, or why it would be refused, and where.

Nothing is asked and nothing paid: EXPLAIN reads no record.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence

from dpsql.errors import DpsqlError
from dpsql.gateway.explaining.explained import Explained
from dpsql.lexer.tokens import Sort, Token, tokens
from dpsql.web.asking.typed import begins_at
from dpsql.web.curves import Json
from dpsql.web.site import Refused, VisitorClient

_EXPLAIN = "EXPLAIN (FORMAT JSON) "
_WRITTEN_INSTEAD = re.compile(r"((?:SELECT|WITH) .+?) is answered\b")
_WORD = re.compile(r"[\w$]+")


async def plan_of(statement: str, text: str, settings: Mapping[str, str], client: VisitorClient) -> Json:
    """Return the price of a statement, its expected errors and what of it is free; or the refusal, with its place.

    `text` is all that was typed, in whose UTF-16 units places are counted, as browsers do.
    """
    try:
        plan = await explained(statement, settings, client)
    except Refused as refused:
        return {"state": "refused", **await asyncio.to_thread(refusal, refused, statement, text)}
    return _priced(plan) if "Measurements" in plan else {"state": "public"}


async def explained(statement: str, settings: Mapping[str, str], client: VisitorClient) -> Mapping[str, object]:
    """Return EXPLAIN's plan, the top node of it.

    Raises:
        Refused: as the server says it, with the place in the statement itself.
    """
    try:
        answer = await client.answer(f"{_EXPLAIN}{statement}", settings)
    except Refused as refused:
        place = None if refused.place is None else max(refused.place - len(_EXPLAIN), 0)
        raise Refused(refused.message, refused.hint, refused.rule, place) from None
    plan: Mapping[str, object] = answer.only_json()[0]["Plan"]
    return plan


def is_free(plan: Mapping[str, object]) -> bool:
    """Return whether what a plan is of would cost nothing now."""
    return "Measurements" not in plan or str(plan.get("Left To Pay", plan["Epsilon"])) == "0"


def refusal(refused: Refused, statement: str, text: str) -> Json:
    """Return a refusal for the page: its words, what to write instead, and the place that it is about."""
    written = _WRITTEN_INSTEAD.search(refused.hint or "")
    span = _span(refused, statement)
    at = begins_at(text)
    return {
        "message": refused.message,
        "hint": refused.hint,
        "rule": refused.rule,
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


def _span(refused: Refused, statement: str) -> tuple[int, int] | None:
    """Return the token that a refusal is about: where the server says, or the last that its message names."""
    read = list(_readable(statement))
    if refused.place is not None:
        at = min(max(refused.place - 1, 0), len(statement))
        return next(((token.start, token.end) for token in read if token.start <= at < token.end), (at, at))
    words = {word.lower() for word in _WORD.findall(refused.message)}
    named = [
        token for token in read if token.sort in {Sort.NAME, Sort.QUOTED} and token.text.strip('"').lower() in words
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
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _mappings(value: object) -> Sequence[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
