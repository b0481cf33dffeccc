"""How much memory a value takes, roughly: of long sequences a few members are weighed for all."""

import enum
import gc
import sys
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import cast

from dpsql.policy.model import Column, Policy, Role, Table

_FEW = 16
"""Collections with twice as many members are weighed by a sample of them."""
_SHARED = (
    type, enum.Enum, BuiltinFunctionType, FunctionType, MethodType, ModuleType, Policy, Role, Table, Column, type(None),
)  # fmt: skip
"""Kinds of values that exist anyway, and weigh nothing."""
_LONG = frozenset({list, tuple, dict, set, frozenset})
_KNOWN = set[type[object]]()
"""The kinds that were met."""
_NOTHING = set[type[object]]()
"""Those of them that weigh nothing."""


def weight(value: object) -> int:
    """Return the bytes of a value with all that it refers to. The result may be too large, and is never much too small.

    Every new plan waits for this, so that the garbage collector's own functions take values apart, many at a time.
    """
    return _weight([value], set())


def _weight(level: Iterable[object], seen: set[int]) -> int:
    """Return the bytes of values with all that they refer to, without the values in `seen`."""
    total, pending = 0, list(level)
    while pending:
        _learn(set(map(type, pending)) - _KNOWN)
        fresh = {at: item for at, item in zip(map(id, pending), pending, strict=True) if type(item) not in _NOTHING}
        for at in fresh.keys() & seen:
            del fresh[at]
        seen.update(fresh)
        total += sum(map(sys.getsizeof, fresh.values()))
        collections = cast("list[Collection[object]]", [item for item in fresh.values() if type(item) in _LONG])
        long = [collection for collection in collections if len(collection) >= 2 * _FEW]
        for large in long:
            del fresh[id(large)]
            step = len(large) // _FEW
            total += step * _weight(_sample(large, step), seen)
        pending = gc.get_referents(*fresh.values())
    return total


def _learn(kinds: Collection[type[object]]) -> None:
    """Remember which kinds weigh nothing, before other threads take them for known."""
    _NOTHING.update(kind for kind in kinds if issubclass(kind, _SHARED))
    _KNOWN.update(kinds)


def _sample(long: Collection[object], step: int) -> Iterable[object]:
    if isinstance(long, Mapping):
        return chain.from_iterable(islice(long.items(), 0, None, step))
    return islice(long, 0, None, step)
