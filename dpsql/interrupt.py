"""Points at which long work stops when it is cancelled: before each draw of random bytes, at each row, and in waits."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from dpsql.errors import QueryCanceled
from dpsql.question import Cancellation

_T = TypeVar("_T")
Bytes = Callable[[int], bytes]
"""A source of so many random bytes."""


def stop_if_cancelled(cancellation: Cancellation | None) -> None:
    """Raise an error if somebody has cancelled.

    Raises:
        QueryCanceled: somebody has.
    """
    if cancellation is not None and cancellation.requested:
        raise QueryCanceled


def interruptible(entropy: Bytes, cancellation: Cancellation) -> Bytes:
    """Return a source of the same bytes that ends the work of its reader when somebody cancels.

    Every number of every noise is made of drawn bytes, so that no sampler needs to know.
    """

    def drawn(count: int) -> bytes:
        stop_if_cancelled(cancellation)
        return entropy(count)

    return drawn


def until_cancelled(items: Iterable[_T], cancellation: Cancellation) -> Iterator[_T]:
    """Yield the same items, until somebody cancels.

    Raises:
        QueryCanceled: somebody has.
    """
    for item in items:
        stop_if_cancelled(cancellation)
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
    stop_if_cancelled(cancellation)


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
    stop_if_cancelled(cancellation)
