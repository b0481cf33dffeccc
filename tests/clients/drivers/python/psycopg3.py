"""psycopg 3: extended protocol, its own arrays and types, cursors on the server; also through a pooler."""

import sys
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.types.json import Json

from tests.clients.matrix.scripted import Steps
from tests.clients.matrix.told import BOUND, DSN, GROUPED, Partly

POOLED = "pooled" in sys.argv


class Psycopg(Steps):
    own = {"jsonb": Json({"a": [1, None]})}
    session = psycopg.connect(f"{DSN} sslmode={'prefer' if POOLED else 'require'}", autocommit=True)

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        return self.session.execute(statement.encode(self.session.info.encoding), values or None).fetchall()

    def tls(self) -> object:
        if POOLED:
            return Partly(
                "bound", "has TLS of its own towards dpsql and checks certificate and name; knows no channel binding"
            )
        with psycopg.connect(BOUND) as bound:
            return bound.execute(GROUPED.encode()) and "bound"

    def cursor(self) -> object:
        with self.session.transaction(), self.session.cursor("steps") as steps:
            steps.itersize = 2
            return list(steps.execute(GROUPED.encode()))

    def stop(self) -> None:
        self.session.cancel_safe()

    def encode(self, name: str) -> None:
        self.session.execute(f"SET client_encoding TO '{name}'".encode())


Psycopg().tell()
