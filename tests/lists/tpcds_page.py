"""The verdicts of TPC-DS's statements, as the page has them: `python -m tests.lists.tpcds_page` writes them anew."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.lists.conftest import retail_lists
from tests.lists.statements import PAGE, load
from tests.lists.verdict_page import Page, verdict_of
from tests.support import clusters, temporary

TPCDS = load("tpcds")
PERSONS = frozenset({1, 4, 11, 23, 24, 30, 34, 46, 64, 68, 73, 74, 78, 79, 81, 84, 93})
"""Each row of what these ask for is about one customer, or one ticket of one."""
GIFTS = frozenset({10, 35, 69})
"""These also ask who got what somebody else has paid: those rows are somebody else's."""
_WHY = {
    "answered": "sums and counts by public keys, and what is computed of them",
    "public": "they read no customers, sales or returns: PostgreSQL answers, for nothing",
    "rows-of-protected-table": "each row of the answer is one customer, or one ticket",
    "join-on-unit": "other lines of the same order, whose customers nothing keeps from being several",
    "key-is-unit": "each row of the answer is one customer",
    "key-without-domain": "amounts in cents, each once, are a list of which noise says nothing",
    "rows-in-subquery": "who got what somebody else has paid; an EXISTS beside an OR",
    "answer-among-rows": "names of places that enough customers share decide which stores count",
    "column-without-bounds": "the customers who paid more than half of what the first has paid, by their names",
    "count-of-selected-groups": "names and days that were in all three ways: those that are shown would be counted",
    "list-of-declared-values": "brands that were sold in all three ways: each may have been",
}
"""Why, by verdict or by the rule of a refusal."""
_OF_ONE = {
    **dict.fromkeys((4, 11, 74), "the groups are single customers: none is shown"),
    **dict.fromkeys((2, 59), "some quotients are of days without sales: noise by noise"),
    24: "names of customers, of which what few share is not shown",
    64: "addresses of customers, of which what few share is not shown",
    91: "who returned it is said to be a customer, and need not be the one whose order it was",
    18: "a public table stands before the one that it is joined by",
    69: "who got what somebody else has paid",
    23: "names of customers, compared with the one who paid most",
}


PAGE_OF_TPCDS = Page("tpcds", "TPC-DS", _WHY, _OF_ONE, PERSONS | GIFTS)


def _asked() -> Iterable[tuple[int, str]]:
    with tempfile.TemporaryDirectory() as directory:
        for lists in retail_lists(Path(directory)):
            for number, sql in TPCDS.items():
                yield number, verdict_of(sql, lists.clients["duckdb", "tpcds"])


if __name__ == "__main__":
    os.umask(0o022)
    temporary.begin()
    clusters.begin()
    said = PAGE_OF_TPCDS.written(dict(_asked()), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(said, encoding="utf-8")
