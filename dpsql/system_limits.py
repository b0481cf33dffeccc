"""The system's limits: descriptors, shared out so that strangers leave enough for users, memory, and Python's collector."""

import atexit
import gc
import resource
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from dpsql.errors import ConfigError

_LEAST = 256
_LEAST_MEMORY = 2 << 30
"""Bytes of addresses, which threads and the engine reserve long before they are used."""
_OWN = 128
"""For the ledger, the engine's files and connections, and what Python opens for a moment."""
_SHADOW = 300
"""Sessions in the shadow, at the most: each is one more descriptor of a client who asks."""
_MOST_UNAUTHENTICATED = 512
_MOST_PAGES = 256


@dataclass(frozen=True, slots=True)
class Shares:
    """How many connections of each kind there may be."""

    unauthenticated: int
    """Of SQL clients that have not logged in."""
    pages: int
    """Of browsers."""
    connections: int
    """Of SQL clients that have logged in."""

    @classmethod
    def of(cls, descriptors: int) -> "Shares":
        """Divide so many descriptors.

        Raises:
            ConfigError: they are too few.
        """
        if descriptors < _LEAST:
            raise ConfigError(
                f"this process may have {descriptors} files and connections open, and needs {_LEAST}",
                hint="Raise the limit: ulimit -n, or LimitNOFILE= in the unit of systemd.",
            )
        # Of 1,024 descriptors: 128 for strangers, 128 for browsers, 128 of our own, and of the other 640 each client takes
        # one and has a session in the shadow, which takes another: 340 clients. Of 65,536: 512, 256, and 64,340.
        unauthenticated, pages = min(descriptors // 8, _MOST_UNAUTHENTICATED), min(descriptors // 8, _MOST_PAGES)
        left = descriptors - _OWN - unauthenticated - pages
        return cls(unauthenticated, pages, max(left - _SHADOW, left // 2))


def raise_limits() -> int:
    """Let this process open as many files and connections as the system permits; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return soft
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def require_memory() -> None:
    """See that we may have the memory that we need: where it is short a measurement would fail after its charge.

    Raises:
        ConfigError: we may not.
    """
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and most < _LEAST_MEMORY:
        raise ConfigError(
            f"this process may have {most >> 20:,} MiB of addresses, and needs {_LEAST_MEMORY >> 20:,}",
            hint="Raise or remove the limit (ulimit -v, LimitAS=); MemoryMax= and engine.memory limit what is used.",
        )


# How often Python looks for objects that refer to each other and that nobody needs any more.
#
# Planning makes thousands of objects for each statement, of which nearly all go as soon as nobody refers to them; those of
# the parser's trees refer to each other and wait for the collector. It would look a dozen times a statement, at what was made
# just now and every time at more, and now and then at all that was imported.

_YOUNG = 20_000
"""New objects, some megabytes of them, until it looks among these; by itself it would after 700."""
_TIMES, _ALL = 10, 3
"""How often it looks there until it looks among older ones, and there until it looks among all; by itself ten times: large
statements that are refused would leave hundreds of megabytes."""


def import_without_collecting(module: str) -> ModuleType:
    """Import a module with all that it needs, and look for nothing meanwhile: nearly all that is made then stays."""
    before = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if before:
            gc.enable()


def collect_seldom() -> None:
    """Let the collector wait for more new objects, and leave alone what there is: nearly all of it stays until the end.

    At the end it is looked at again: the types of an extension's that remain by then, DuckDB's reports as leaked.
    """
    gc.freeze()
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)
    gc.set_threshold(_YOUNG, _TIMES, _ALL)
