"""records: statements with parameters, one, all, as a data set, in bulk, transactions."""

# mypy: ignore-errors

import records
from told import tried, url

db = records.Database(url())
BY = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY 1"


def _in_transaction() -> object:
    with db.transaction() as held:
        return [held.query(BY).first().n, held.query("SELECT count(*) AS n FROM zones").first().n]


tried("statements", "get_table_names", lambda: sorted(db.get_table_names()))
tried("statements", "query", lambda: [[row.payment_type, row.n] for row in db.query(BY)])
tried(
    "statements",
    "query with a parameter",
    lambda: db.query("SELECT count(*) AS n FROM trips WHERE fare > :dear", dear=20).first().n,
)
tried("statements", "all(as_dict)", lambda: db.query(BY, fetchall=True).all(as_dict=True))
tried("statements", "one", lambda: db.query("SELECT count(*) AS n FROM trips").one().n)
tried("statements", "scalar", lambda: db.query("SELECT EXISTS (SELECT 1 FROM trips WHERE fare > 50)").scalar())
tried("statements", "transaction", _in_transaction)
tried("rows", "query", lambda: len(db.query("SELECT * FROM trips LIMIT 3").all()))
