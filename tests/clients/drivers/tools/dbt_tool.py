"""dbt with a project of its own: debug, show, its tests, and models that are CTEs of what reads them."""

# mypy: ignore-errors

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

from told import DATABASE, HOME, HOST, PASSWORD, PORT, USER, tried

DBT = Path(sys.executable).parent / "dbt"
home = Path(HOME) / "project"
(home / "models").mkdir(parents=True)
PROFILE = {
    "taxi": {
        "target": "dev",
        "outputs": {
            "dev": {
                "type": "postgres", "host": HOST, "port": int(PORT), "user": USER, "password": PASSWORD, "dbname": DATABASE,
                "schema": "public", "threads": 1, "sslmode": "disable",
            },
        },
    },
}  # fmt: skip
PROJECT = {
    "name": "taxi",
    "version": "1.0",
    "profile": "taxi",
    "config-version": 2,
    "models": {"taxi": {"+materialized": "ephemeral"}},
}
COLUMNS = [
    {"name": "fare", "data_tests": ["not_null"]},
    {"name": "trip_id", "data_tests": ["not_null", "unique"]},
    {
        "name": "payment_type",
        "data_tests": [
            "not_null",
            "unique",
            {"accepted_values": {"arguments": {"values": ["cash", "credit card"]}}},
            {"accepted_values": {"name": "cash_alone", "arguments": {"values": ["cash"]}}},
        ],
    },
    {
        "name": "pickup_zone",
        "data_tests": [{"relationships": {"arguments": {"to": "source('public', 'zones')", "field": "zone_id"}}}],
    },
]
MODELS = {
    "staged": "SELECT payment_type AS paid, fare FROM {{ source('public', 'trips') }}",
    "by_payment": "SELECT paid, count(*) AS n, avg(fare) AS fare FROM {{ ref('staged') }} GROUP BY paid",
    "total": "SELECT sum(n) AS n FROM {{ ref('by_payment') }}",
}
TESTED = [
    {
        "name": "by_payment",
        "columns": [{"name": "paid", "data_tests": ["unique"]}, {"name": "n", "data_tests": ["not_null"]}],
    }
]
(home / "dbt_project.yml").write_text(json.dumps(PROJECT))
(home / "profiles.yml").write_text(json.dumps(PROFILE))
(home / "models" / "all.yml").write_text(
    json.dumps(
        {
            "version": 2,
            "sources": [
                {
                    "name": "public",
                    "tables": [
                        {"name": "trips", "columns": COLUMNS},
                        {"name": "zones", "columns": [{"name": "zone_id", "data_tests": ["unique", "not_null"]}]},
                    ],
                }
            ],
            "models": TESTED,
        }
    )
)
for name, text in MODELS.items():
    (home / "models" / f"{name}.sql").write_text(text)


def said(*words: str) -> str:
    done = subprocess.run(  # noqa: S603  what it is given here
        [str(DBT), "--no-use-colors", *words, "--project-dir", str(home), "--profiles-dir", str(home)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
    )
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "rror" in line]
        raise RuntimeError("\n".join(lines) or done.stdout[-1500:])
    return done.stdout


def shown(*words: str) -> object:
    told = said("show", "--output", "json", *words)
    return json.loads(told[told.index("{") :])["show"]


tried("debug", "dbt debug", lambda: "All checks passed" in said("debug"))
tried(
    "show",
    "an answer",
    lambda: shown("--inline", "select payment_type, count(*) as n from trips group by 1 order by 1"),
)
tried("show", "a model", lambda: shown("--select", "total,resource_type:model"))
tried("previews", "a source", lambda: len(shown("--inline", "select * from trips", "--limit", "3")))
tried("previews", "a staging model", lambda: len(shown("--select", "staged", "--limit", "3")))


def ran(*words: str) -> dict[str, tuple[str, str]]:
    """Return what became of each node of a project: its status, and what was said of it."""
    results = home / "target" / "run_results.json"
    results.unlink(missing_ok=True)
    with contextlib.suppress(RuntimeError):
        said(*words)
    return {
        load["unique_id"].split(".")[2]: (load["status"], load["message"])
        for load in json.loads(results.read_text())["results"]
    }


def told(status: str, message: str) -> str:
    if status == "error":
        raise RuntimeError(message)
    return status


for part, words in (
    ("tests", ("test", "--select", "source:*")),
    ("tests of models", ("test", "--select", "by_payment", "total")),
):
    for node, (status, message) in sorted(ran(*words).items()):
        tried(part, node, lambda s=status, m=message: told(s, m))
