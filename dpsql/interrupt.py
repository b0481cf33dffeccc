"""Where work that takes long stops when somebody cancels: before each draw of random bytes, each row, and while it waits."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from dpsql.errors import QueryCanceled
from dpsql.question import Cancellation

T = TypeVar("T")
Bytes = Callable[[int], bytes]
"""A source of so many random bytes."""


def check(cancellation: Cancellation | None) -> None:
    """Return if nobody has cancelled.

    Raises:
        QueryCanceled: somebody has.
    """
    if cancellation is not None and cancellation.requested:
        raise QueryCanceled


def interruptible(entropy: Bytes, cancellation: Cancellation) -> Bytes:
    """Return a source of the same bytes that ends the work of whoever draws from it when somebody cancels.

    Every number of every noise is made of drawn bytes, so that no sampler needs to know.
    """

    def drawn(count: int) -> bytes:
        check(cancellation)
        return entropy(count)

    return drawn


def checked(items: Iterable[T], cancellation: Cancellation) -> Iterator[T]:
    """Yield the same items, until somebody cancels.

    Raises:
        QueryCanceled: somebody has.
    """
    for item in items:
        check(cancellation)
        yield item


def pause(seconds: float, cancellation: Cancellation | None) -> None:
    """Wait, or until somebody cancels.

    Raises:
        QueryCanceled: somebody has.
    """
    if cancellation is None:
        threading.Event().wait(seconds)
    else:
        cancellation.wait(seconds)
    check(cancellation)


def wait_for(changed: threading.Condition, holds: Callable[[], bool], cancellation: Cancellation | None) -> None:
    """Wait, with the condition's lock held, until `holds`.

    Raises:
        QueryCanceled: somebody has cancelled.
    """

    def wake() -> None:
        with changed:
            changed.notify_all()

    if cancellation is not None:
        cancellation.on_cancel(wake)
    changed.wait_for(lambda: holds() or (cancellation is not None and cancellation.requested))
    check(cancellation)
