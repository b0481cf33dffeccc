"""Forms of texts in PostgreSQL's words: what PostgreSQL said of a text holds of others that differ in plain constants.

SELECT count(*) AS count FROM public.trips WHERE (trips.fare > (20)::double precision)
→  the form SELECT count(*) AS count FROM public.trips WHERE (trips.fare > (0)::double precision), and the constant 20

Claim: whether our reading of a text is PostgreSQL's, and which columns it has, depends on its form alone. Proof: a constant
is left out only if it is a number of digits, or a text of letters, digits and a few signs, which are one token to both
parsers and decide nothing in them. To PostgreSQL a number is an integer or a numeric by its form, since it writes any other
type with a cast; a text is what the cast behind it says, and the numbers of a type stay. A reading keeps the constants in
their order, which is looked at each time. Operators of JSON, of which our parser reads the paths, have no form.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from dpsql.question import ColumnDescription
from dpsql.remembered import Remembered

_MOST = 2 * 2**20
"""Bytes of what is remembered of readings, and of columns."""
_CONSTANT = re.compile(
    r'"(?:[^"]|"")*"'
    r"|(?:::|\bAS )[\w. ]+\(\d+(?:, ?\d+)?\)"  # a type, which a column may have: numeric(12,2)
    r"|E?'(?:[^']|'')*'"
    r"|(?<![\w.])\d+(?:\.\d+)?(?![\w.])",
)
_PLAIN = re.compile(r"'[A-Za-z0-9_ .,:;+/%@-]*'")
_PATHS = ("->", "#>")


@dataclass(frozen=True, slots=True)
class Form:
    """A text without its plain constants, and these."""

    text: str
    constants: tuple[str, ...]


def form_of(text: str) -> Form | None:
    """Return the form of a text in PostgreSQL's words, None where it has none."""
    if any(operator in text for operator in _PATHS):
        return None
    constants: list[str] = []

    def without(match: re.Match[str]) -> str:
        token = match[0]
        if token[0] in '":A' or not (token[0].isdigit() or _PLAIN.fullmatch(token)):
            return token
        constants.append(token)
        return "''" if token[0] == "'" else "0.0" if "." in token else "0"

    return Form(_CONSTANT.sub(without, text), tuple(constants))


class KnownForms:
    """What PostgreSQL said of texts, by their forms; any thread may use it. It is of one database."""

    def __init__(self) -> None:
        self._read: Remembered[bool] = Remembered(_MOST, _weight)
        self._columns: Remembered[Sequence[ColumnDescription]] = Remembered(_MOST, _weight)

    def is_read(self, text: str, written: str, types: Hashable) -> bool:
        """Return whether it is known that a text, which our parser has read and `written`, is read as PostgreSQL does."""
        key = _pair(text, written)
        return key is not None and self._read.get((*key, types)) is not None

    def keep_read(self, text: str, written: str, types: Hashable) -> None:
        """Remember that PostgreSQL says the same words of a text and of what our parser has written of it."""
        if (key := _pair(text, written)) is not None:
            self._read.keep((*key, types), value=True)

    def columns(self, query: str, types: Hashable) -> Sequence[ColumnDescription] | None:
        """Return the columns of a query; None if they are not known."""
        form = form_of(query)
        return None if form is None else self._columns.get((form.text, types))

    def keep_columns(self, query: str, types: Hashable, columns: Sequence[ColumnDescription]) -> None:
        """Remember the columns of a query."""
        if (form := form_of(query)) is not None:
            self._columns.keep((form.text, types), columns)


def _pair(text: str, written: str) -> tuple[str, str] | None:
    """Return both forms, if the same constants stand in both in the same order."""
    one, other = form_of(text), form_of(written)
    return (one.text, other.text) if one and other and one.constants == other.constants else None


def _weight(value: object) -> int:
    return sum(map(_weight, value)) if isinstance(value, (tuple, list)) else 100 + len(str(value))
