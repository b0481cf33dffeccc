"""How many answers have the truth within their margins, and how wide margins are: a table of `docs/accuracy.md`.

`python -m tests.truth.coverage` measures all cells, says each, and writes the table anew; with files it reads their lines.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import median

import numpy as np

from tests.truth.asking import QUESTIONS, Asked, Place, asked_for, every, place
from tests.truth.beside_oracle import PAGE
from tests.truth.data_sets import DATA_SETS, DataSet

ANSWERS = 400
_WANTED, _CHANCE = 0.935, 3
"""A cell fails if it is covered less than that, by more than so many standard deviations of what chance may do."""
_UNLIKELY = 0.8
"""What no cell is to be covered less than where nothing says so."""
_BEGIN, _END = "<!-- table coverage -->\n\n", "\n<!-- end -->"
_SAID = ("may exceed dpsql.margin", " assumes that ", "dpsql.margin does not cover")
"""What is said of margins that may be too narrow."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What was seen of a question about some rows at an ε, over all groups together."""

    data: str
    question: str
    where: str
    epsilon: float
    share: float
    """The share of answers that have the truth within their margins."""
    silent: float
    """The share of answers that have not, and say nothing of it."""
    width: float
    """How many times as wide as the 95 % quantile of errors the median margin is."""
    missing: float
    """The share of answers that are NULL, or without a margin."""
    answers: int
    warned: float = 0.0
    """The share of answers beside which a NOTICE says that margins may be too narrow."""

    @property
    def fails(self) -> bool:
        """Return whether too few answers are covered, by more than chance."""
        return self.share < _WANTED - _CHANCE * sqrt(_WANTED * (1 - _WANTED) / self.answers)


def covered(place: Place, asked: Asked, epsilon: Fraction, answers: int = ANSWERS, *, profile: bool = False) -> Covered:
    """Ask a question many times; for those who know the table's profile, or for those who do not."""
    if profile:
        place.client(epsilon).ask("SELECT dpsql.take_profile()")
    repeated, true = place.repeated(asked, epsilon, None, f"dpsql.margin({asked.value})"), place.true(asked)
    pairs, silent, number, warned = list[tuple[float, float]](), 0, 0, 0
    for _ in range(answers):
        told, notices = repeated.answer_with_notices()
        said = any(words in notice for notice in notices for words in _SAID)
        warned += said
        for key, (exact, *_) in asked_for(asked, true, told).items():
            number += 1
            value, margin = told.get(key, (None, None))
            if value is not None and margin is not None and exact is not None:
                pairs.append((abs(value - exact), margin))
                silent += abs(value - exact) > margin and not said
    share = width = 1.0
    if pairs:
        errors, margins = np.array(pairs).T
        share, width = float(np.mean(errors <= margins)), float(np.median(margins) / np.quantile(errors, 0.95))
    of = (asked.data.name, asked.question, asked.where, float(epsilon))
    asked_of = max(number, 1)  # a ranking may have no group
    return Covered(*of, share, silent / asked_of, width, 1 - len(pairs) / asked_of, answers, warned / answers)


def cells(
    data: DataSet, answers: int = ANSWERS, wanted: Iterable[tuple[Asked, Fraction]] | None = None
) -> Iterator[Covered]:
    """Measure all cells of a data set, or some."""
    with place(data) as served:
        for asked, epsilon in wanted or every(data):
            if served.true(asked):
                yield covered(served, asked, epsilon, answers)


def told(seen: Sequence[Covered]) -> list[Covered]:
    """Return the cells of which anything is told: in most of their answers there is a number with a margin."""
    return [cell for cell in seen if cell.missing < 1 / 2]


def table(seen: Sequence[Covered]) -> Iterator[str]:
    """Yield the lines of the table: a question about a data set each, and all together."""
    yield "| | of | covered, % of answers | the least | silent misses, % | margins beside errors | cells that fail |"
    yield "|---|---|---|---|---|---|---|"
    for data in dict.fromkeys(cell.data for cell in seen):
        for question in QUESTIONS:
            some = told([cell for cell in seen if (cell.data, cell.question) == (data, question)])
            if some:
                yield f"| {data} | `{question.format(a='x', b='y', g='g', h='h', f='c', owner='unit')}` | {_line(some)} |"
    yield f"| all | | {_line(told(seen))} |"


def _line(cells: Sequence[Covered]) -> str:
    shares = [100 * cell.share for cell in cells]
    silent = 100 * sum(cell.silent for cell in cells) / len(cells)
    failing = sum(cell.fails for cell in cells)
    width = median(cell.width for cell in cells)
    return f"{median(shares):.1f} | {min(shares):.1f} | {silent:.2g} | {width:.2f} | {failing} of {len(cells)}"


def page_with(page: str, seen: Sequence[Covered]) -> str:
    """Return the page with another table."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "\n".join(table(seen)) + "\n" + _END + after


def main() -> None:
    """Measure all, a line each, or read the lines of files, and write the page."""
    seen: list[Covered] = []
    for file in sys.argv[1:]:
        seen += [Covered(**json.loads(line)) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    for data in DATA_SETS if not seen else ():
        for cell in cells(data):
            sys.stdout.write(json.dumps(asdict(cell)) + "\n")
            sys.stdout.flush()
            seen.append(cell)
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), seen), encoding="utf-8")


if __name__ == "__main__":
    main()
