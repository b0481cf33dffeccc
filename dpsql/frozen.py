"""Frozen values: made in half the time, since planning makes more than a hundred for each statement, and hashed once.

A frozen dataclass sets every field through `object.__setattr__`, which looks for the field's slot each time. The slot's own
descriptor is looked for once.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import update_wrapper
from typing import TypeVar, cast

_T = TypeVar("_T")


def quickly_made(kind: type[_T]) -> type[_T]:
    """Let the values of a frozen dataclass with slots be made by a shorter way; they are what they were.

    Raises:
        TypeError: a field has a default that is made anew for each value.
    """
    every = fields(kind)  # type: ignore[arg-type]  # it is a dataclass
    given = [field for field in every if field.init]
    if any(field.default_factory is not MISSING for field in every):
        raise TypeError(f"{kind.__name__} has a default_factory")
    # `dataclasses` sets each field of a frozen value by object.__setattr__, which looks the name up each time. The
    # slot's own descriptor is there already, and is twice as fast.
    scope: dict[str, object] = {f"_set_{field.name}": getattr(kind, field.name).__set__ for field in given}
    scope |= {f"_default_{field.name}": field.default for field in given}
    body = [f"_set_{field.name}(self, {field.name})" for field in given]
    body += ["self.__post_init__()"] if hasattr(kind, "__post_init__") else []
    text = f"def __init__({', '.join(['self', *map(_parameter, given)])}): {'; '.join(body)}"
    exec(text, scope)  # noqa: S102  # of the names of fields alone, as `dataclasses` itself does
    made = update_wrapper(cast("Callable[..., None]", scope["__init__"]), kind.__init__)
    kind.__init__ = made  # type: ignore[method-assign]  # the very same, by a shorter way
    return kind


def _parameter(field: "Field[object]") -> str:
    return field.name if field.default is MISSING else f"{field.name}=_default_{field.name}"


# Frozen values whose hash is computed once: an expression's is asked for again with every expression around it.
#
# And such as are shown once, too: what a measurement is told by is the text of all that is measured.

_H = TypeVar("_H", bound="HashedOnce")


class HashedOnce:
    """The place where a value remembers its hash; neither compared nor copied nor shown."""

    __slots__ = ("_hash",)
    _hash: int


def hashed_once(kind: type[_H]) -> type[_H]:
    """Let the values of a frozen dataclass remember their hash."""
    # Without this, the hash of a tree of n expressions costs n each time, and planning puts each of them into a
    # dictionary: n².
    computed: Callable[[_H], int] = kind.__hash__

    def remembered(self: _H) -> int:
        try:
            return self._hash
        except AttributeError:
            hashed = computed(self)
            object.__setattr__(self, "_hash", hashed)
            return hashed

    kind.__hash__ = remembered  # type: ignore[method-assign, assignment]  # the very hash, remembered
    return kind


class ShownOnce(HashedOnce):
    """The place where a value remembers its text, too; neither compared nor copied."""

    __slots__ = ("_shown",)
    _shown: str


_S = TypeVar("_S", bound="ShownOnce")


def shown_once(kind: type[_S]) -> type[_S]:
    """Let the values of a frozen dataclass remember the text that shows them."""
    computed: Callable[[_S], str] = kind.__repr__

    def remembered(self: _S) -> str:
        try:
            return self._shown
        except AttributeError:
            shown = computed(self)
            object.__setattr__(self, "_shown", shown)
            return shown

    kind.__repr__ = remembered  # type: ignore[method-assign, assignment]  # the very text, remembered
    return kind
