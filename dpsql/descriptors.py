"""How many descriptors the system gives us, and who gets how many of them: strangers can't use up those of users."""

import resource
from dataclasses import dataclass

from dpsql.errors import ConfigError

_LEAST = 256
_OWN = 128
"""For the ledger, the engine's files and connections, and what Python opens for a moment."""
_SHADOW = 300
"""Sessions in the shadow, at the most: each is one more descriptor of a client who asks."""
_MOST_STRANGERS = 512
_MOST_PAGES = 256


@dataclass(frozen=True, slots=True)
class Shares:
    """How many connections of each kind there may be."""

    strangers: int
    """Of SQL clients that have not logged in."""
    pages: int
    """Of browsers."""
    seats: int
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
        strangers, pages = min(descriptors // 8, _MOST_STRANGERS), min(descriptors // 8, _MOST_PAGES)
        left = descriptors - _OWN - strangers - pages
        return cls(strangers, pages, max(left - _SHADOW, left // 2))


def most() -> int:
    """Let this process open as many files and connections as it is permitted to; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return soft
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
