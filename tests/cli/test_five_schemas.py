"""A hospital whose tables lie in five schemas: from `init` to the statements that its tools had before, unchanged."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.shadow.server.postgres import Postgres
from tests.support.connected import Connect, connections

_SCHEMAS = ("clinical", "billing", "hr", '"Ref"')
_DDL = """
CREATE SCHEMA core; CREATE SCHEMA clinical; CREATE SCHEMA billing; CREATE SCHEMA hr; CREATE SCHEMA "Ref";
CREATE TYPE clinical.severity AS ENUM ('low', 'high');
CREATE TABLE core.patients (patient_id int PRIMARY KEY, born date, region int);
CREATE TABLE "Ref"."Zones" (zone_id int PRIMARY KEY, name text);
CREATE TABLE hr.zones (zone_id int PRIMARY KEY, name text);
CREATE TABLE clinical.encounters (
  id bigint PRIMARY KEY, patient_id int NOT NULL REFERENCES core.patients, zone_id int REFERENCES "Ref"."Zones",
  severity clinical.severity NOT NULL, cost int NOT NULL);
CREATE TABLE clinical.labs (
  id bigint PRIMARY KEY, encounter bigint NOT NULL REFERENCES clinical.encounters, value int NOT NULL);
CREATE TABLE billing.patients (patient_id int PRIMARY KEY REFERENCES core.patients, payer text);
CREATE TABLE billing.invoices (id bigint PRIMARY KEY, patient_id int NOT NULL REFERENCES core.patients, amount int NOT NULL);
INSERT INTO core.patients SELECT n, '1980-01-01', n % 4 FROM generate_series(1, 1000) n;
INSERT INTO "Ref"."Zones" SELECT n, 'zone ' || n FROM generate_series(1, 4) n;
INSERT INTO hr.zones SELECT n, 'floor ' || n FROM generate_series(1, 4) n;
INSERT INTO clinical.encounters
  SELECT n, n % 1000 + 1, n % 4 + 1, CASE n % 2 WHEN 0 THEN 'low' ELSE 'high' END::clinical.severity, 10
  FROM generate_series(1, 4000) n;
INSERT INTO clinical.labs SELECT n, n % 4000 + 1, 5 FROM generate_series(1, 8000) n;
INSERT INTO billing.patients SELECT n, 'state' FROM generate_series(1, 500) n;
INSERT INTO billing.invoices SELECT n, n % 1000 + 1, 20 FROM generate_series(1, 2000) n;
"""
_MORE = (
    "".join(
        f"CREATE TABLE {schema}.{name} (id bigint PRIMARY KEY, patient_id int NOT NULL REFERENCES core.patients, x int);"
        for schema in _SCHEMAS
        for name in ("notes", "orders", "visits", "events")
    )
    + "CREATE TABLE hr.staff (staff_id int PRIMARY KEY, patient_id int REFERENCES core.patients);"
    + "CREATE VIEW core.v AS SELECT 1 AS a;"
)
_READER = """
CREATE ROLE five_reader LOGIN PASSWORD 'p'; ALTER ROLE five_reader SET search_path = clinical, core;
GRANT USAGE ON SCHEMA core, clinical, billing, hr, "Ref" TO five_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA core, clinical, billing, hr, "Ref" TO five_reader;
"""
_CONFIG = """\
dataset: hospital
engine: {{kind: postgres, dsn: {dsn!r}}}
schemas: schemas
search_path: [clinical, core]
budget: {{patient: {{epsilon: 100000}}}}
roles: {{analyst: {{protects: patient, budget: {{epsilon: 100000}}, per_query: {{epsilon: 500}}}}}}
users: {{}}
"""


@pytest.fixture(scope="module")
def source(postgres: Postgres) -> Iterator[str]:
    """Give the address of the hospital's database, as its reader."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE five_schemas")
        with psycopg.connect(postgres.dsn("five_schemas"), autocommit=True) as five:
            five.execute((_DDL + _MORE + _READER).encode())
        yield f"{postgres.dsn('five_schemas')} user=five_reader password=p"
        connection.execute("DROP DATABASE five_schemas WITH (FORCE)")
        connection.execute("DROP ROLE five_reader")


@pytest.fixture(scope="module")
def config(source: str) -> Iterator[Path]:
    """Draft, and say what only the owner knows."""
    with TemporaryDirectory(prefix="dpsql-five-") as place:
        Path(place).chmod(0o711)
        made = Path(place) / "schemas"
        words = ["init", source, "-d", str(made), "--unit", "patient=core.patients.patient_id"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert "five_reader: clinical, core" in done.stdout
        assert len(list(made.glob("*/*.yaml"))) == 25
        for name, columns in (
            ("clinical/encounters", {"cost": "bounds: [0, 100]"}),
            ("clinical/labs", {"value": "bounds: [0, 10]"}),
            ("billing/invoices", {"amount": "bounds: [0, 100]"}),
        ):
            file = made / f"{name}.yaml"
            text = file.read_text()
            for column, said in columns.items():
                assert f"{column}: {{type: integer}}" in text
                text = text.replace(f"{column}: {{type: integer}}", f"{column}: {{type: integer, {said}}}")
            file.write_text(text)
        for name in ("Ref/Zones", "hr/zones", "core/v"):
            file = made / f"{name}.yaml"
            file.write_text(file.read_text() + "public: true\n")
        config = Path(place) / "config.yaml"
        config.write_text(_CONFIG.format(dsn=source))
        checked = CliRunner().invoke(app, ["check", "--config", str(config)])
        assert checked.exit_code == 0, checked.output
        yield config


@pytest.fixture(scope="module")
def connect(config: Path) -> Iterator[Connect]:
    """Serve it."""
    with connections(config) as connected:
        yield connected


STATEMENTS = (
    "SELECT count(*) FROM core.patients",
    "SELECT count(*) FROM patients",
    "SELECT count(*) FROM billing.patients",
    "SELECT count(*) FROM encounters",
    "SELECT sum(e.cost) FROM clinical.encounters AS e WHERE e.severity = 'high'",
    "SELECT count(*) FROM clinical.encounters WHERE severity = 'high'::clinical.severity",
    "SELECT count(*) FROM encounters WHERE severity >= 'low'::severity",
    "SELECT severity, count(*) FROM clinical.encounters GROUP BY severity ORDER BY severity",
    'SELECT z.name, count(*) FROM clinical.encounters e JOIN "Ref"."Zones" z USING (zone_id) GROUP BY z.name ORDER BY 1',
    "SELECT z.name, count(*) FROM encounters e JOIN hr.zones z ON z.zone_id = e.zone_id GROUP BY z.name ORDER BY 1",
    "SELECT count(*) FROM core.patients p JOIN billing.patients b USING (patient_id)",
    "SELECT count(*) FROM billing.patients b JOIN patients ON patients.patient_id = b.patient_id AND patients.region = 1",
    "SELECT count(*) FROM clinical.labs l JOIN clinical.encounters e ON e.id = l.encounter",
    "SELECT count(*) FROM patients p WHERE EXISTS (SELECT 1 FROM billing.patients b WHERE b.patient_id = p.patient_id)",
    "WITH p AS (SELECT patient_id FROM billing.patients) SELECT count(*) FROM p",
    "SELECT (SELECT count(*) FROM core.patients), (SELECT count(*) FROM billing.patients)",
    'SELECT count(*) FROM "Ref"."Zones"',
    "SELECT name FROM hr.zones ORDER BY zone_id LIMIT 1",
)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_statement_goes_on_unchanged(connect: Connect, source: str, sql: str) -> None:
    """What the database answered is answered, with noise that rounds to nothing here."""
    with psycopg.connect(source) as before:
        expected = before.execute(sql.encode()).fetchall()
    answer = connect("analyst").execute(sql).fetchall()
    assert len(answer) == len(expected)
    for row, exact in zip(answer, expected, strict=True):
        for cell, value in zip(row, exact, strict=True):
            assert abs(cell - value) <= 5 + value // 50 if isinstance(value, int) else cell == value


def test_tools_find_tables_by_schema(connect: Connect) -> None:
    """As psql asks for schemas, tables and one of them, and so do JDBC and Superset."""
    asking = connect("analyst")
    schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1"
    assert [name for (name,) in asking.execute(schemas)] == [
        "Ref",
        "billing",
        "clinical",
        "core",
        "dpsql",
        "hr",
        "public",
    ]
    listed = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'clinical' ORDER BY 1"
    assert [name for (name,) in asking.execute(listed)] == ["encounters", "events", "labs", "notes", "orders", "visits"]
    assert asking.execute("SHOW search_path").fetchone() == ("clinical, core",)
    visible = (
        "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relname = 'patients' AND {}"
    )
    assert asking.execute(visible.format("pg_table_is_visible(c.oid)")).fetchall() == [("core",)]
    assert asking.execute(
        "SELECT 'clinical.encounters'::regclass::text, 'billing.patients'::regclass::text"
    ).fetchone() == (
        "encounters",
        "billing.patients",
    )
