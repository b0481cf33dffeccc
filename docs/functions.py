"""Write the tables of functions into docs/sql/expressions.md, from the table that decides: `python -m docs.functions`."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.table import CONDITIONS, NUMBERS
from dpsql.rewrite.functions.temporal import DAY_TIMES, SPANS, TIMES
from dpsql.rewrite.functions.text import ANY_TEXTS, CUTS
from dpsql.rewrite.ir.literal import FUNCTIONS as _CONSTANT_FUNCTIONS  # the page lists what is spelled

PAGE = Path(__file__).parent / "sql" / "expressions.md"

_PLACE = re.compile(r"(<!-- table (\w+), written by docs/functions\.py -->\n).*?(<!-- end -->)", re.DOTALL)
_NULL = {(False, False): "", (True, False): "may be", (False, True): "never"}


def table(functions: Iterable[Function]) -> str:
    """Return a table with a row for each entry."""
    rows = [(f"`{each.sql}`", "yes" if each.needs_bounds else "", _null(each), each.note) for each in functions]
    return _markdown(("write", "bounded arguments", "NULL beyond its arguments", "note"), rows)


def names(every: Iterable[str]) -> str:
    """Return names in one paragraph."""
    listed = ", ".join(f"`{name}`" for name in sorted(every)) + "."
    return textwrap.fill(listed, 128, break_long_words=False) + "\n"


def tables() -> Mapping[str, str]:
    """Return what stands at each place of the page."""
    return {
        "logic": table((*CONDITIONS, *CUTS, *ANY_TEXTS)),
        "numbers": table(NUMBERS),
        "times": table((*TIMES, *DAY_TIMES, *SPANS)),
        "shadowed": names(_CONSTANT_FUNCTIONS),
    }


def written(page: str) -> str:
    """Return the page with its tables as they are now.

    Raises:
        KeyError: a place of the page has no table.
    """
    now = tables()
    return _PLACE.sub(lambda place: f"{place[1]}\n{now[place[2]]}\n{place[3]}", page)


def _null(function: Function) -> str:
    return _NULL[function.makes_null, function.never_null]


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
