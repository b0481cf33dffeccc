"""What docs/how-to/add-a-function.md shows, added while a test runs: statements have the new function, and it never fails."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import duckdb
import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy, SqlType
from dpsql.rewrite.functions import arithmetic, table
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.ir.expr import Apply
from dpsql.rewrite.translate.values import translator
from tests.docs.pages import blocks
from tests.support.dialects import DUCKDB
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

NASTY = ("0", "-1", "1", "2", "10", "1e-300", "1e300", "0.9999999999999999", "1.0000000000000002", "NULL")


def _shown(kind: str, module: ModuleType, **beside: object) -> dict[str, Any]:
    """Return what a block defines, as if it stood in the module."""
    (block,) = blocks("python", kind)
    names = {**vars(module), **beside}
    exec(compile(block.text, str(block), "exec"), names)  # noqa: S102  (our own pages)
    return names


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Function:
    """Do what the page says."""
    function: Function = _shown("function", arithmetic)["LOG_BASE"]
    monkeypatch.setattr(table, "TABLE", {**table.TABLE, function.op: function})
    handler: Callable[..., object] = _shown("call", translator, TABLE=table.TABLE)["_log"]
    monkeypatch.setattr(translator, "_CALLS", {**translator._CALLS, "log": handler})
    return function


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("arguments", ["2, fare::numeric + 11", "1.00000000000000001, seats + 1", "fare"])
def test_the_function_is_answered(arguments: str, policy: Policy, world: World) -> None:
    """With one argument as before, with two as the page says."""
    (measured,) = measurements(f"SELECT count(log({arguments})) FROM rides", policy, world, Memory(policy))
    assert measured


def test_without_it_the_function_is_refused(policy: Policy, world: World) -> None:
    """Else the page would tell what there is already."""
    with pytest.raises(DpsqlError):
        measurements("SELECT count(log(2.0, seats + 1)) FROM rides", policy, world, Memory(policy))


def test_it_is_what_is_meant_and_never_fails(added: Function) -> None:
    """For numbers at which logarithms overflow, or are not defined."""
    emitted = added.emit(["b", "a"], Apply(added.op, (), SqlType.DOUBLE), DUCKDB)
    values = ", ".join(f"({number}::DOUBLE)" for number in NASTY)
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"SELECT b, a, {emitted} FROM (VALUES {values}) AS x(b), (VALUES {values}) AS y(a)"
        ).fetchall()
    for base, number, expected in rows:
        defined = base is not None and number is not None and base > 0 and base != 1 and number > 0
        assert expected == (pytest.approx(math.log(number, base)) if defined else None)
