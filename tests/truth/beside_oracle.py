"""How far answers lie from the truth where C is chosen, beside the best C in hindsight and beside C = 20: `docs/accuracy.md`.

`python -m tests.truth.beside_oracle` measures all cells, says each, and writes the page's table anew.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

from tests.truth.asking import EPSILONS, Asked, Place, every, place
from tests.truth.data_sets import DATA_SETS, PATIENTS, DataSet

PAGE = Path(__file__).parent.parent.parent / "docs" / "accuracy.md"
ANSWERS, FEW = 21, 5
"""How many are asked for of each cell; and of each C on the way to the best one."""
_USUAL, _OVER = 20, 1.5
_SMALL = 0.001
"""An error that is as good as none."""
_COARSE, _LAST = (1, 4, 16, 64, 256), 512


@dataclass(frozen=True, slots=True)
class Cell:
    """Median relative errors of a question at an ε."""

    data: str
    question: str
    where: str
    epsilon: float
    chosen: float
    usual: float
    """With C = 20."""
    best: float
    """With the C that errs least in hindsight."""
    best_rows: int

    @property
    def beside_best(self) -> float:
        """Return how many times as far as with the best C the answers are off."""
        return _ratio(self.chosen, self.best)

    @property
    def beside_usual(self) -> float:
        """Return how many times as far as with C = 20."""
        return _ratio(self.chosen, self.usual)


def _ratio(error: float, other: float) -> float:
    """Return how many times as large an error is; one below a thousandth counts as that, as nobody sees it.

    Values are chosen from buckets: now and then the best C in hindsight meets the true one by chance.
    """
    if error == other:
        return 1.0
    return max(error, _SMALL) / max(other, _SMALL)


def measured(place: Place, asked: Asked, epsilon: Fraction) -> Cell:
    """Measure a cell."""

    def error(most: int | None, number: int = ANSWERS) -> float:
        return place.error(asked, place.repeated(asked, epsilon, most), number)

    best = _best(asked.data, lambda most: error(most, FEW))
    data, said = asked.data.name, (asked.question.format(**asked.data.words, owner=asked.data.owner), asked.where)
    return Cell(data, *said, float(epsilon), error(None), error(_USUAL), *min((error(most), most) for most in best))


def _best(data: DataSet, error: Callable[[int], float]) -> Sequence[int]:
    """Return the two C that seem to err least, of powers of two."""
    if data is PATIENTS:
        return (1,)
    tried = {most: error(most) for most in _COARSE}
    first = min(tried, key=tried.__getitem__)
    tried |= {most: error(most) for most in (first // 2, first * 2) if 0 < most <= _LAST}
    return sorted(tried, key=tried.__getitem__)[:2]


def cells(data: DataSet, wanted: Iterable[tuple[Asked, Fraction]] | None = None) -> Iterator[Cell]:
    """Measure all cells of a data set, or some."""
    with place(data) as served:
        for asked, epsilon in wanted or every(data):
            if served.true(asked):
                yield measured(served, asked, epsilon)


def medians(found: Sequence[Cell]) -> tuple[float, float]:
    """Return how many times as far off as with the best C, and as with C = 20, answers are at the median of some cells."""
    return median(cell.beside_best for cell in found), median(cell.beside_usual for cell in found)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 1 else f"{100 * share:.2g} %"


def table(found: Sequence[Cell]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "| | ε | cells | beside the best C | nine of ten cells below | beside C = 20 | cells over 1.5 times C = 20 |"
    yield "|---|---|---|---|---|---|---|"
    names = list(dict.fromkeys(cell.data for cell in found))
    for name in [*names, "all"]:
        for epsilon in (*map(float, EPSILONS), None) if name == "all" else map(float, EPSILONS):
            some = [cell for cell in found if name in (cell.data, "all") and epsilon in (cell.epsilon, None)]
            ratios = sorted(cell.beside_best for cell in some)
            best, usual = medians(some)
            over = sum(cell.beside_usual > _OVER for cell in some) / len(some)
            shown = f"{ratios[len(ratios) * 9 // 10]:.1f}"
            yield f"| {name} | {epsilon or ''} | {len(some)} | {best:.2f} | {shown} | {usual:.2f} | {100 * over:.0f} % |"
    yield ""
    yield "| count(*) | ε | C = 20 | chosen | best C | that C |"
    yield "|---|---|---|---|---|---|"
    for cell in found:
        if cell.question == "count(*)":
            said = " | ".join(map(_percent, (cell.usual, cell.chosen, cell.best)))
            where = "all" if cell.where == "TRUE" else f"`{cell.where}`"
            yield f"| {cell.data}, {where} | {cell.epsilon:g} | {said} | {cell.best_rows} |"


def page_with(page: str, found: Sequence[Cell]) -> str:
    """Return the page with other tables."""
    before, _, rest = page.partition("\n| | ε |")
    _, heading, after = rest.partition("\n## ")
    return "\n".join((before, *table(found))) + "\n" + heading + after


def main() -> None:
    """Measure all, a line each, or read the lines of files, and write the page."""
    if files := sys.argv[1:]:
        found = [
            Cell(**json.loads(line)) for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()
        ]
    else:
        found = []
        for data in DATA_SETS:
            for cell in cells(data):
                sys.stdout.write(json.dumps(asdict(cell)) + "\n")
                found.append(cell)
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
