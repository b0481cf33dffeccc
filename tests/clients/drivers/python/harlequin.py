"""Harlequin's adapter, as its screen drives it: catalogue, statements, its stop button."""

import time
from collections.abc import Sequence
from typing import Any

from harlequin_postgres.adapter import HarlequinPostgresAdapter

from tests.clients.matrix.scripted import Steps, none
from tests.clients.matrix.told import BOUND, DATABASE, DSN, GROUPED, SLOW, stopping


class Harlequin(Steps):
    lists = none("has no parameters")
    types = none("has no parameters")

    def __init__(self) -> None:
        self.session = HarlequinPostgresAdapter((f"{DSN} sslmode=require",)).connect()

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        cursor = self.session.execute(statement)
        rows: Sequence[Any] = cursor.fetchall()
        return rows

    def sqlstate(self, failed: Any) -> object:
        return failed.__cause__.sqlstate

    def tls(self) -> object:
        bound = HarlequinPostgresAdapter((BOUND,)).connect()
        bound.execute(GROUPED)
        bound.close()
        return "bound"

    def _relations(self) -> dict[str, Any]:
        (taxi,) = (database for database in self.session.get_catalog().items if database.label == DATABASE)
        (public,) = (schema for schema in taxi.fetch_children() if schema.label == "public")
        return {table.label: table for table in public.fetch_children()}

    def tables(self) -> object:
        return sorted(self._relations())

    def columns(self) -> object:
        return [column.label for column in self._relations()["trips"].fetch_children()]

    def cursor(self) -> object:
        return [list(row) for row in self.session.execute(GROUPED).set_limit(3).fetchall()]

    def cancel(self) -> object:
        # It hides 57014, and goes on.
        began = time.monotonic()
        with stopping(self.session.cancel):
            assert self.session.execute(SLOW) is None
        assert time.monotonic() - began < 30
        return "stopped"

    def timeout(self) -> object:
        self.session.execute("SET statement_timeout = '300ms'")
        assert self.session.execute(SLOW) is None
        self.session.execute("RESET statement_timeout")
        return "57014"

    def encode(self, name: str) -> None:
        self.session.execute(f"SET client_encoding TO '{name}'")


Harlequin().tell()
