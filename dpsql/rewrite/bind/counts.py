"""The parameters of LIMIT and OFFSET that decide what a statement asks: 0, 1 and NULL are read as if they were written.

SELECT count(*) FROM (SELECT fare FROM trips OFFSET $1) AS t, of 0  →  … OFFSET 0

Others stay parameters: on private rows no number but these is ever answered. Which there are is read off the text, since
bound statements are remembered by them.
"""

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.question import Argument
from dpsql.rewrite.syntax.read.trees import every

Counts = Mapping[int, str | None]
"""The values that decide, by the numbers of their parameters."""

_PLACE = re.compile(r"(?i)\b(?:limit|offset)\s+\$(\d{1,5})(?!\d)")
_NUMBERS = frozenset(
    {exp.DataType.Type.SMALLINT, exp.DataType.Type.INT, exp.DataType.Type.BIGINT, exp.DataType.Type.DECIMAL}
)
_OF_NUMBERS = frozenset({"smallint", "integer", "bigint", "numeric", "text", "unknown"})
"""The types of parameters whose text is the number that it is cast to."""
_DECISIVE = frozenset({"0", "1", None})


def counts_of(text: str, arguments: Sequence[Argument]) -> Counts:
    """Return the values that decide what a statement asks."""
    if not any(argument.text in _DECISIVE for argument in arguments):
        return {}
    places = {int(place[1]) for place in _PLACE.finditer(text)}
    values = {
        number: argument.text
        for number, argument in enumerate(arguments, 1)
        if number in places and (argument.type in _OF_NUMBERS or argument.text is None)
    }
    return {number: value for number, value in values.items() if value in _DECISIVE}


def with_counts(tree: exp.Query, counts: Counts) -> None:
    """Put these values into LIMIT and OFFSET; the tree changes."""
    clauses = [*every(tree, exp.Limit), *every(tree, exp.Offset)] if counts else []
    for clause in clauses:
        count = clause.expression
        # A cast between numbers changes none of these; of "char" or of bits it would make others of them.
        while isinstance(count, exp.Paren) or (isinstance(count, exp.Cast) and count.to.this in _NUMBERS):
            count = count.this
        if isinstance(count, exp.Parameter) and int(count.name) in counts:
            value = counts[int(count.name)]
            clause.set("expression", exp.Null() if value is None else exp.Literal.number(value))
