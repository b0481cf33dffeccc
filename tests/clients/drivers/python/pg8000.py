"""pg8000: extended protocol without format codes, in Python alone."""

import ssl
from collections.abc import Sequence
from typing import Any

import pg8000.dbapi

from tests.clients.matrix.scripted import Steps, none
from tests.clients.matrix.told import DATABASE, GROUPED, HOST, PASSWORD, PORT, ROOT, WHO


def session(checked: bool) -> Any:
    context = ssl.create_default_context(cafile=ROOT) if checked else True
    return pg8000.dbapi.connect(
        WHO, host=HOST, port=int(PORT), database=DATABASE, password=PASSWORD, ssl_context=context
    )


class Pg8000(Steps):
    cancel = none("has no call that cancels")

    def __init__(self) -> None:
        self.session = session(checked=False)
        self.session.autocommit = True

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        cursor = self.session.cursor()
        cursor.execute(statement, values)
        rows: tuple[Any, ...] = cursor.fetchall()
        return rows

    def sqlstate(self, failed: Any) -> object:
        return failed.args[0].get("C")

    def tls(self) -> object:
        bound = session(checked=True)
        bound.cursor().execute(GROUPED)
        mechanism = bound.auth.mechanism_name
        bound.close()
        return "bound" if mechanism == "SCRAM-SHA-256-PLUS" else mechanism

    def cursor(self) -> object:
        cursor = self.session.cursor()
        cursor.execute("BEGIN")
        cursor.execute(f"DECLARE steps CURSOR FOR {GROUPED}")
        rows = []
        while fetched := self.ask("FETCH 2 FROM steps"):
            rows += [list(row) for row in fetched]
        cursor.execute("COMMIT")
        return rows

    def encode(self, name: str) -> None:
        self.session.cursor().execute(f"SET client_encoding TO '{name}'")


Pg8000().tell()
