"""psqlODBC through pyodbc, with the options that the first word gives."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyodbc

from tests.clients.matrix.scripted import Steps, only_utf8
from tests.clients.matrix.told import DATABASE, GROUPED, HOST, PASSWORD, PORT, ROOT, WHO

LIBRARY = next(Path("/usr/lib").glob("*/odbc/psqlodbcw.so"))


def session(more: str) -> Any:
    where = f"Driver={LIBRARY};Server={HOST};Port={PORT};Database={DATABASE};Uid={WHO};Pwd={{{PASSWORD}}}"
    return pyodbc.connect(f"{where};{sys.argv[1]};{more}", autocommit=True)


class Odbc(Steps):
    own = {
        "interval": "7 days",
        "uuid": "0e37df36-f698-11e6-8dd4-cb9ced3df976",
        "timestamptz": "2019-03-08 00:00:00+00",
        "integer[]": "{1,2}",
    }
    encodings = only_utf8("the Unicode driver speaks UTF-8 alone")

    def __init__(self) -> None:
        self.session = session("SSLmode=require")
        self.running = self.session.cursor()

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        self.running = self.session.cursor()
        given = ["{1,2}" if isinstance(value, list) else value for value in values]
        rows: list[Any] = self.running.execute(statement, *given).fetchall()
        return [list(row) for row in rows]

    def sqlstate(self, failed: Any) -> object:
        return failed.args[0]

    def tls(self) -> object:
        bound = session(f"SSLmode=verify-full;pqopt={{channel_binding=require sslrootcert={ROOT}}}")
        bound.execute(GROUPED).fetchall()
        bound.close()
        return "bound"

    def tables(self) -> object:
        return sorted(row.table_name for row in self.session.cursor().tables(schema="public", tableType="TABLE"))

    def columns(self) -> object:
        return [row.column_name for row in self.session.cursor().columns(schema="public", table="trips")]

    def cursor(self) -> object:
        steps = self.session.cursor().execute(GROUPED)
        return [list(row) for _ in range(2) for row in steps.fetchmany(2)]

    def stop(self) -> None:
        self.running.cancel()


Odbc().tell()
