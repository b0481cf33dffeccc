"""Averages of small groups, each by itself and drawn together, beside the truth: `docs/accuracy.md`.

`python -m tests.truth.shrunk` measures all and writes the page's table anew.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import fmean

from tests.truth.asking import Place, Repeated, Values, place
from tests.truth.beside_oracle import PAGE
from tests.truth.data_sets import FLIGHTS, LABS, TRIPS, DataSet

ASKED = ((LABS, "site", "value"), (TRIPS, "pickup_zone", "tip"), (FLIGHTS, "dest", "arr_delay"))
EPSILONS = (Fraction(1), Fraction(1, 10))
USUAL = 20
_ANSWERS, _FIRST = 100, 5
_BEGIN, _END = "<!-- table shrunk -->\n\n", "\n<!-- end of shrunk -->"


@dataclass(frozen=True, slots=True)
class Beside:
    """How far answers lie from the truth over all groups, as they are released and drawn together."""

    data: str
    asked: str
    epsilon: float
    most: int | None
    groups: int
    plain: float
    """The root of the mean squared error of `avg`."""
    shrunk: float
    plain_first: float
    """How many of the true five largest are among the five that `avg` says are."""
    shrunk_first: float
    covered: float
    """The share of groups that lie within the margins of what is drawn together."""


def measured(served: Place, key: str, value: str, epsilon: Fraction, most: int | None, answers: int) -> Beside:
    """Ask so many times."""
    data, asked = served.filled.data, f"avg({value})"
    found = served.filled.truth.execute(
        f"SELECT {key}, {asked} FROM clamped WHERE {value} IS NOT NULL AND {key} IS NOT NULL GROUP BY 1"
    ).fetchall()
    true = {str(group): float(mean) for group, mean in found}
    shrunk = f"dpsql.shrunk({asked})"
    sql = f"SELECT {key}, {asked}, {shrunk}, dpsql.margin({shrunk}) FROM {data.name} GROUP BY {key}"
    entropy, engine, client = served.entropy, served.filled.engine, served.client(epsilon, most)
    repeated = Repeated.of(client, sql, engine, entropy)
    bounds = served.filled.policy.tables[data.name].columns[value].bounds
    assert bounds is not None
    errors: tuple[list[float], list[float]] = ([], [])
    first: tuple[list[int], list[int]] = ([], [])
    covered: list[bool] = []
    shown = repeated.answer()
    true = {group: mean for group, mean in true.items() if group in shown}  # of keys that the policy knows
    for _ in range(answers):
        answer: Values = {group: said for group, said in repeated.answer().items() if group in true}
        told = [_told(answer, place, float(bounds.middle)) for place in range(2)]
        for each, squares, hits in zip(told, errors, first, strict=True):
            squares += [(each[group] - mean) ** 2 for group, mean in true.items()]
            hits.append(len(_largest(each) & _largest(true)))
        covered += [abs(told[1][group] - mean) <= (answer[group][2] or 0.0) for group, mean in true.items()]
    plain, drawn = (sqrt(fmean(squares)) for squares in errors)
    return Beside(
        data.name,
        f"{asked} by {key}",
        float(epsilon),
        most,
        len(true),
        plain,
        drawn,
        fmean(first[0]),
        fmean(first[1]),
        fmean(covered),
    )


def _told(answer: Values, place: int, middle: float) -> dict[object, float]:
    """Return the answer's numbers; of nothing the middle of the bounds."""
    return {group: middle if (said := of[place]) is None else said for group, of in answer.items()}


def _largest(of: dict[object, float] | dict[str, float]) -> set[object]:
    return {group for group, _ in sorted(of.items(), key=lambda item: item[1], reverse=True)[:_FIRST]}


def cells(asked: tuple[DataSet, str, str], answers: int = _ANSWERS) -> Iterator[Beside]:
    """Measure a data set at each ε, with a C of 20 and with one that is chosen."""
    data, key, value = asked
    with place(data) as served:
        for epsilon in EPSILONS:
            for most in (USUAL, None):
                yield measured(served, key, value, epsilon, most, answers)


def table(found: Sequence[Beside]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "| | groups | ε | C | error of `avg` | drawn together | of the true five | drawn together | covered |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for of in found:
        rows = "chosen" if of.most is None else f"{of.most}"
        errors = f"{of.plain:.2g} | {of.shrunk:.2g} | {of.plain_first:.1f} | {of.shrunk_first:.1f}"
        yield f"| {of.data}: `{of.asked}` | {of.groups} | {of.epsilon:g} | {rows} | {errors} | {100 * of.covered:.0f} % |"


def page_with(page: str, found: Sequence[Beside]) -> str:
    """Return the page with another table."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "\n".join(table(found)) + "\n" + _END + after


def main() -> None:
    """Measure all, and write the page."""
    found = [cell for asked in ASKED for cell in cells(asked)]
    sys.stdout.write("\n".join(table(found)) + "\n")
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
