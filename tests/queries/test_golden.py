"""Every golden statement: its verdict, its cost, what it means, and what the engines are asked."""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

import psycopg
import pytest
from sqlglot import exp

from dpsql.errors import DpsqlError
from dpsql.privacy.measurement.plan import Measurement
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.syntax.named.aggregate_names import top_aggregates
from dpsql.rewrite.syntax.read.dialect import parse_query
from tests.support.dialects import DIALECTS, NAMES
from tests.support.fix_dirty import NewUser
from tests.support.fix_world import USERS, Answer, Client, World
from tests.support.golden import NEARLY, Golden, both_ways, engine_statements, expected_statements, load
from tests.support.reference import Reference
from tests.support.samples import in_one_way, spread

GOLDEN = load()
ANSWERED = [golden for golden in GOLDEN if golden.verdict == "answered"]
COMPARED = [golden for golden in ANSWERED if golden.reference is not None]
Rows = Sequence[Sequence[object]]


def _on_one_engine(golden: Sequence[Golden]) -> pytest.MarkDecorator:
    """Try each on one of the engines, and with `make test-all` on both."""
    return pytest.mark.parametrize(
        ("golden", "dialect"), in_one_way({each.name: (each,) for each in golden}, DIALECTS, NAMES)
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking a statement once."""

    verdict: str
    sqlstate: str = ""
    words: str = ""
    charged: int = 0
    answer: Answer | None = None
    parts: Sequence[Measurement] = ()
    """What is measured, in both ways where there are two."""


Asked = Callable[[Golden, Dialect], Outcome]


@pytest.fixture(scope="module")
def asked(user: NewUser) -> Asked:
    """Give a function that asks an engine a statement, once for all tests."""

    @cache
    def asked(golden: Golden, dialect: Dialect) -> Outcome:
        client = user(golden.user, dialect)
        client.ledger.advance("each statement is the first")
        before = client.charges
        outcome = _outcome(golden, client)
        return replace(outcome, charged=client.charges - before)

    return asked


def _outcome(golden: Golden, client: Client) -> Outcome:
    question = client.gateway.examine(golden.sql, client.asker)
    if question is None:
        return Outcome("passed")
    try:
        answer = client.ask(golden.sql)
    except DpsqlError as refusal:
        return Outcome("refused", refusal.sqlstate, refusal.message)
    except psycopg.Error as error:
        return Outcome("postgres", error.sqlstate or "", str(error))
    verdict = "answered" if answer.rows or golden.verdict == "answered" else "empty"
    return Outcome(verdict, answer=answer, parts=_measured(golden, client) if golden.cost else ())


def _measured(golden: Golden, client: Client) -> Sequence[Measurement]:
    """Return what is measured by the plan with which a statement was just answered, which the gateway remembers."""
    question = client.gateway.examine(golden.sql, client.asker)
    assert question is not None
    request = client.request(question)
    analyzed = client.gateway.analyzed(request)
    assert analyzed is not None
    plan = client.gateway.priced(analyzed, request).plan
    return both_ways(scope.plan for stage in plan.stages() for scope in stage.scopes)


@_on_one_engine(GOLDEN)
def test_verdict_and_cost(golden: Golden, dialect: Dialect, asked: Asked) -> None:
    """A statement is answered, refused or passed on as its file says, and charges as many measurements."""
    outcome = asked(golden, dialect)
    expected = (golden.verdict, golden.sqlstate, golden.cost)
    assert (outcome.verdict, outcome.sqlstate, outcome.charged) == expected, outcome.words
    assert golden.words in outcome.words


@_on_one_engine(COMPARED)
def test_meaning(golden: Golden, dialect: Dialect, asked: Asked, reference: Reference) -> None:
    """Without noise, the answer of either engine is PostgreSQL's on the clamped tables: names, types and rows."""
    kind = reference.policy.roles[USERS[golden.user]].protects
    outcome, expected = asked(golden, dialect), reference.answer(golden.reference or golden.sql, kind)
    answer = outcome.answer
    assert answer is not None, outcome.words
    assert (answer.names, answer.types) == (expected.names, expected.types)
    extra = compare(answer, expected, golden)
    assert len(extra) == golden.empty
    for row in extra:
        assert all(_same(row[i] or 0, 0, golden.within) for i in _aggregates(golden.sql))


def compare(answer: Answer, expected: Answer, golden: Golden) -> Rows:
    """Check that the answer has all expected rows, in order where there is one; return its other rows."""
    if _ordered(golden.sql) and len(answer.rows) == len(expected.rows):
        for actual, other in zip(answer.rows, expected.rows, strict=True):
            assert _alike(actual, other, golden.within), (actual, other)
        return []
    left: dict[Sequence[object], list[Sequence[object]]] = {}
    for row in answer.rows:
        left.setdefault(_texts(row, golden.within), []).append(row)
    for row in expected.rows:
        near = left.get(_texts(row, golden.within), [])
        partner = next((candidate for candidate in near if _alike(candidate, row, golden.within)), None)
        assert partner is not None, (row, near[:20])
        near.remove(partner)
    return [row for near in left.values() for row in near]


def _texts(row: Sequence[object], within: float) -> Sequence[object]:
    """Return what must be equal in rows that are alike."""
    kinds = (str, dt.date) if within <= NEARLY else (str,)
    return tuple(cell if isinstance(cell, kinds) else None for cell in row)


def _alike(row: Sequence[object], other: Sequence[object], within: float) -> bool:
    return all(_same(a, b, within) for a, b in zip(row, other, strict=True))


def _same(a: object, b: object, within: float) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and _alike(a, b, within)
    if isinstance(a, dt.datetime) and isinstance(b, dt.datetime) and within > NEARLY:
        return abs((a - b).total_seconds()) <= within * 86_400 * 30
    if isinstance(a, dt.timedelta) and isinstance(b, dt.timedelta):
        return math.isclose(a.total_seconds(), b.total_seconds(), rel_tol=within, abs_tol=max(within * 86_400, 1e-6))
    if isinstance(a, (float, Decimal)) and isinstance(b, (float, Decimal, int)):
        return math.isclose(float(a), float(b), rel_tol=within, abs_tol=within)
    return a == b


@cache
def _tree(sql: str) -> exp.Query | None:
    return parse_query(sql.rstrip().removesuffix(";"))


def _ordered(sql: str) -> bool:
    tree = _tree(sql)
    return tree is not None and tree.args.get("order") is not None


_LONGEST = 20_000
"""Characters of a statement for an engine: what is read several times is said once."""


def _aggregates(sql: str) -> list[int]:
    """Return which columns of the answer are aggregates."""
    tree = _tree(sql)
    assert isinstance(tree, exp.Select)
    return [i for i, node in enumerate(tree.expressions) if any(True for _ in top_aggregates(node))]


@pytest.mark.parametrize("dialect", DIALECTS, ids=NAMES)
def test_what_engines_are_asked(dialect: Dialect, world: World, asked: Asked) -> None:
    """The engines' statements are those of the files; `python -m tests.support.golden --update` writes them anew.

    What is measured does not depend on the engine: it is taken from where `make test` asks the statement anyway.
    """
    expected, planned = expected_statements(dialect), [golden for golden in ANSWERED if golden.cost and golden.still]
    assert {golden.name for golden in planned} == expected.keys()
    assert [name for name, texts in expected.items() if max(map(len, texts), default=0) > _LONGEST] == []
    for statement in planned:
        outcome = asked(statement, DIALECTS[spread(statement.name, len(DIALECTS))])
        assert engine_statements(outcome.parts, world, dialect) == expected[statement.name], statement.name


def test_every_statement_has_a_title_of_its_own() -> None:
    """Names identify statements."""
    names = [golden.name for golden in GOLDEN]
    assert sorted(set(names)) == sorted(names)
