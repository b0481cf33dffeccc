"""How the ratios grow with the units, with the kind of their identifiers, and with the groups."""

from collections.abc import Iterator, Sequence

from benchmarks.speed.asked import Asked, asked
from benchmarks.speed.records import Records

UNITS = (10_000, 100_000, 2_000_000)
GROUPS = (1, 10, 100, 1_000, 10_000)
_FORMS = ("f1", "f3", "f5")


def of_units(rows: int, kinds: Sequence[str]) -> Iterator[tuple[str, Records, tuple[Asked, ...]]]:
    """Yield records with few and many units of each kind, and what they are asked."""
    forms = tuple(question for question in asked() if question.name in _FORMS)
    for units in UNITS:
        for kind in kinds:
            if units <= rows:
                yield f"{units:,} units, {kind} identifiers", Records(rows, units, kind), forms


def of_groups(rows: int) -> Iterator[tuple[str, Records, tuple[Asked, ...]]]:
    """Yield the records with columns of many groups, and what they are asked."""
    yield "by the number of groups", Records(rows, groups=GROUPS), tuple(map(_grouped, GROUPS))


def _grouped(number: int) -> Asked:
    sql = f"SELECT cell_{number}, count(*), sum(fare) FROM taxi GROUP BY cell_{number}"  # noqa: S608 # our own names
    return Asked(f"COUNT, SUM by a key of {number:,} values", "", "passenger", sql)
