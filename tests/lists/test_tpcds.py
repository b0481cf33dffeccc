"""TPC-DS: each statement has the verdict of the page on SQL, and what is answered is what PostgreSQL says."""

import re

import pytest

from tests.docs.pages import text
from tests.lists.compared import agree, alike, nearly
from tests.lists.conftest import Lists
from tests.lists.statements import PAGE, counted, verdicts
from tests.lists.test_benchmarks import HIDDEN
from tests.lists.tpcds_page import GIFTS, PAGE_OF_TPCDS, PERSONS, TPCDS
from tests.lists.verdict_page import verdict_of
from tests.support.fix_engines import ENGINES
from tests.support.fix_world import fetched
from tests.support.samples import in_one_way

VERDICTS = verdicts("tpcds")
FOUND = frozenset({4, 11, 23, 24, 74})
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


def test_the_page_has_all_statements() -> None:
    """There are 99, on the page as in the file, and the page counts them."""
    assert list(TPCDS) == list(range(1, 100)) == sorted(VERDICTS)
    assert counted("TPC-DS") == PAGE_OF_TPCDS.counts(VERDICTS)[:3]


def test_the_page_is_as_it_is_written() -> None:
    """Nothing of the table is anybody's own words; `python -m tests.lists.tpcds_page` writes it."""
    whole = text(PAGE)
    assert PAGE_OF_TPCDS.written(VERDICTS, whole) == whole


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
    same, cells = nearly if number in NOISY else alike, slice(-1 if number in PLACES else None)
    agree([row[cells] for row in answer.rows], [row[cells] for row in expected.rows], same)


@pytest.mark.parametrize("number", sorted(FOUND))
def test_groups_that_few_share_are_not_told(number: int, sales: Lists) -> None:
    """There are fewer rows than PostgreSQL has."""
    answer, expected = sales.clients["duckdb", "tpcds"].ask(TPCDS[number]), fetched(sales.plain._owner, TPCDS[number])
    assert answer.names == expected.names
    assert all(row in expected.rows for row in answer.rows)
