"""Garbage is collected seldom, and collected all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from dpsql.system_limits import collect_seldom


class _Ring:
    """Refers to itself, as the nodes of a tree refer to each other."""

    def __init__(self) -> None:
        self.ring = self


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Leave the collector of this process as it was."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_what_refers_to_itself_still_goes() -> None:
    """Of a hundred thousand rings that nobody needs a part is left at any time."""
    collect_seldom()
    left = weakref.WeakSet[_Ring]()
    for _ in range(100_000):
        left.add(_Ring())
    assert len(left) < 50_000


def test_what_there_is_is_left_alone() -> None:
    """A ring that was there before the collector was set is not looked at, and so is not collected."""
    ring = _Ring()
    seen = weakref.ref(ring)
    collect_seldom()
    del ring
    gc.collect()
    assert seen() is not None
