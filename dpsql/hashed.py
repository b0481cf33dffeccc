"""Frozen values whose hash is computed once: an expression's is asked for again with every expression around it.

And such as are shown once, too: what a measurement is told by is the text of all that is measured.
"""

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T", bound="HashedOnce")


class HashedOnce:
    """The place where a value remembers its hash; neither compared nor copied nor shown."""

    __slots__ = ("_hash",)
    _hash: int


def hashed_once(kind: type[_T]) -> type[_T]:
    """Let the values of a frozen dataclass remember their hash."""
    computed: Callable[[_T], int] = kind.__hash__

    def remembered(self: _T) -> int:
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
