"""Statements that nobody thought of over several protected tables: refused in time, or they mean what they should."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from dpsql.errors import EngineFailed
from tests.support import mutants, shop_mutants
from tests.support.fix_shop import Shops
from tests.support.mutants import Break
from tests.support.shop_checks import Bench, benched, check
from tests.support.shop_generator import FEATURES, written
from tests.support.shop_worlds import NEIGHBOURS, NOBODYS, SHUFFLED, VERSIONS, WHOLE

FEW, MANY = 300, 10_000


@pytest.fixture(scope="module")
def bench(shops: Shops) -> Iterator[Bench]:
    """Both engines with the worlds."""
    with benched(shops) as made:
        yield made


def checked(numbers: Sequence[int], bench: Bench, *, all_versions: bool) -> tuple[Counter[str], Counter[str]]:
    """Check the statements of some numbers; return how many were answered that have what, and why others were refused.

    Unless each is asked of all versions of the world, it is of those with and without one unit, now and then of another.
    """
    answered, refused = Counter[str](), Counter[str]()
    for number in numbers:
        versions = (WHOLE, NEIGHBOURS[number % 3], *([(SHUFFLED, NOBODYS)[number // 4 % 2]] if number % 4 == 0 else []))
        try:
            statement, because = check(number, bench, VERSIONS if all_versions else versions)
        except Exception as error:
            error.add_note(f"statement {number}: {written(number).sql}")
            raise
        refused.update([because] if because else [])
        answered.update(() if because else ("", *statement.has))
    return answered, refused


def test_any_statement_over_the_shop(bench: Bench) -> None:
    """Of three hundred; more than half are answered, whatever a statement may have several times among them."""
    answered, refused = checked(range(FEW), bench, all_versions=False)
    assert answered[""] >= 0.6 * FEW, refused
    assert [feature for feature in FEATURES if answered[feature] < 3] == []


MET = (3936069746043, 16698693806195)
"""Statements that others met a mistake of an engine's by: DuckDB failed in a join of a LEFT JOIN, and closed its database."""


def test_what_was_met_before_is_answered(bench: Bench) -> None:
    """Of all versions of the world."""
    answered, _ = checked(MET, bench, all_versions=True)
    assert answered[""] == len(MET)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_over_the_shop(part: int, bench: Bench) -> None:
    """The same for ten thousand, others each time."""
    start = random.randrange(FEW, 2**40) * 20 + part  # noqa: S311  (which is told where one fails)
    checked(range(start, start + MANY // 20), bench, all_versions=True)


WRONG: Sequence[tuple[Break, str]] = (
    (mutants.half, "DISTINCT"),
    (mutants.no_cap, "join of protected tables"),
    (mutants.no_clamp, "join of protected tables"),
    (mutants.null_as_zero, "FILTER"),
    (shop_mutants.weighed_before_the_join, "join of protected tables"),
    (shop_mutants.different_units, "join of protected tables"),
    (shop_mutants.rows_that_find_none_are_lost, "LEFT JOIN of protected tables"),
    (shop_mutants.there_are_none, "NOT EXISTS"),
    (shop_mutants.there_are_none, "NOT IN units"),
    (shop_mutants.rows_without_a_value, "EXISTS"),
    (shop_mutants.one_part_of_two, "UNION ALL"),
    (shop_mutants.units_twice, "UNION ALL"),
    (shop_mutants.places_among_all, "window"),
    (shop_mutants.places_among_all, "aggregate of a window"),
    (shop_mutants.places_among_all, "first rows of units"),
    (shop_mutants.weighed_before_the_join, "CROSS JOIN of public rows"),
    (shop_mutants.neighbours_are_one, "LATERAL"),
    (shop_mutants.no_answer, "lists of keys"),
    (shop_mutants.ties_as_they_come, "ties"),
    (shop_mutants.neighbours_are_one, "rows of single units"),
    (shop_mutants.no_answer, "above an answer"),
    (shop_mutants.no_answer, "top groups"),
)
"""A mistake, and what a statement has to have to show it."""
TRIES = 40


@pytest.mark.parametrize(("mistake", "feature"), WRONG, ids=lambda case: getattr(case, "__name__", case))
def test_what_is_wrong_is_noticed(mistake: Break, feature: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some statement that has something means another thing, or moves further, where a mistake was put in."""
    mistake(monkeypatch)
    numbers = (number for number in itertools.count() if feature in written(number).has)
    assert any(_wrong(number, bench) for number in itertools.islice(numbers, TRIES))


def _wrong(number: int, bench: Bench) -> bool:
    """Return whether a statement shows a mistake: one neighbour does, and DuckDB reads a statement of all for longest."""
    try:
        check(number, bench, (WHOLE, NEIGHBOURS[number % 3]))
    except (AssertionError, EngineFailed):
        return True
    return False
