"""Every construct that the parser knows is handled by name or refused: none is accepted silently, none is a traceback."""

import inspect
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from sqlglot import exp

from dpsql.errors import DpsqlError, InternalError
from dpsql.policy.model import Policy
from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.syntax.named.aggregate_names import top_aggregates
from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.read.parse import parse
from dpsql.rewrite.translate.public.speller import SPOKEN
from dpsql.rewrite.translate.values.context import Translator
from dpsql.rewrite.translate.values.translator import _CALLS as CALLS
from dpsql.rewrite.translate.values.translator import HANDLERS
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.golden import load
from tests.support.memory import Memory
from tests.support.samples import spread

CLASSES = sorted(
    {cls for _, cls in inspect.getmembers(exp, inspect.isclass) if issubclass(cls, exp.Expression)},
    key=lambda cls: cls.__name__,
)
AGGREGATES = (exp.Filter, exp.WithinGroup, exp.Anonymous, exp.Dot)
FUNCTIONS = sorted(
    {name.lower() for cls in CLASSES if issubclass(cls, exp.Func) and cls is not exp.Func for name in cls.sql_names()}
)
OWN_SYNTAX = ("extract",)
"""What has a handler though it is not called as functions are."""
IN_JSON = {exp.JSONExtract, exp.JSONBExtract, exp.JSONExtractScalar, exp.JSONBExtractScalar}
"""What `tests/queries/test_json.py` compares with PostgreSQL, over a table that has such a column."""
ARGUMENTS = ("fare", "fare, tip", "note, 1", "'day', picked")


def made(cls: type[exp.Expr], part: exp.Expr) -> exp.Expr:
    """Return a node of a class with `part` in every place that may be filled."""
    lists = {"expressions", "ifs", "joins", "laterals"}
    return cls(**{key: [part.copy()] if key in lists else part.copy() for key in cls.arg_types})


def writable(node: exp.Expr) -> bool:
    """Return whether the parser's own writer knows the node; one that it could not have parsed it may not."""
    try:
        node.sql("postgres")
    except (TypeError, AttributeError, ValueError, KeyError):
        return False
    return True


def refused(translate: Callable[[], object]) -> bool:
    """Return whether something is refused; whatever else is raised is raised."""
    try:
        translate()
    except InternalError:
        raise
    except DpsqlError:
        return True
    return False


def test_a_class_that_is_not_named_is_refused(translator: Translator) -> None:
    """Of a column it is refused; without one it is a constant if it is spelled, and refused otherwise."""
    unnamed = [cls for cls in CLASSES if cls not in HANDLERS and writable(made(cls, exp.column("fare")))]
    assert len(unnamed) > 0.85 * len(CLASSES)
    for cls in unnamed:
        of_column, of_number = made(cls, exp.column("fare")), made(cls, exp.Literal.number(1))
        if of_column.find(exp.Column):
            assert refused(partial(translator.expression, of_column)), cls
        if not issubclass(cls, SPOKEN) and writable(of_number):
            assert refused(partial(translator.expression, of_number)), cls


def test_a_class_that_is_no_aggregate_is_none() -> None:
    """No class is taken for an aggregate but the few that carry one."""
    for cls in CLASSES:
        if cls not in AGGREGATES:
            assert not list(top_aggregates(made(cls, exp.column("fare")))), cls


@pytest.mark.parametrize("ways", [1, pytest.param(len(ARGUMENTS), marks=pytest.mark.slow)])
def test_a_function_that_is_not_named_is_refused(ways: int, policy: Policy, world: World) -> None:
    """Whatever function the parser knows: over private rows it is in our table, or refused without a traceback."""
    engine = Memory(policy)

    for name in FUNCTIONS:
        first = spread(name, len(ARGUMENTS))
        given = (*ARGUMENTS[first:], *ARGUMENTS[:first])[:ways]
        statements = [f"SELECT count({name}({arguments})) FROM rides" for arguments in given]
        attempts = (partial(measurements, sql, policy, world, engine) for sql in statements)
        assert name in {*CALLS, *OWN_SYNTAX} or all(map(refused, attempts)), name


def test_every_class_that_is_handled_stands_in_a_golden_statement(world: World) -> None:
    """So that what is named is also known to mean what PostgreSQL means."""
    assert set(HANDLERS) - IN_JSON <= set(_golden_classes(world))


def _golden_classes(world: World) -> Iterator[type[exp.Expr]]:
    for golden in load():
        if golden.verdict == "answered" and golden.cost:
            for read in (BoundReader(world.oracle()), parse_query):  # as views are read where there is no shadow yet
                statement = parse(golden.sql, read)  # None where only parts are understood
                queries = statement.queries if statement is not None else ()
                yield from (type(node) for query in queries for node in query.tree.walk())
