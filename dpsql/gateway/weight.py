"""How much memory a value takes, roughly: of long sequences a few members are weighed for all."""

import enum
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from itertools import chain, islice
from operator import attrgetter
from types import FunctionType, MethodType, ModuleType
from typing import Any

from dpsql.policy.model import Column, Policy, Role, Table

_FEW = 16
"""Collections with more members are weighed by a sample of them."""
_SHARED = (type, enum.Enum, FunctionType, MethodType, ModuleType, Policy, Role, Table, Column, type(None))
"""Kinds of values that exist anyway, and weigh nothing."""
_PLAIN = frozenset({str, bytes, int, float, bool})
"""Kinds that refer to nothing."""
_FRACTION = sys.getsizeof(Fraction(0)) + 2 * sys.getsizeof(2**60)
"""Bytes of a fraction; most have small numbers."""
_Parts = Callable[[Any, int], Iterable[object]]
"""Returns the values that a value refers to: all that its fields have, and of a collection's members one in so many."""
_KNOWN: dict[type[object], _Parts | None] = {}
"""How each kind of value is taken apart, None for those that weigh nothing: every new plan waits for its weight."""
_LONG = set[type[object]]()
"""Those of them that may have many members."""


def weight(value: object) -> int:
    """Return the bytes of a value and of all that it refers to; never much less than it takes."""
    return _weight([value], set())


def _weight(pending: list[object], seen: set[int]) -> int:
    """Return the bytes of values and of all that they refer to, but for those seen before."""
    total = 0
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        kind = type(one)
        taken_apart = _KNOWN[kind] if kind in _KNOWN else _learnt(kind)
        if taken_apart is None:
            continue
        seen.add(id(one))
        if kind is Fraction:
            total += _FRACTION
            continue
        total += sys.getsizeof(one)
        if kind in _PLAIN:
            continue
        step = len(one) // _FEW if kind in _LONG else 0  # type: ignore[arg-type]  # long are only collections
        if step > 1:
            total += step * _weight(list(taken_apart(one, step)), seen)
        else:
            pending += taken_apart(one, 1)
    return total


def _learnt(kind: type[object]) -> _Parts | None:
    """Return how values of a kind are taken apart, and remember it."""
    found = _KNOWN[kind] = None if issubclass(kind, _SHARED) else _taken_apart(kind)
    return found


def _taken_apart(kind: type[object]) -> _Parts:
    if issubclass(kind, tuple(_PLAIN)):
        return lambda _, __: ()
    if issubclass(kind, Collection):
        _LONG.add(kind)
        return _of_mapping if issubclass(kind, Mapping) else lambda one, step: islice(one, 0, None, step)
    names = _names(kind)
    if is_dataclass(kind) and len(names) > 1:
        every = attrgetter(*names)
        return lambda one, _: every(one)
    return lambda one, _: [getattr(one, name, None) for name in names]


def _of_mapping(value: Mapping[object, object], step: int) -> Iterable[object]:
    return chain.from_iterable(islice(value.items(), 0, None, step))


def _names(kind: type[object]) -> tuple[str, ...]:
    """Return the attributes in which instances refer to others."""
    slots = tuple(name for each in kind.__mro__ for name in getattr(each, "__slots__", ()))
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else slots or ("__dict__",)
