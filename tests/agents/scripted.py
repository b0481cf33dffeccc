"""An agent without a model: it plans, reads how it is refused, writes the statement anew by that text alone, and asks.

It knows neither dpsql nor the tables: what it writes is in the refusal, in the places of what the statement has.
"""

import re
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

Call = Callable[..., Coroutine[Any, Any, Any]]
_TRIES = 5


class GaveUpError(AssertionError):
    """The agent has no idea."""


async def solved(call: Call, refused: type[Exception], statement: str, epsilon: str | None = None) -> tuple[Any, str]:
    """Return the answer to a question, and the statement that it is the answer to.

    Raises:
        GaveUpError: what it is told is of no help.
    """
    for _ in range(_TRIES):
        try:
            plan = await call("plan", statement=statement, epsilon=epsilon)
            assert all(output["half_width_95"] is not None for output in plan.get("margins", ()))
            return await call("ask", statement=statement, epsilon=epsilon), statement
        except refused as failed:
            told = str(failed)
        most = re.search(r"must be a number from \S+ to ([\d.]+)", told)
        if most is not None:
            epsilon = most[1].rstrip(".")
            continue
        rewritten = next(_rewritten(statement, told), None)
        if rewritten is None or rewritten == statement:
            raise GaveUpError(f"{statement}: {told}")
        statement = rewritten
    raise GaveUpError(statement)


def _rewritten(statement: str, told: str) -> Iterator[str]:
    """Yield what a refusal makes of a statement."""
    where = re.search(r" WHERE .*?(?= GROUP| ORDER| LIMIT|$)", statement)
    last = re.search(r"ORDER BY (\w+) DESC LIMIT 1", statement)
    if last and (row := re.search(r"max\(x\) and min\(x\) are the last", told)) and row:
        table = re.search(r"rows of (\w+) are protected", told)
        assert table is not None
        yield f"SELECT max({last[1]}) FROM {table[1]}"
    if (instead := re.search(r"Instead: (SELECT count\(\*\) FROM \w+) is answered", told)) is not None:
        yield instead[1] + (where[0] if where else "")
    if (many := re.search(r"(count\(DISTINCT \w+\)) says how many", told)) is not None:
        yield re.sub(r"\w+\(\w+\)", many[1], statement, count=1)
    coarser = re.search(r"groups of (\w+) can't be listed.*such as ([^,]*?\([^)]*\))", told, re.DOTALL)
    if coarser is not None:
        key, form = coarser[1], coarser[2]
        yield statement.replace(key, re.sub(r"\b[xt]\b(?!')", key, form))
    meant = re.search(r'column "(\w+)" does not exist.*the column "\w+\.(\w+)"', told, re.DOTALL)
    if meant is not None:
        yield re.sub(rf"\b{meant[1]}\b", meant[2], statement)
    listed = re.search(r"SELECT string_agg\(x, ','\) FROM \(SELECT DISTINCT x FROM …\) AS v", told)
    if listed is not None and (asked := re.search(r"string_agg\((\w+), ','\) FROM (\w+)", statement)) is not None:
        yield re.sub(r"\bx\b", asked[1], listed[0]).replace("…", asked[2])
    if "must appear in the GROUP BY clause" in told:
        yield f"{statement} GROUP BY 1"
    divisor = re.search(r"/ (\w+) are not bounded.*WHERE n >= 1", told, re.DOTALL)
    if divisor is not None:
        yield f"{statement} WHERE {divisor[1]} >= 1"
    if "or write JOIN" in told:
        yield statement.replace("LEFT JOIN", "JOIN")
