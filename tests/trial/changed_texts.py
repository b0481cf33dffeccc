"""Engines' statements with one or two things changed at random: mostly wrong, and some of them by little."""

import re
from collections.abc import Callable, Sequence
from random import Random

_OF_RIDES = "age dropped fare from_zone late number picked price rider seats stars tip".split()
_COLUMNS = (*_OF_RIDES, "passenger_count", "passenger_id", "payment_type")
_FUNCTIONS = "greatest least max min sum count coalesce row_number first_value last_value lag lead rank".split()
_COMPARED = ("<=", ">=", "<", ">", "=", "<>")


def changed(sql: str, random: Random) -> str:
    """Return a statement with one thing changed, in one of the places where it stands; two in a quarter of all cases."""
    for _ in range(random.choice((1, 1, 1, 2))):
        pattern, other = random.choice(_CHANGES)
        places = list(re.finditer(pattern, sql))
        if places:
            place = random.choice(places)
            sql = f"{sql[: place.start()]}{other(place[0], random)}{sql[place.end() :]}"
    return sql


def _another_number(number: str, random: Random) -> str:
    return str(int(number) + random.choice((-1, 1, 2)))


def _one_of(these: Sequence[str], form: str = "{}") -> Callable[[str, Random], str]:
    return lambda _, random: form.format(random.choice(these))


def _nothing(_: str, __: Random) -> str:
    return ""


_CHANGES: Sequence[tuple[str, Callable[[str, Random], str]]] = (
    (r"(?<![\w.\"])\d+(?![\w.\"])", _another_number),
    (r" AND (?:\([^()]*(?:\([^()]*\)[^()]*)*\)|[^()]*? IS NOT NULL)", _nothing),
    (rf'"(?:{"|".join(_COLUMNS)})"', _one_of(_COLUMNS, '"{}"')),
    (r" JOIN ", _one_of((" LEFT JOIN ", " CROSS JOIN "))),
    (r"DISTINCT |, k\d|NOT |u, ", _nothing),
    (r" (?:<=|>=|<|>|=) ", _one_of(_COMPARED, " {} ")),
    (r"\bs\d\.", _one_of(("s0.", "s1.", "s2."))),
    (rf"\b(?:{'|'.join(_FUNCTIONS)})\(", _one_of(_FUNCTIONS, "{}(")),
    (r"WHERE (?=[^ ])", _one_of(("WHERE TRUE OR ", "WHERE NOT "))),
    (r" GROUP BY [^)]*(?=\))|PARTITION BY [^ )]*|ORDER BY [^()]*(?=\))", _nothing),
)
"""What is looked for, and what comes instead of it."""
