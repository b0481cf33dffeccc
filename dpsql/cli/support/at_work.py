"""Signs of life of work that takes long: on the standard error, from the second second on, never what was read."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import typer

_FIRST, _EVERY = 2.0, 10.0
"""Seconds until the first line, and between two lines."""


@contextmanager
def at_work(doing: str, first: float = _FIRST) -> Iterator[None]:
    """Tell what is being done, and again and again for how long, until the block ends."""
    over, began = threading.Event(), monotonic()

    def tell() -> None:
        if over.wait(first):
            return
        typer.echo(f"{doing} …", err=True)
        while not over.wait(_EVERY):
            typer.echo(f"{doing} …, for {monotonic() - began:,.0f} seconds", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
