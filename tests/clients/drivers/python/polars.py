"""polars, over ADBC; each question has a connection of its own."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tests.clients.matrix.scripted import Steps, none, only_utf8
from tests.clients.matrix.told import GROUPED, ROOT, SLOW, code, url


class Polars(Steps):
    cursor = none("asks ADBC for the whole; below it is COPY")
    cancel = none("has no call that cancels")
    encodings = only_utf8("ADBC reads UTF-8 alone")

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        given = {"parameters": values} if values else None
        return pl.read_database_uri(statement, url(sslmode="require"), engine="adbc", execute_options=given).rows()

    def tls(self) -> object:
        checked = url(sslmode="verify-full", sslrootcert=ROOT, channel_binding="require")
        pl.read_database_uri(GROUPED, checked, engine="adbc")
        return "bound"

    def timeout(self) -> object:
        hasty = url(sslmode="require", options="-cstatement_timeout%3D300")
        return code(lambda: pl.read_database_uri(SLOW, hasty, engine="adbc"))


Polars().tell()
