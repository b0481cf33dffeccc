"""What the scripts of tools share: where to go, and a line of JSON for each thing that was tried."""

# mypy: ignore-errors

import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

import psycopg2

HOST, PORT, USER, PASSWORD, DATABASE = (
    os.environ[f"ASK_{word}"] for word in ("HOST", "PORT", "USER", "PASSWORD", "DATABASE")
)
HOME = os.environ["HOME"]
"""A directory of the script's own."""
_OUT = sys.stdout


def url(scheme: str = "postgresql+psycopg2") -> str:
    """Return the address as SQLAlchemy reads it."""
    return f"{scheme}://{USER}:{PASSWORD.replace(' ', '%20').replace(':', '%3A')}@{HOST}:{PORT}/{DATABASE}"


def paid() -> float:
    """Return what was paid by now: how many times as much as one statement pays; nothing to a server without accounts."""
    with (
        psycopg2.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, dbname=DATABASE) as session,
        session.cursor() as cursor,
    ):
        cursor.execute("SELECT to_regclass('dpsql.budget')")
        if cursor.fetchone() == (None,):
            return 0.0
        cursor.execute("SELECT epsilon_spent / per_query_epsilon FROM dpsql.budget")
        (epsilon,) = cursor.fetchone() or (0,)
        return float(epsilon)


def tried(part: str, name: str, work: Callable[[], object]) -> None:
    """Print what came of something that was tried: what it has got, or how it failed, and what it has paid."""
    before = paid()
    with redirect_stdout(sys.stderr):
        try:
            told = {"got": work()}
        except Exception as failed:  # noqa: BLE001  whatever the tool raises
            told = {"failed": f"{failed}"[:2000] or type(failed).__name__}
    line = {"part": part, "name": name, **told, "paid": round(paid() - before, 3)}
    _OUT.write(json.dumps(line, default=str) + "\n")
    _OUT.flush()
