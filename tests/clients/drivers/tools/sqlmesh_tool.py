"""sqlmesh, whose state is its own: info, render, evaluate, fetchdf, table_diff, and a plan, which would write tables."""

# mypy: ignore-errors

import json
from pathlib import Path

from sqlmesh import Context
from told import DATABASE, HOME, HOST, PASSWORD, PORT, USER, tried

home = Path(HOME) / "project"
(home / "models").mkdir(parents=True)
connection = {
    "type": "postgres",
    "host": HOST,
    "port": int(PORT),
    "user": USER,
    "password": PASSWORD,
    "database": DATABASE,
    "sslmode": "disable",
}
config = {
    "gateways": {
        "dpsql": {"connection": connection, "state_connection": {"type": "duckdb", "database": str(home / "state.db")}}
    },
    "default_gateway": "dpsql",
    "model_defaults": {"dialect": "postgres", "start": "2019-03-01"},
    "disable_anonymized_analytics": True,
}
(home / "config.yaml").write_text(json.dumps(config))
MODELS = {
    "by_payment": "SELECT payment_type, count(*) AS n, avg(fare) AS fare FROM public.trips GROUP BY payment_type",
    "by_borough": "SELECT borough, count(*) AS n FROM public.trips JOIN public.zones ON pickup_zone = zone_id GROUP BY 1",
    "over_answers": "SELECT sum(n) AS n FROM made.by_payment",
    "staged": "SELECT fare, tip FROM public.trips WHERE fare > 20",
}
for name, query in MODELS.items():
    kind = "EMBEDDED" if name in ("by_payment", "staged") else "VIEW"
    (home / "models" / f"{name}.sql").write_text(f"MODEL (name made.{name}, kind {kind});\n{query};\n")
(home / "models" / "over_staged.sql").write_text(
    "MODEL (name made.over_staged, kind VIEW);\nSELECT count(*) AS n FROM made.staged;\n"
)

contexts: list[Context] = []
tried(
    "info",
    "connection",
    lambda: contexts.append(Context(paths=[str(home)])) or contexts[0].engine_adapter.fetchone("SELECT 1"),
)
(context,) = contexts


def evaluated(name: str) -> object:
    frame = context.evaluate(f"made.{name}", start="2019-03-01", end="2019-03-02", execution_time="2019-03-03")
    return sorted(([*map(str, row)] for row in frame.itertuples(index=False)), key=str)


tried("render", "render", lambda: "GROUP BY" in context.render("made.by_payment").sql())
for name in ("by_payment", "by_borough", "over_answers", "over_staged", "staged"):
    tried("evaluate", name, lambda n=name: evaluated(n))
tried(
    "fetchdf",
    "a statement",
    lambda: [str(number) for number in context.fetchdf("SELECT count(*) AS n FROM public.trips").n],
)
tried("external models", "create_external_models", context.create_external_models)
tried("plan", "plan and apply", lambda: str(context.plan(auto_apply=True, no_prompts=True)))
