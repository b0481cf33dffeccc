"""ibis: expressions, statements as tables, descriptions of tables, and what it keeps in temporary tables."""

# mypy: ignore-errors

import ibis
from told import DATABASE, HOST, PASSWORD, PORT, USER, tried

con = ibis.postgres.connect(host=HOST, port=int(PORT), user=USER, password=PASSWORD, database=DATABASE)
t = con.table("trips")


def rows(expression: object) -> object:
    result = expression.to_pyarrow()
    return result.to_pylist() if hasattr(result, "to_pylist") else result.as_py()


def flat(expression: object) -> object:
    return sorted(([list(row.values()) for row in rows(expression)]), key=str)


BY = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type"
EXPRESSIONS = {
    "count": lambda: rows(t.count()),
    "group_by": lambda: flat(t.group_by("payment_type").agg(n=t.count(), fare=t.fare.mean())),
    "filter": lambda: rows(t.filter(t.fare > 20).count()),
    "mutate": lambda: rows(t.mutate(share=t.tip / (t.fare + 1)).share.mean()),
    "join": lambda: flat(
        t.join(con.table("zones"), t.pickup_zone == con.table("zones").zone_id)
        .group_by("borough")
        .agg(n=lambda x: x.count())
    ),
    "value_counts": lambda: flat(t.payment_type.value_counts()),
    "topk": lambda: len(flat(t.pickup_zone.topk(3))),
    "nunique": lambda: rows(t.pickup_zone.nunique()),
    "quantile": lambda: abs(rows(t.fare.quantile(0.5)) - 27.5) < 2,
    "cases": lambda: flat(
        t.mutate(dear=ibis.cases((t.fare > 30, "dear"), else_="cheap")).group_by("dear").agg(n=lambda x: x.count())
    ),
    "histogram": lambda: flat(
        t.mutate(b=t.fare.cast("int") // 10).group_by("b").agg(n=lambda x: x.count()).filter(lambda x: x.n > 0)
    ),
    "having": lambda: flat(t.group_by("pickup_zone").having(t.count() > 10).agg(n=t.count())),
    "window over an answer": lambda: flat(
        t.group_by("payment_type")
        .agg(n=t.count())
        .mutate(share=lambda x: x.n.cast("float64") / x.n.sum().cast("float64"))
    ),
    "timestamps": lambda: flat(t.group_by(day=t.pickup_ts.truncate("D")).agg(n=t.count()).order_by("day").limit(2)),
    "isin": lambda: rows(t.filter(t.payment_type.isin(["cash"])).count()),
    "isnull": lambda: rows(t.payment_type.isnull().sum()),
}
tried("profile", "table.describe()", lambda: sorted(map(str, t.describe().to_pandas()["name"])))
tried("profile", "table.info()", lambda: flat(t.info()[["name", "type", "nullable", "nulls"]]))
tried("profile", "describe of a public table", lambda: len(rows(con.table("zones").describe())))
for name, work in EXPRESSIONS.items():
    tried("expressions", name, work)
tried("sql", "con.sql of an answer", lambda: flat(con.sql(BY)))
tried("sql", "con.sql of an answer, and more of it", lambda: rows(con.sql(BY).n.sum()))
tried(
    "sql",
    "con.sql of rows, then aggregated",
    lambda: rows(con.sql("SELECT fare, tip FROM trips WHERE fare > 20").count()),
)
tried("sql", "table.sql", lambda: flat(t.sql("SELECT payment_type, count(*) AS n FROM trips GROUP BY 1")))
tried("kept", "create_table(temp=True)", lambda: flat(con.create_table("kept", con.sql(BY), temp=True)))
tried("kept", "cache()", lambda: flat(t.group_by("payment_type").agg(n=t.count()).cache()))
tried("kept", "create_view", lambda: flat(con.create_view("seen", t.group_by("payment_type").agg(n=t.count()))))
tried("rows", "head()", lambda: len(rows(t.head(3))))
tried("rows", "execute()", lambda: len(t.execute()))
