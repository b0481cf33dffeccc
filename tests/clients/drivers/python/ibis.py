"""ibis on psycopg 3: expressions that it writes as SQL."""

from collections.abc import Sequence
from typing import Any

import ibis

from tests.clients.matrix.scripted import Steps
from tests.clients.matrix.told import DATABASE, GROUPED, HOST, PASSWORD, PORT, ROOT, WHO


def session(**options: Any) -> Any:
    return ibis.postgres.connect(host=HOST, port=int(PORT), user=WHO, password=PASSWORD, database=DATABASE, **options)


class Ibis(Steps):
    def __init__(self) -> None:
        self.session = session(sslmode="require")

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        with self.session.raw_sql(statement, params=values or None) as cursor:
            rows: list[Any] = cursor.fetchall()
            return rows

    def tls(self) -> object:
        session(sslmode="verify-full", sslrootcert=ROOT, channel_binding="require").raw_sql(GROUPED).close()
        return "bound"

    def tables(self) -> object:
        return sorted(self.session.list_tables())

    def columns(self) -> object:
        return list(self.session.table("trips").columns)

    def grouped(self) -> object:
        trips = self.session.table("trips")
        counts = trips.group_by("payment_type").agg(n=trips.count()).order_by("payment_type")
        return [[row["payment_type"], row["n"]] for row in counts.to_pyarrow().to_pylist()]

    def lists(self) -> object:
        trips = self.session.table("trips")
        within = trips.filter(trips.pickup_zone.isin([1, 2])).count().to_pyarrow().as_py()
        return [within, super().lists()[1]]  # type: ignore[index]

    def cursor(self) -> object:
        trips = self.session.table("trips")
        counts = trips.group_by("payment_type").agg(n=trips.count()).order_by("payment_type")
        return [[*row.values()] for part in counts.to_pyarrow_batches(chunk_size=2) for row in part.to_pylist()]

    def stop(self) -> None:
        self.session.con.cancel_safe()

    def encode(self, name: str) -> None:
        self.session.raw_sql(f"SET client_encoding TO '{name}'").close()


Ibis().tell()
