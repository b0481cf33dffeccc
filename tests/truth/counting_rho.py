"""Counts by a key as a role has them that counts ρ, and as any other, beside the truth: `docs/accuracy.md`.

`python -m tests.truth.counting_rho` measures all and writes the page's table anew.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import fmean, median

from tests.support.fix_policy import counting_rho, with_epsilon
from tests.support.fix_world import Client
from tests.truth.asking import Place, Repeated, place
from tests.truth.beside_oracle import PAGE
from tests.truth.data_sets import FLIGHTS, LABS, PATIENTS, TRIPS, USERS, DataSet

KEYS: Sequence[tuple[DataSet, Sequence[str]]] = (
    (
        TRIPS,
        (
            "pickup_zone; extract(hour FROM pickup_ts)",
            "date_trunc('hour', pickup_ts)",
            "date_trunc('day', pickup_ts)",
            "pickup_zone",
            "payment_type",
        ),
    ),
    (FLIGHTS, ("month * 100 + day", "month", "dest", "origin")),
    (LABS, ("date_trunc('day', taken_at)", "site", "test", "ward")),
    (PATIENTS, ("admitted", "region", "ward")),
)
EPSILONS = (Fraction(1), Fraction(1, 10))
_ANSWERS = 40
_AND = "; "
"""Between two keys."""
_BEGIN, _END = "<!-- table counting rho -->\n\n", "\n<!-- end of counting rho -->"


@dataclass(frozen=True, slots=True)
class Beside:
    """How far counts lie from the truth over all groups, as both kinds of roles have them."""

    data: str
    key: str
    epsilon: float
    groups: int
    error: float
    """At the median of answers, where ε is added up."""
    of_rho: float
    """Where ρ is counted."""
    covered: float
    """The share of groups within their margins there."""


def measured(served: Place, key: str, epsilon: Fraction, answers: int) -> Beside:
    """Ask as both."""
    data, true = served.filled.data, true_of(served, key)
    summed = with_epsilon(served.filled.policy, epsilon)
    plain, _, _ = errors_of(served, served.client_of(summed), key, true, answers)
    counted = counting_rho(summed, *USERS.values())
    errors, covered, groups = errors_of(served, served.client_of(counted), key, true, answers)
    return Beside(data.name, key, float(epsilon), groups, median(plain), median(errors), covered)


def true_of(served: Place, key: str) -> dict[str, float]:
    """Return how many rows each group has."""
    rows = served.filled.truth.execute(
        f"SELECT {key.replace(_AND, ', ')}, count(*) FROM clamped GROUP BY ALL"
    ).fetchall()
    return {_named(group): float(number) for *group, number in rows if None not in group}


def errors_of(
    served: Place, client: Client, key: str, true: dict[str, float], answers: int
) -> tuple[list[float], float, int]:
    """Return of each answer the root of its mean squared error, what part is within margins, and the number of groups."""
    places = ", ".join(str(place + 1) for place in range(len(key.split(_AND))))
    keys, table = key.replace(_AND, ", "), served.filled.data.name
    sql = f"SELECT {keys}, count(*), dpsql.margin(count(*)) FROM {table} GROUP BY {places}"
    repeated = Repeated.of(client, sql, served.filled.engine, served.entropy)
    errors, covered = list[float](), list[bool]()
    for _ in range(answers):
        answer = {_named(group): said for group, said in repeated.answer().items()}
        told = [(answer[group], number) for group, number in true.items() if group in answer]
        off = [abs((count or 0.0) - number) for (count, _), number in told]
        errors.append(sqrt(fmean(each**2 for each in off)))
        covered += [each <= (margin or 0.0) for each, ((_, margin), _) in zip(off, told, strict=True)]
    return errors, fmean(covered), len(covered) // answers


def _named(group: object) -> str:
    """Return the name of a group: its values, as texts."""
    return " · ".join(map(str, group)) if isinstance(group, list | tuple) else str(group)


def cells(data: DataSet, keys: Sequence[str], answers: int = _ANSWERS) -> Iterator[Beside]:
    """Measure a data set at each ε."""
    with place(data) as served:
        for epsilon in EPSILONS:
            for key in keys:
                yield measured(served, key, epsilon, answers)


def table(found: Sequence[Beside]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "| count(*) by | groups | ε | error where ε adds up | where ρ is counted | times nearer | covered |"
    yield "|---|---|---|---|---|---|---|"
    for of in found:
        errors = f"{of.error:.3g} | {of.of_rho:.3g} | {of.error / of.of_rho:.2g}"
        said = f"{of.data}: `{of.key.replace(_AND, ', ')}`"
        yield f"| {said} | {of.groups} | {of.epsilon:g} | {errors} | {100 * of.covered:.0f} % |"


def page_with(page: str, found: Sequence[Beside]) -> str:
    """Return the page with another table."""
    before, _, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END.strip())
    assert end
    return before + _BEGIN + "\n".join(table(found)) + "\n" + _END + after


def main() -> None:
    """Measure all, and write the page."""
    found = [cell for data, keys in KEYS for cell in cells(data, keys)]
    sys.stdout.write("\n".join(table(found)) + "\n")
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
