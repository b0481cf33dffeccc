"""Refuses statements that are nested more deeply than Python's stack allows."""

from collections.abc import Iterator
from contextlib import contextmanager

from dpsql.errors import Unsupported


@contextmanager
def nesting_refused() -> Iterator[None]:
    """Turn the end of the stack into a refusal.

    Raises:
        Unsupported: instead of RecursionError.
    """
    try:
        yield
    except RecursionError:
        raise Unsupported(
            "an expression over private rows is nested too deeply",
            because="nested-too-deeply",
            hint="Nest fewer operations in each other.",
        ) from None
