"""A statement without its constants in double precision, which become parameters, so that the next one is known by it.

Claim: what DuckDB says when it binds a statement is the same for all that differ in these constants alone, because it binds
by types, and a parameter that is given a float has theirs. Whole numbers and texts stay: by their size a number may have
another type, as an ordinal it means a column, and a text may be read as a date.

WHERE s0."fare" > 20.5e0 LIMIT 1  →  WHERE s0."fare" > ? LIMIT 1, with 20.5
"""

import re

_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
_PART = re.compile(rf"({_QUOTED}|\?)|(?<![\w.])(\d+(?:\.\d*)?e[+-]?\d+)(?![\w.])")


def with_parameters(sql: str) -> tuple[str, list[float]]:
    """Return the text with `?` for such constants, and what they are; the statement itself where it has a `?` already."""
    numbers: list[float] = []
    parts: list[str] = []
    end = 0
    for part in _PART.finditer(sql):
        if part[1] == "?":
            return sql, []
        if part[2]:
            numbers.append(float(part[2]))
            parts += (sql[end : part.start()], "?")
            end = part.end()
    return "".join((*parts, sql[end:])), numbers
