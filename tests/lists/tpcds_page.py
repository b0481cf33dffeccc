"""The verdicts of TPC-DS's statements, as the page has them: `python -m tests.lists.tpcds_page` writes them anew."""

import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dpsql.errors import DpsqlError
from tests.lists.conftest import retail_lists
from tests.lists.statements import PAGE, load
from tests.support import clusters, temporary
from tests.support.fix_world import Client

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


def verdict_of(sql: str, client: Client) -> str:
    """Return what becomes of a statement before the engine is asked."""
    if client.gateway.examine(sql, client.asker) is None:
        return "public"
    try:
        client.ask(f"EXPLAIN {sql}")
    except DpsqlError as refusal:
        return str(refusal.because)
    return "answered"


def could_be_answered(verdicts: Mapping[int, str]) -> int:
    """Return how many are refused that ask for aggregates of what is each customer's own."""
    refused = (number for number, said in verdicts.items() if said not in {"answered", "public"})
    return sum(number not in PERSONS | GIFTS for number in refused)


def table(verdicts: Mapping[int, str]) -> str:
    """Return the rows of the table, those of one verdict and one reason together."""
    numbers_of: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, said in sorted(verdicts.items()):
        numbers_of[said, _OF_ONE.get(number, _WHY[said])].append(number)
    order = sorted(numbers_of, key=lambda key: (key[0] not in {"answered", "public"}, key[0], numbers_of[key]))
    rows = (
        f"| {_ranges(numbers_of[said, why])} | {said if said in {'answered', 'public'} else f'refused `{said}`'} | {why} |\n"
        for said, why in order
    )
    return "| statement | verdict | why |\n|---|---|---|\n" + "".join(rows)


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as a list with ranges, such as `1, 4–6`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(_run(run) for run in runs)


def _run(run: Sequence[int]) -> str:
    return f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run))


def page(verdicts: Mapping[int, str], text: str) -> str:
    """Return the page with the table, and with the line that counts it."""
    said = list(verdicts.values())
    counts = (len(said), said.count("answered"), said.count("public"), could_be_answered(verdicts))
    line = f"| TPC-DS | {' | '.join(map(str, counts))} |"
    text = re.sub(r"^\| TPC-DS \|.*$", line, text, flags=re.MULTILINE)
    return re.sub(
        r"(<!-- table tpcds -->\n\n).*?(\n<!-- end -->)", lambda m: m[1] + table(verdicts) + m[2], text, flags=re.DOTALL
    )


def _asked() -> Iterable[tuple[int, str]]:
    with tempfile.TemporaryDirectory() as directory:
        for lists in retail_lists(Path(directory)):
            for number, sql in TPCDS.items():
                yield number, verdict_of(sql, lists.clients["duckdb", "tpcds"])


if __name__ == "__main__":
    os.umask(0o022)
    temporary.begin()
    clusters.begin()
    PAGE.write_text(page(dict(_asked()), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
