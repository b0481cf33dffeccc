"""pgcli's executor, as its prompt drives it: completion's catalogue, statements, Ctrl-C."""

import _thread
import threading
from collections.abc import Sequence
from typing import Any

from pgcli.pgexecute import PGExecute

from tests.clients.matrix.scripted import Steps, none
from tests.clients.matrix.told import DATABASE, GROUPED, HOST, PASSWORD, PORT, ROOT, SLOW, WHERE, WHO


def session(**options: str) -> Any:
    return PGExecute(DATABASE, WHO, PASSWORD, HOST, PORT, **options)


class Pgcli(Steps):
    lists = none("has no parameters")
    types = none("has no parameters")

    def __init__(self) -> None:
        self.session = session(sslmode="require")

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        ((_, rows, *_),) = self.session.run(statement)
        return list(rows or ())

    def tls(self) -> object:
        for _ in session(sslmode="verify-full", sslrootcert=ROOT, channel_binding="require").run(WHERE):
            return "bound"
        return None

    def tables(self) -> object:
        return sorted(name for schema, name in self.session.tables() if schema == "public")

    def columns(self) -> object:
        return [column for _, table, column, *_ in self.session.table_columns() if table == "trips"]

    def cursor(self) -> object:
        for statement in ("BEGIN", f"DECLARE steps CURSOR FOR {GROUPED}"):
            self.ask(statement)
        rows = [list(row) for _ in range(2) for row in self.ask("FETCH 2 FROM steps")]
        self.ask("COMMIT")
        return rows

    def cancel(self) -> object:
        try:
            # Once: a second Ctrl-C ends the session.
            threading.Timer(0.5, _thread.interrupt_main).start()
            self.ask(SLOW)
        except KeyboardInterrupt:
            return "stopped"
        return "answered"

    def encode(self, name: str) -> None:
        self.ask(f"SET client_encoding TO '{name}'")


Pgcli().tell()
