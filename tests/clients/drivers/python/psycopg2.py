"""psycopg 2: the simple protocol, values written into the statement; also through a pooler."""

import sys
from collections.abc import Sequence
from typing import Any

import psycopg2

from tests.clients.matrix.scripted import Steps
from tests.clients.matrix.told import BOUND, DSN, GROUPED, Partly

POOLED = "pooled" in sys.argv
ENCRYPTED = f"{DSN} sslmode={'prefer' if POOLED else 'require'}"


class Psycopg2(Steps):
    own = {"uuid": "0e37df36-f698-11e6-8dd4-cb9ced3df976"}

    def __init__(self) -> None:
        self.session = psycopg2.connect(ENCRYPTED)
        self.session.autocommit = True

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        with self.session.cursor() as cursor:
            cursor.execute(statement, values or None)
            rows: list[Any] = cursor.fetchall()
            return rows

    def sqlstate(self, failed: Any) -> object:
        return failed.pgcode

    def tls(self) -> object:
        if POOLED:
            return Partly(
                "bound", "has TLS of its own towards dpsql, which checks nothing here; knows no channel binding"
            )
        with psycopg2.connect(BOUND) as bound, bound.cursor() as cursor:
            cursor.execute(GROUPED)
            return "bound"

    def cursor(self) -> object:
        with psycopg2.connect(ENCRYPTED) as session, session.cursor("steps") as cursor:
            cursor.itersize = 2
            cursor.execute(GROUPED)
            return list(cursor)

    def stop(self) -> None:
        self.session.cancel()

    def encode(self, name: str) -> None:
        self.session.set_client_encoding(name)


Psycopg2().tell()
