"""A SQL proxy with differential privacy that PostgreSQL clients connect to unchanged."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsql.local import connect as connect
    from dpsql.noising import noise as noise

__all__ = ["connect", "noise"]
_HOMES = {"connect": "dpsql.local", "noise": "dpsql.noising"}


def __getattr__(name: str) -> object:
    """Import a public name when it is asked for: the rooms below must not load the server."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(name)
