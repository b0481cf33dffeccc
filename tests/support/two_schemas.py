"""A data set of several schemas, in which one name is that of several tables, each with another number of rows."""

from collections.abc import Mapping
from pathlib import Path

import duckdb

ROWS: Mapping[str, int] = {"patients": 3_000, "core.patients": 1_000, "clinical.patients": 2_000}
"""How many rows each has of the tables that are called patients; each row is another person's."""
_CONFIG = """\
dataset: hospital
engine: {{kind: duckdb, database: hospital.duckdb}}
schemas: schemas
listen: {{host: 127.0.0.1, port: 0}}
trial: forms
budget: {{person: {{epsilon: 1000000}}}}
roles:
  owner: {{protects: person, budget: {{epsilon: 400000}}, per_query: {{epsilon: 200}}, owner: true}}
  ward:
    protects: person
    budget: {{epsilon: 100000}}
    per_query: {{epsilon: 200}}
    tables: [clinical.*]
    columns: {{clinical.patients: [person, score]}}
    where: {{clinical.encounters: encounters.cost > 10}}
  core: {{protects: person, budget: {{epsilon: 100000}}, per_query: {{epsilon: 200}}, tables: [core.patients]}}
  viewer:
    protects: person
    budget: {{epsilon: 100000}}
    per_query: {{epsilon: 200}}
    preview: made-up
    tables: [clinical.scores, patients]
users: {{}}
"""
_PATIENTS = """\
table: {name}
expected_rows: 10_000
key: person
privacy_units:
  person: {{column: person, max_rows: 1}}
columns:
  person: {{type: integer}}
  score: {{type: integer, bounds: [0, 100]}}
  secret: {{type: integer, bounds: [0, 100]}}
  mood: {{type: enum, values: [good, bad]}}
"""
_WARDS = """\
table: {name}
public: true
key: ward
columns:
  ward: {{type: integer}}
  title: {{type: text}}
"""
_FILES: Mapping[str, str] = {
    "patients.yaml": _PATIENTS.format(name="patients"),
    "core/patients.yaml": _PATIENTS.format(name="core.patients"),
    "clinical/patients.yaml": _PATIENTS.format(name="clinical.patients"),
    "clinical/encounters.yaml": """\
table: clinical.encounters
expected_rows: 10_000
key: encounter
privacy_units:
  person: {column: person, max_rows: 4}
columns:
  encounter: {type: integer}
  person: {type: integer, references: core.patients.person}
  ward: {type: integer, references: {table: clinical.wards, column: ward}}
  cost: {type: integer, bounds: [0, 100]}
""",
    "clinical/wards.yaml": _WARDS.format(name="clinical.wards"),
    "core/wards.yaml": _WARDS.format(name="core.wards"),
    "mixed.yaml": _PATIENTS.format(name='Old Ward.Mixed "Case"'),
    "clinical/scores.yaml": """\
table: clinical.scores
view: SELECT person, score, score + 1 AS more FROM patients WHERE score > 0
""",
}


def write_site(directory: Path) -> Path:
    """Write the records, the schema files and a configuration; return the last."""
    with duckdb.connect(str(directory / "hospital.duckdb")) as records:
        for schema in ("core", "clinical", '"Old Ward"', "hidden"):
            records.execute(f"CREATE SCHEMA {schema}")
        tables = {"main.patients": 3_000, "core.patients": 1_000, "clinical.patients": 2_000, "hidden.patients": 7_000}
        for name, number in {**tables, '"Old Ward"."Mixed ""Case"""': 500}.items():
            records.execute(
                f"CREATE TABLE {name} AS SELECT n::INTEGER AS person, 40 AS score, 50 AS secret, "
                f"'good' AS mood FROM range(1, {number} + 1) AS r (n)"
            )
        records.execute(
            "CREATE TABLE clinical.encounters AS SELECT n::INTEGER AS encounter, "
            "((n - 1) % 1000 + 1)::INTEGER AS person, "
            "((n - 1) // 1000 + 1)::INTEGER AS ward, ((n - 1) // 1000 * 10 + 10)::INTEGER AS cost "
            "FROM range(1, 4001) AS r (n)"
        )
        for name, titles in (("clinical.wards", "abcd"), ("core.wards", "wxyz")):
            records.execute(f"CREATE TABLE {name} (ward INTEGER PRIMARY KEY, title VARCHAR)")
            for ward, title in enumerate(titles, start=1):
                records.execute(f"INSERT INTO {name} VALUES (?, ?)", [ward, title])
    for name, text in _FILES.items():
        (directory / "schemas" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "schemas" / name).write_text(text, encoding="utf-8")
    config = directory / "config.yaml"
    config.write_text(_CONFIG.format(), encoding="utf-8")
    return config
