"""Ends a connection that another thread waits for: the thread hears at once that the other side is gone."""

import contextlib
import os
import socket

import psycopg


def hang_up(connection: psycopg.Connection[object] | None) -> None:
    """Shut the connection's socket; the thread that uses it gets an error of psycopg's, and closes it."""
    if connection is None:
        return
    # It may have ended by itself.
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as ours:
        ours.shutdown(socket.SHUT_RDWR)
