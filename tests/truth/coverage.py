"""How many answers have the truth within their margins, and how wide margins are: a table of `docs/accuracy.md`.

`python -m tests.truth.coverage` measures all cells, says each, and writes the table anew; with files it reads their lines.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import median

import numpy as np

from tests.truth.asking import Asked, Place, place
from tests.truth.beside_oracle import PAGE
from tests.truth.data_sets import DATA_SETS, DataSet

ANSWERS = 2_000
EPSILONS = (Fraction(1), Fraction(1, 10))
QUESTIONS = ("count(*)", "sum({a})", "avg({a})", "variance({a})", "median({a})", "count(DISTINCT {owner})")
_CHANCE = 3
"""So many standard deviations below 95 % fewer answers are covered by chance once in 700 cells: 93.5 % of 2,000 answers."""
_BEGIN, _END = "<!-- table coverage -->\n\n", "\n<!-- end -->"


@dataclass(frozen=True, slots=True)
class Covered:
    """What was seen of a question about some rows at an ε."""

    data: str
    question: str
    where: str
    epsilon: float
    share: float
    """The share of answers that have the truth within their margins."""
    width: float
    """How many times as wide as the 95 % quantile of errors the median margin is."""
    missing: float
    """The share of answers that are NULL."""
    answers: int


def covered(place: Place, asked: Asked, epsilon: Fraction, answers: int = ANSWERS) -> Covered:
    """Ask a question many times, once the table's profile is taken."""
    place.client(epsilon).ask("SELECT dpsql.take_profile()")
    repeated = place.repeated(asked, epsilon, None, f"dpsql.margin({asked.value})")
    ((true, *_),) = place.true(asked).values()
    said, exact = [repeated.answer()[None] for _ in range(answers)], true or 0.0
    pairs = np.array(
        [(abs(value - exact), margin) for value, margin in said if value is not None and margin is not None]
    )
    share = width = 1.0
    if len(pairs):
        errors, margins = pairs.T
        share, width = float(np.mean(errors <= margins)), float(np.median(margins) / np.quantile(errors, 0.95))
    return Covered(
        asked.data.name, asked.question, asked.where, float(epsilon), share, width, 1 - len(pairs) / answers, answers
    )


def cells(data: DataSet, answers: int = ANSWERS) -> Iterator[Covered]:
    """Measure all cells of a data set."""
    with place(data) as served:
        for question in QUESTIONS:
            for where in data.filters:
                for epsilon in EPSILONS:
                    yield covered(served, Asked(data, question, where), epsilon, answers)


def table(seen: Sequence[Covered]) -> Iterator[str]:
    """Yield the lines of the table: a question about a data set each."""
    yield "| | of | covered, % of answers | the least | margins beside errors | cells with fewer than by chance |"
    yield "|---|---|---|---|---|---|"
    for data in dict.fromkeys(cell.data for cell in seen):
        for question in QUESTIONS:
            some = [cell for cell in seen if (cell.data, cell.question) == (data, question) and cell.missing < 1 / 2]
            few = [cell for cell in some if cell.share < 0.95 - _CHANCE * sqrt(0.95 * 0.05 / cell.answers)]
            named = "; ".join(f"ε = {cell.epsilon:g}, `{cell.where}`: {100 * cell.share:.0f} %" for cell in few)
            shares = [100 * cell.share for cell in some]
            asked = question.format(a="x", owner="unit")
            width = median(cell.width for cell in some)
            yield f"| {data} | `{asked}` | {median(shares):.1f} | {min(shares):.1f} | {width:.2f} | {named or 'none'} |"


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
