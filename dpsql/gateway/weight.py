"""How much memory a value takes, roughly: of long sequences a few members are weighed for all."""

import enum
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from types import FunctionType, MethodType, ModuleType

from dpsql.policy.model import Policy, Role, Table

_FEW = 64
"""Collections with more members are weighed by a sample of them."""
_SHARED = (type, enum.Enum, FunctionType, MethodType, ModuleType, Policy, Role, Table)
"""Kinds of values that exist anyway, and weigh nothing."""
_KNOWN: dict[type[object], tuple[str, ...]] = {}


def weight(value: object) -> int:
    """Return the bytes of a value and of all that it refers to; never much less than it takes.

    What several values share is counted for each.
    """
    total, seen, pending = 0, set[int](), [(value, 1)]
    while pending:
        one, times = pending.pop()
        if id(one) in seen or one is None or isinstance(one, _SHARED):
            continue
        seen.add(id(one))
        total += times * sys.getsizeof(one)
        parts, more = _parts(one)
        pending += [(part, times * more) for part in parts]
    return total


def _parts(value: object) -> tuple[Iterable[object], int]:
    """Return the values that a value refers to, or a sample of them, and how many members each of the sample stands for."""
    if isinstance(value, (str, bytes, int, float)):
        return (), 1
    if isinstance(value, Mapping):
        step = max(len(value) // _FEW, 1)
        return [part for pair in islice(value.items(), 0, None, step) for part in pair], step
    if isinstance(value, Collection):
        step = max(len(value) // _FEW, 1)
        return islice(value, 0, None, step), step
    return (getattr(value, name, None) for name in _names(type(value))), 1


def _names(kind: type[object]) -> tuple[str, ...]:
    """Return the attributes in which instances refer to others."""
    known = _KNOWN.get(kind)
    if known is None:
        slots = tuple(name for each in kind.__mro__ for name in getattr(each, "__slots__", ()))
        known = _KNOWN[kind] = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else slots or ("__dict__",)
    return known
