"""connectorx: counts first, then reads binary COPY; without parameters."""

import re
from collections.abc import Sequence
from typing import Any

import connectorx

from tests.clients.matrix.scripted import Steps, none, only_utf8
from tests.clients.matrix.told import GROUPED, ROOT, SLOW, WHERE, Partly, code, url


class ConnectorX(Steps):
    lists = none("has no parameters")
    types = none("has no parameters")
    cancel = none("has no call that cancels")
    encodings = only_utf8("speaks UTF-8 alone")

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        return rows(url(sslmode="require"), statement)

    def sqlstate(self, failed: Any) -> object:
        # Its errors have texts alone.
        return "42501" if re.search(r"rows of \w+ are protected", str(failed)) else None

    def tls(self) -> object:
        rows(url(sslmode="require", sslrootcert=ROOT), WHERE)
        return Partly("bound", "checks no name and knows no channel binding")

    def cursor(self) -> object:
        return rows(url(sslmode="require"), GROUPED, protocol="binary")

    def timeout(self) -> object:
        hasty = url(sslmode="require", options="-c statement_timeout=300")
        return code(lambda: rows(hasty, SLOW), lambda failed: "57014" if "statement timeout" in str(failed) else None)


def rows(address: str, statement: str, **options: Any) -> list[Any]:
    table = connectorx.read_sql(address, statement, return_type="arrow", **options)
    return [list(row.values()) for row in table.to_pylist()]


ConnectorX().tell()
