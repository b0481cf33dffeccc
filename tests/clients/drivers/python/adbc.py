"""ADBC's driver for PostgreSQL: libpq below, binary COPY for what it reads."""

from collections.abc import Sequence
from typing import Any

import adbc_driver_postgresql.dbapi

from tests.clients.matrix.scripted import Steps, only_utf8
from tests.clients.matrix.told import DATABASE, GROUPED, ROOT, url


class Adbc(Steps):
    encodings = only_utf8("reads UTF-8 alone")

    def __init__(self) -> None:
        self.session = adbc_driver_postgresql.dbapi.connect(url(sslmode="require"), autocommit=True)
        self.running = self.session.cursor()

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        self.running = self.session.cursor()
        with self.running as cursor:
            cursor.execute(statement, values or None)
            rows: list[Any] = cursor.fetchall()
            return rows

    def tls(self) -> object:
        checked = url(sslmode="verify-full", sslrootcert=ROOT, channel_binding="require")
        with adbc_driver_postgresql.dbapi.connect(checked) as bound, bound.cursor() as cursor:
            cursor.execute(GROUPED)
        return "bound"

    def tables(self) -> object:
        objects = self.session.adbc_get_objects(depth="tables", catalog_filter=DATABASE, db_schema_filter="public")
        (taxi,) = objects.read_all().to_pylist()
        return sorted(table["table_name"] for table in taxi["catalog_db_schemas"][0]["db_schema_tables"])

    def columns(self) -> object:
        return self.session.adbc_get_table_schema("trips").names

    def cursor(self) -> object:
        with self.session.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": "1"})
            cursor.execute(GROUPED)
            return [[*row.values()] for batch in cursor.fetch_record_batch() for row in batch.to_pylist()]

    def stop(self) -> None:
        self.running.adbc_cancel()


Adbc().tell()
