"""What is nested too deeply for us is refused, not failed at."""

from collections.abc import Iterator
from contextlib import contextmanager

from dpsql.errors import Unsupported


@contextmanager
def nesting_refused() -> Iterator[None]:
    """Refuse a statement on which we run out of stack.

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
