"""TPC-DS: each statement has the verdict of the page on SQL, and what is answered is what PostgreSQL says."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import pytest

from tests.docs.pages import text
from tests.lists.conftest import Lists
from tests.lists.statements import PAGE, counted, verdicts
from tests.lists.test_benchmarks import HIDDEN
from tests.lists.tpcds_page import GIFTS, PERSONS, TPCDS, page, verdict_of
from tests.support.fix_engines import ENGINES
from tests.support.fix_world import fetched
from tests.support.samples import in_one_way

VERDICTS = verdicts("tpcds")
FOUND = frozenset({4, 11, 24, 74})
"""Their groups are found out: PostgreSQL counts those that few share, too."""
NOISY = frozenset({2, 5, 17, 18, 25, 27, 40, 59, 67, 80})
"""Quotients of nothing by nothing, deviations of what is all the same, joins that repeat rows, sums of nothing: noise."""
PLACES = frozenset({67})
"""The last column of these is a place, of which noise makes one of two that are equal the first."""
NOTHING = frozenset({31, 49, 54, 58, 64, 72, 85})
"""No row of the made-up sales is what these ask for."""
LATER = frozenset({51})
"""Tried by `make test-all` only: it takes seconds."""
COMPARED = [number for number, said in VERDICTS.items() if said == "answered" and number not in FOUND]
_LIMITS = re.compile(r"\s+LIMIT \d+$|\s+WHERE rk <= 100$", re.MULTILINE)
"""What may leave other rows of those that tie."""
Cells = Sequence[object]


def test_the_page_has_all_statements() -> None:
    """There are 99, on the page as in the file, and the page counts them."""
    assert list(TPCDS) == list(range(1, 100)) == sorted(VERDICTS)
    said = list(VERDICTS.values())
    assert counted("TPC-DS") == (99, said.count("answered"), said.count("public"))


def test_the_page_is_as_it_is_written() -> None:
    """Nothing of the table is anybody's own words; `python -m tests.lists.tpcds_page` writes it."""
    whole = text(PAGE)
    assert page(VERDICTS, whole) == whole


def test_what_is_not_about_many_people_is_known() -> None:
    """Rows of the public tables alone are nobody's."""
    assert not {number for number, said in VERDICTS.items() if said == "public"} & (PERSONS | GIFTS)


@pytest.mark.parametrize("number", TPCDS)
def test_verdicts_are_those_of_the_page(number: int, sales: Lists) -> None:
    """Each is answered, passed on, or refused by the rule that the page names."""
    assert verdict_of(TPCDS[number], sales.clients["duckdb", "tpcds"]) == VERDICTS[number]


@pytest.mark.parametrize(
    ("number", "engine"),
    [
        *in_one_way({str(n): (n,) for n in COMPARED if n not in LATER}, ENGINES, ENGINES),
        *(pytest.param(n, engine, marks=pytest.mark.slow) for n in LATER for engine in ENGINES),
    ],
)
def test_without_noise_it_is_what_postgresql_says(number: int, engine: str, sales: Lists) -> None:
    """What is answered has, at a huge ε, the rows that PostgreSQL has."""
    client = sales.clients[engine, "tpcds"]
    client.ledger.advance(f"tpcds {number} {engine}")
    assert client.ask(TPCDS[number], HIDDEN).names
    whole = _LIMITS.sub("", TPCDS[number])
    answer, expected = client.ask(whole, HIDDEN), fetched(sales.plain._owner, whole)
    assert answer.names == expected.names
    assert bool(expected.rows) == (number not in NOTHING)
    same, cells = _nearly if number in NOISY else _same, slice(-1 if number in PLACES else None)
    left = _by_texts([row[cells] for row in expected.rows])
    for row in answer.rows:
        near = left[_texts(row)]
        partner = next((other for other in near if _alike(row[cells], other, same)), None)
        assert partner is not None, (row, near[:10])
        near.remove(partner)
    assert not any(left.values())


@pytest.mark.parametrize("number", sorted(FOUND))
def test_groups_that_few_share_are_not_told(number: int, sales: Lists) -> None:
    """There are fewer rows than PostgreSQL has."""
    answer, expected = sales.clients["duckdb", "tpcds"].ask(TPCDS[number]), fetched(sales.plain._owner, TPCDS[number])
    assert answer.names == expected.names
    assert all(row in expected.rows for row in answer.rows)


def _by_texts(rows: Sequence[Cells]) -> Mapping[Cells, list[Cells]]:
    """Return the rows by their texts, first those with the fewest cells that may be anything."""
    by_texts: defaultdict[Cells, list[Cells]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: sum(cell is None for cell in row)):
        by_texts[_texts(row)].append(row)
    return by_texts


def _texts(row: Cells) -> Cells:
    return tuple(cell for cell in row if isinstance(cell, str))


def _alike(row: Cells, other: Cells, same: Callable[[object, object], bool]) -> bool:
    return all(map(same, row, other))


def _same(a: object, b: object) -> bool:
    if b is None:  # of a sum of nothing
        return a is None or (isinstance(a, Decimal) and abs(a) < 1)
    if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
        return math.isclose(a, b, rel_tol=3e-5, abs_tol=1e-5)
    return a == b


def _nearly(a: object, b: object) -> bool:
    if isinstance(a, (float, Decimal)) and isinstance(b, Decimal):
        return math.isclose(a, b, rel_tol=3e-3, abs_tol=0.2)
    return b is None or _same(a, b)
