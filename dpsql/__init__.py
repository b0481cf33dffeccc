"""A SQL proxy with differential privacy that PostgreSQL clients connect to unchanged."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsql.local import connect as connect

__all__ = ["connect"]


def __getattr__(name: str) -> object:
    """Import `connect` when it is asked for: the rooms below must not load the server."""
    if name == "connect":
        from dpsql.local import connect  # noqa: PLC0415

        return connect
    raise AttributeError(name)
