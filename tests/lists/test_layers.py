"""MetricFlow and Cube: each statement has the verdict of the page, and what is answered is what PostgreSQL says."""

import datetime as dt
import math
import os
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from tests.docs.pages import text
from tests.lists.compared import agree, alike
from tests.lists.conftest import Lists
from tests.lists.layers import HERE, LAYERS
from tests.lists.statements import PAGE, counted, load, verdicts
from tests.lists.test_benchmarks import HIDDEN
from tests.lists.verdict_page import verdict_of
from tests.support.fix_engines import ENGINES
from tests.support.fix_world import fetched
from tests.support.samples import in_one_way

STATEMENTS = {name: load(name) for name in LAYERS}
VERDICTS = {name: verdicts(name) for name in LAYERS}
EVERY = [(name, number) for name, statements in STATEMENTS.items() for number in statements]
ANSWERED = [(name, number) for name, number in EVERY if VERDICTS[name].get(number) == "answered"]
SINGLE = {("metricflow", 37)}
"""The groups of these are single rows: none is shown."""
ROUGH = {
    ("metricflow", 12),
    ("metricflow", 13),
    ("metricflow", 14),
    ("cube", 5),
    ("cube", 10),
    ("cube", 11),
    ("cube", 75),
}
"""Points among rows, which are one of 4,096 places between the bounds."""
FEW = {("metricflow", 32), ("cube", 48), ("cube", 61), ("cube", 64), ("cube", 66)}
"""Sums and means of so few riders, each once, that the least noise there is shows."""
TIES = {("metricflow", 76), ("metricflow", 79)}
"""The channel of the last visit's day, of which there may be several: PostgreSQL says another one each time."""
_LIMITS = re.compile(r"\s+LIMIT \d+(?: OFFSET \d+)?$")
"""What may leave other rows of those that tie."""


def _roughly(a: object, b: object) -> bool:
    if isinstance(a, dt.datetime) and isinstance(b, dt.datetime):
        return abs(a - b) < dt.timedelta(hours=3)
    if isinstance(a, (float, Decimal)) and isinstance(b, (float, Decimal)):
        return math.isclose(a, b, rel_tol=0.01)
    return alike(a, b)


def _closely(a: object, b: object) -> bool:
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return math.isclose(a, b, rel_tol=1e-3)
    return alike(a, b)


def _same(name: str, number: int) -> Callable[[object, object], bool]:
    if (name, number) in ROUGH:
        return _roughly
    return _closely if (name, number) in FEW else alike


@pytest.mark.parametrize("name", LAYERS)
def test_the_page_has_all_statements(name: str) -> None:
    """Those of the file, which are numbered without a gap, and the page counts them; `layers` writes it."""
    page, whole = LAYERS[name].page, text(PAGE)
    assert list(STATEMENTS[name]) == sorted(VERDICTS[name]) == list(range(1, len(STATEMENTS[name]) + 1))
    assert counted(page.title) == page.counts(VERDICTS[name])[:3]
    assert page.written(VERDICTS[name], whole) == whole


@pytest.mark.parametrize(("name", "number"), EVERY)
def test_verdicts_are_those_of_the_page(name: str, number: int, ridden: Lists) -> None:
    """Each is answered, passed on, or refused by the rule that the page names."""
    assert verdict_of(STATEMENTS[name][number], ridden.clients["duckdb", "layers"]) == VERDICTS[name][number]


@pytest.mark.parametrize(
    ("name", "number", "engine"),
    in_one_way({f"{name}-{number}": (name, number) for name, number in ANSWERED}, ENGINES, ENGINES, 2),
)
def test_without_noise_it_is_what_postgresql_says(name: str, number: int, engine: str, ridden: Lists) -> None:
    """What is answered has, at a huge ε, the columns and the rows that PostgreSQL has."""
    client, sql = ridden.clients[engine, "layers"], STATEMENTS[name][number]
    client.ledger.advance(f"{name} {number} {engine}")
    assert client.ask(sql, HIDDEN).names
    whole = _LIMITS.sub("", sql)
    answer, expected = client.ask(whole, HIDDEN), fetched(ridden.plain._owner, whole)
    assert (answer.names, answer.types) == (expected.names, expected.types)
    assert expected.rows
    if (name, number) in TIES:
        assert {row[0] for row in answer.rows} == {row[0] for row in expected.rows}
        return
    agree(answer.rows, expected.rows if (name, number) not in SINGLE else [], _same(name, number))


@pytest.mark.tools
@pytest.mark.parametrize("name", LAYERS)
def test_statements_are_those_that_the_compiler_writes(name: str) -> None:
    """`python -m tests.lists.layers` writes them anew."""
    written = LAYERS[name].written(Path(os.environ["TOOLS"]))
    assert written == (HERE / f"{name}.sql").read_text(encoding="utf-8")
