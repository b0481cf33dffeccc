"""pandas, over SQLAlchemy and psycopg 3."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import sqlalchemy as sa

from tests.clients.matrix.scripted import Steps
from tests.clients.matrix.told import GROUPED, ROOT, url


class Pandas(Steps):
    def __init__(self) -> None:
        engine = sa.create_engine(
            url("postgresql+psycopg"), connect_args={"sslmode": "require"}, isolation_level="AUTOCOMMIT"
        )
        self.session = engine.connect()

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        named = {f"p{n}": value for n, value in enumerate(values, start=1)}
        return rows(pd.read_sql(sa.text(statement), self.session, params=named))

    def sqlstate(self, failed: Any) -> object:
        return (failed.__cause__ if isinstance(failed, pd.errors.DatabaseError) else failed).orig.sqlstate

    def tls(self) -> object:
        checked = {"sslmode": "verify-full", "sslrootcert": ROOT, "channel_binding": "require"}
        with sa.create_engine(url("postgresql+psycopg"), connect_args=checked).connect() as bound:
            pd.read_sql(sa.text(GROUPED), bound)
        return "bound"

    def cursor(self) -> object:
        with self.session.engine.connect() as session:
            streaming = session.execution_options(isolation_level="READ COMMITTED", stream_results=True)
            return [row for part in pd.read_sql(sa.text(GROUPED), streaming, chunksize=2) for row in rows(part)]

    def stop(self) -> None:
        self.session.connection.driver_connection.cancel_safe()  # type: ignore[union-attr]

    def encode(self, name: str) -> None:
        self.session.execute(sa.text(f"SET client_encoding TO '{name}'"))


def rows(frame: pd.DataFrame) -> list[Any]:
    """Return the rows, with None for what is missing."""
    return [
        [None if pd.isna(value) else value for value in row] for row in frame.astype(object).itertuples(index=False)
    ]


Pandas().tell()
