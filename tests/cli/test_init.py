"""`dpsql init`: schema files from a catalogue."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.assembly import servable
from dpsql.cli.commands.init import joined_view
from dpsql.cli.main import app
from dpsql.cli.support.catalogue import CatalogueColumn, CatalogueTable
from dpsql.engines import connect
from dpsql.engines.connect import ADMITTED
from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.load import load
from dpsql.policy.load.document import Mistakes, parse_document
from dpsql.policy.load.shapes import TableShape, read_shape
from dpsql.shadow.server.postgres import OWNER, Postgres
from tests.docs.hospital import DDL as HOSPITAL
from tests.docs.hospital import rows
from tests.policy.fix_config import write_files

RUN = CliRunner()
DDL = (
    'CREATE TABLE people ("full name" VARCHAR(20), "null" INTEGER, born DATE, pay NUMERIC(10, 2), seen TIMESTAMPTZ,'
    " who UUID)"
)
RECORD = "Ada Lovelace"
CHOSEN = "  # with max_rows: N, where nearly all have no more rows; else it is chosen for each statement"


@pytest.fixture
def duckdb_file(tmp_path: Path) -> Path:
    """A DuckDB file with one table and one record."""
    path = tmp_path / "people.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(DDL)
        connection.execute("INSERT INTO people VALUES (?, 1, NULL, 2, NULL, NULL)", [RECORD])
    return path


def _expected(name_type: str, more: str = "") -> str:
    return (
        "columns:\n"
        f'  "full name": {{type: {name_type}{more}}}\n'
        f'  "null": {{type: integer{more}}}\n'
        f"  born: {{type: date{more}}}\n"
        f'  pay: {{type: "numeric(10,2)"{more}}}\n'
        f"  seen: {{type: timestamptz{more}}}\n"
        f"  who: {{type: uuid{more}}}\n"
    )


def test_from_duckdb(duckdb_file: Path, tmp_path: Path) -> None:
    """Names and types, yaml_name where YAML needs it; what has no type here is named."""
    done = RUN.invoke(app, ["init", str(duckdb_file), "--directory", str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    assert "snapshot" not in done.output
    text = (tmp_path / "new" / "people.yaml").read_text()
    assert text.endswith(_expected("text"))
    assert RECORD not in text


def test_dashboards_are_suggested_in_comments(tmp_path: Path) -> None:
    """Once, where it is said whose rows they are, with the reason; it loads as it stands, and changes nothing until then."""
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE visits (person INTEGER REFERENCES people (id), day DATE)")
    new = tmp_path / "new"
    done = RUN.invoke(app, ["init", str(path), "-d", str(new), "--unit", "person=people.id"])
    assert done.exit_code == 0, done.output
    assert "zcdp" not in (new / "visits.yaml").read_text()
    lines = (new / "people.yaml").read_text().splitlines()
    said = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    assert any("several times nearer" in line for line in said)
    assert any("with pure ε there is none" in line for line in said)
    suggested = "\n".join(said[next(i for i, line in enumerate(said) if line.startswith("budget:")) :])
    counted = {"epsilon": "1", "delta": "1e-6", "accounting": "zcdp"}
    document = parse_document(suggested.replace("…", "1"), "suggested", Mistakes())
    assert document is not None
    assert document.root == {
        "budget": {"person": counted},
        "roles": {"dashboards": {"protects": "person", "budget": counted, "per_query": {"epsilon": "1", "delta": "0"}}},
    }
    bare = parse_document((new / "people.yaml").read_text(), "people.yaml", Mistakes())
    assert bare is not None
    assert not {"budget", "roles"} & set(bare.root)


def test_a_table_that_grows_is_drafted(duckdb_file: Path, tmp_path: Path) -> None:
    """With what it takes besides; once bounds are declared, the loader takes it."""
    done = RUN.invoke(app, ["init", str(duckdb_file), "-d", str(tmp_path / "new"), "--grows", "people.born"])
    assert done.exit_code == 0, done.output
    assert "since a table grows: engine: snapshot: true" in done.output
    text = (tmp_path / "new" / "people.yaml").read_text()
    assert "grows: {by: born, closes: {every: day, after: 2 days}, term: year}\ncolumns:" in text
    assert "born: {type: date}  # it needs bounds" in text
    units = "privacy_units: {person: {column: who, max_rows: 3}}\n"
    bounded = text.replace("{type: date}", "{type: date, bounds: [2020-01-01, 2040-01-01]}")
    config = write_files(tmp_path, {"config.yaml": ("database: taxi.duckdb", "database: taxi.duckdb, snapshot: true")})
    config.write_text(
        config.read_text().replace("passenger: {epsilon", "person: {epsilon: 9}\n  passenger: {epsilon", 1)
    )
    (tmp_path / "schemas" / "people.yaml").write_text(bounded.replace("columns:", f"{units}columns:", 1))
    grows = load(config, {}).policy.tables["people"].grows
    assert grows == Grows("born", Every.DAY, 2, TermLength.YEAR, 30)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("people.seen", "a table grows by a date or a timestamp"),
        ("people.pay", "Of these people has born"),
        ("people.when", "is no table.column of the tables"),
        ("born", "is no table.column of the tables"),
    ],
)
def test_a_table_grows_by_a_time_that_it_has(duckdb_file: Path, tmp_path: Path, place: str, said: str) -> None:
    """Else nothing is written."""
    done = RUN.invoke(app, ["init", str(duckdb_file), "-d", str(tmp_path / "new"), "--grows", place])
    assert done.exit_code == 1
    assert said in " ".join(done.output.split())
    assert not (tmp_path / "new").exists()


def test_from_postgres(postgres: Postgres, tmp_path: Path) -> None:
    """The same from PostgreSQL, whose texts have lengths."""
    with psycopg.connect(postgres.dsn("postgres")) as connection:
        connection.execute(DDL.encode())
        connection.execute("INSERT INTO people VALUES (%s, 1, NULL, 2, NULL, NULL)", [RECORD])
    where = postgres.address
    url = f"postgresql://{OWNER}:{where.secret}@/postgres?host={where.directory}&port={where.port}"
    done = RUN.invoke(app, ["init", url, "--directory", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "snapshot: true" in done.output
    text = (tmp_path / "people.yaml").read_text()
    assert text.endswith(_expected("character varying(20)", ", nullable: true"))
    assert RECORD not in text


def test_the_files_are_yaml_for_the_loader(duckdb_file: Path, tmp_path: Path) -> None:
    """What is written can be read back."""
    RUN.invoke(app, ["init", str(duckdb_file), "--directory", str(tmp_path)])
    mistakes = Mistakes()
    document = parse_document((tmp_path / "people.yaml").read_text(), "people.yaml", mistakes)
    assert mistakes.gathered == []
    assert document is not None
    assert document.root["table"] == "people"


def test_json_is_left_to_the_owner(tmp_path: Path) -> None:
    """The line shows how paths are declared; without its sign of a comment the file can be read."""
    with duckdb.connect(tmp_path / "app.duckdb") as connection:
        connection.execute("CREATE TABLE events (person INTEGER, props JSON, place STRUCT(x INTEGER))")
    done = RUN.invoke(app, ["init", str(tmp_path / "app.duckdb"), "--directory", str(tmp_path)])
    assert "events: left out, since dpsql has no such type: place (struct" in done.output
    assert "events: JSON is left out until its file says which paths may be read: props" in done.output
    text = (tmp_path / "events.yaml").read_text()
    assert (
        "  # props: {type: json, paths: {plan: {type: text, values: [free, pro]}, age: {type: integer, bounds: [0, 120]}}}"
        "  # JSON: say what may be read of it\n"
    ) in text
    mistakes = Mistakes()
    document = parse_document(text.replace("  # props", "  props"), "events.yaml", mistakes)
    assert document is not None
    read_shape(TableShape, document, mistakes)
    assert mistakes.gathered == []


def test_nothing_is_overwritten(duckdb_file: Path, tmp_path: Path) -> None:
    """A file that exists is left alone, and none is written beside it."""
    (tmp_path / "people.yaml").write_text("mine")
    done = RUN.invoke(app, ["init", str(duckdb_file), "--directory", str(tmp_path)])
    assert done.exit_code == 1
    assert "exists already" in done.stderr
    assert (tmp_path / "people.yaml").read_text() == "mine"


def test_a_table_that_is_not_there(duckdb_file: Path, tmp_path: Path) -> None:
    """The hint says which there are."""
    done = RUN.invoke(app, ["init", str(duckdb_file), "--table", "x", "--directory", str(tmp_path)])
    assert done.exit_code == 1
    assert done.stderr == "ERROR: the database has no table x\nHINT: It has people.\n"


def test_no_database(tmp_path: Path) -> None:
    """A path that is no file is not created."""
    done = RUN.invoke(app, ["init", str(tmp_path / "none.duckdb")])
    assert done.exit_code == 1
    assert not (tmp_path / "none.duckdb").exists()


def test_labels_of_an_enumeration_are_not_written(tmp_path: Path) -> None:
    """They may have been made of values."""
    with duckdb.connect(tmp_path / "x.duckdb") as connection:
        connection.execute("CREATE TABLE t (a INTEGER, mood ENUM ('gloomy', 'merry'))")
    RUN.invoke(app, ["init", str(tmp_path / "x.duckdb"), "--directory", str(tmp_path)])
    lines = (tmp_path / "t.yaml").read_text().splitlines()
    assert lines[-1] == "  mood: {type: enum, values: []}  # its labels, in their order"


def test_labels_are_written_where_they_were_declared(postgres: Postgres, tmp_path: Path) -> None:
    """PostgreSQL's enumerations are made by their labels, in their order."""
    with psycopg.connect(postgres.dsn("postgres")) as connection:
        connection.execute(
            "CREATE TYPE mood AS ENUM ('so so', 'it''s', '\"x\"'); CREATE TABLE felt (a mood, b TIMESTAMP(3))"
        )
    where = postgres.address
    url = f"postgresql://{OWNER}:{where.secret}@/postgres?host={where.directory}&port={where.port}"
    RUN.invoke(app, ["init", url, "--directory", str(tmp_path), "--table", "felt"])
    lines = (tmp_path / "felt.yaml").read_text().splitlines()
    assert lines[-2:] == [
        """  a: {type: enum, type_name: mood, values: ["so so", "it's", "\\"x\\""], nullable: true}""",
        "  b: {type: timestamp, nullable: true}",
    ]


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_a_view_of_the_database_is_no_table_to_be_public(kind: str, postgres: Postgres, tmp_path: Path) -> None:
    """It may count people: then it would say exact numbers to everybody."""
    with psycopg.connect(postgres.dsn("postgres")) as connection:
        connection.execute(
            f"CREATE TABLE staff (a int); CREATE {kind} heads AS SELECT count(*) AS n FROM staff".encode()
        )
        connection.commit()
        where = postgres.address
        url = f"postgresql://{OWNER}:{where.secret}@/postgres?host={where.directory}&port={where.port}"
        RUN.invoke(app, ["init", url, "--directory", str(tmp_path), "--table", "heads", "--table", "staff"])
        connection.execute(f"DROP {kind} heads; DROP TABLE staff".encode())
    assert "Not public if it shows or counts people" in (tmp_path / "heads.yaml").read_text()
    assert "Not public if" not in (tmp_path / "staff.yaml").read_text()


@pytest.fixture(scope="module")
def hospital(postgres: Postgres) -> str:
    """How to connect to a hospital's database."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE hospital")
    with psycopg.connect(postgres.dsn("hospital"), autocommit=True) as connection:
        connection.execute(f"{HOSPITAL}{rows(50)}".encode())
        connection.execute("CREATE TABLE shifts (admission_id bigint, lab_id bigint, taken timestamp)")
        connection.execute("ALTER TABLE shifts ADD FOREIGN KEY (lab_id, taken) REFERENCES labs")
    return postgres.dsn("hospital")


def test_what_postgresql_knows_is_written(hospital: str, tmp_path: Path) -> None:
    """Keys, references and whose rows they lead to; base types of domains, comments, NULLs; what was left out is said."""
    done = RUN.invoke(app, ["init", hospital, "-d", str(tmp_path), "--unit", "patient=patients.patient_id"])
    assert done.exit_code == 0, done.output
    said = done.stdout.splitlines()
    assert "labs: its 2 partitions are read through it" in said
    assert "patients: left out, since dpsql has no such type: photo (bytea)" in said
    assert any(line.startswith("Left out are the tables of other schemas: billing (") for line in said)
    written = {path.stem: path.read_text().splitlines() for path in tmp_path.iterdir()}
    assert set(written) == {"admissions", "departments", "labs", "patients", "shifts"}
    for table, lines in {
        "patients": (
            'description: "one row per person"',
            "key: patient_id",
            "  patient: {column: patient_id, max_rows: 1}",
            '  sex: {type: enum, type_name: sex, values: ["female", "male", "other"], nullable: true}',
            '  region: {type: character varying(20), description: "where they live"}',
            "  # photo is left out: dpsql has no type for bytea",
        ),
        "admissions": (
            f"  patient: {{column: patient_id}}{CHOSEN}",
            '  department_id: {type: smallint, references: "departments.department_id"}',
            '  cost: {type: "numeric(10,2)", nullable: true}',
        ),
        "labs": (
            "key: [lab_id, taken]",
            f"  patient: {{through: admission_id}}{CHOSEN}",
            '  admission_id: {type: bigint, references: "admissions.admission_id"}',
        ),
        "shifts": ("references:", "  labs: {lab_id: lab_id, taken: taken}"),
        "departments": ("# privacy_units:", "key: department_id"),
    }.items():
        assert [line for line in lines if line not in written[table]] == []


JOINED = """\
view: |
  SELECT
    "labs"."lab_id" AS "lab_id",
    "labs"."admission_id" AS "admission_id",
    "labs"."test" AS "test",
    "labs"."value" AS "value",
    "labs"."taken" AS "taken",
    "admissions"."patient_id" AS "patient_id",
    "admissions"."department_id" AS "department_id",
    "admissions"."admitted" AS "admitted",
    "admissions"."days" AS "days",
    "admissions"."cost" AS "cost",
    "patients"."born" AS "born",
    "patients"."sex" AS "sex",
    "patients"."region" AS "region",
    "departments"."name" AS "name"
  FROM "labs" AS "labs"
  JOIN "admissions" AS "admissions" ON "admissions"."admission_id" = "labs"."admission_id"
  JOIN "patients" AS "patients" ON "patients"."patient_id" = "admissions"."patient_id"
  JOIN "departments" AS "departments" ON "departments"."department_id" = "admissions"."department_id"
"""


def test_views_have_what_a_row_belongs_to(hospital: str, tmp_path: Path) -> None:
    """Along keys, as far as they lead; they can be asked about as they are written."""
    made = tmp_path / "schemas"
    words = ["init", hospital, "-d", str(made), "--views", "--unit", "patient=patients.patient_id"]
    done = RUN.invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "LEFT JOIN" in (made / "shifts_joined.yaml").read_text()
    for file in made.glob("shifts*"):  # whose rows are nobody's that could be declared
        file.unlink()
    views = {path.stem for path in made.iterdir() if path.stem.endswith("_joined")}
    assert views == {"admissions_joined", "labs_joined"}
    assert JOINED in (made / "labs_joined.yaml").read_text()
    departments = made / "departments.yaml"
    departments.write_text(departments.read_text().replace("# privacy_units:", "public: true\n# privacy_units:"))
    (tmp_path / "config.yaml").write_text(
        f"dataset: hospital\nengine: {{kind: postgres, dsn: {hospital!r}}}\nschemas: schemas\n"
        "budget: {patient: {epsilon: 1}}\n"
        "roles: {analyst: {protects: patient, budget: {epsilon: 1}, per_query: {epsilon: 0.1}, tables: [labs_joined]}}\n"
    )
    policy = servable(tmp_path / "config.yaml").policy
    assert {*policy.views} == views


def test_a_second_way_to_a_person_is_no_part_of_a_view() -> None:
    """Who approved an absence is another person than who was absent: no join with both is answered."""
    staff = CatalogueTable({"id": CatalogueColumn("integer"), "name": CatalogueColumn("text")}, key=("id",))
    absent = CatalogueTable(
        {
            "who": CatalogueColumn("integer", references="staff.id"),
            "approved": CatalogueColumn("integer", references="staff.id"),
        }
    )
    tables = {"staff": staff, "absent": absent}
    assert str(joined_view("absent", tables)).count("JOIN") == 2
    assert str(joined_view("absent", tables, frozenset(tables))).count("JOIN") == 1


def test_one_kind_of_unit_is_drafted_at_a_time(tmp_path: Path) -> None:
    """The second would take the place of the first, which nobody would protect."""
    done = RUN.invoke(app, ["init", str(tmp_path), "--unit", "a=people.id", "--unit", "b=homes.id"])
    assert done.exit_code != 0
    assert "one kind of unit at a time, and not for a=people.id, b=homes.id" in " ".join(done.output.split())


HOMES = """
CREATE TABLE homes (home_id int PRIMARY KEY);
CREATE TABLE people (
  person_id int PRIMARY KEY, home_id int NOT NULL REFERENCES homes, referrer_id int REFERENCES people, born date NOT NULL
);
CREATE TABLE letters (
  letter_id int PRIMARY KEY, from_id int NOT NULL REFERENCES people, to_id int REFERENCES people,
  answers int REFERENCES letters
);
"""


def test_another_row_that_may_be_anothers_is_left_out(postgres: Postgres, tmp_path: Path) -> None:
    """Where homes are protected, who has referred somebody lives elsewhere; so does who gets a letter."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE homes")
    with psycopg.connect(postgres.dsn("homes"), autocommit=True) as connection:
        connection.execute(HOMES.encode())
    words = ["init", postgres.dsn("homes"), "-d", str(tmp_path / "schemas"), "--unit", "home=homes.home_id"]
    done = RUN.invoke(app, words)
    assert done.exit_code == 0, done.output
    people, letters = ((tmp_path / "schemas" / f"{name}.yaml").read_text() for name in ("people", "letters"))
    assert "  home: {column: home_id}" in people
    assert "  home: {through: from_id}" in letters
    for text, column in ((people, "referrer_id"), (letters, "to_id"), (letters, "answers")):
        assert f"  # {column} leads to another row, which may be a second home's, who is not" in text
        assert f"# privacy_units: {{other_home: {{through: {column}}}}}" in text
        assert f"\n  # {column}: {{type: integer, references:" in text


SHOP = """
CREATE TABLE customers (customer_id uuid PRIMARY KEY, referrer_id uuid REFERENCES customers, country text NOT NULL);
CREATE TABLE gifts (
  gift_id int PRIMARY KEY, to_id uuid REFERENCES customers, from_id uuid NOT NULL REFERENCES customers, at date NOT NULL
);
CREATE TABLE friends (a uuid REFERENCES customers, b uuid REFERENCES customers, PRIMARY KEY (a, b));
"""


def test_another_person_of_a_row_is_left_out(postgres: Postgres, tmp_path: Path) -> None:
    """A row is the unit's who always stands in it; who else does is not protected by it, and the draft says so."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE shop")
    with psycopg.connect(postgres.dsn("shop"), autocommit=True) as connection:
        connection.execute(SHOP.encode())
    words = ["init", postgres.dsn("shop"), "-d", str(tmp_path / "schemas"), "--views"]
    done = RUN.invoke(app, [*words, "--unit", "customer=customers.customer_id"])
    assert done.exit_code == 0, done.output
    gifts, customers = ((tmp_path / "schemas" / f"{name}.yaml").read_text() for name in ("gifts", "customers"))
    assert "  customer: {column: from_id}" in gifts
    assert '  from_id: {type: uuid, references: "customers.customer_id"}\n' in gifts
    assert "  # to_id is a second customer, who is not protected in these rows, and left out; or a kind of its" in gifts
    assert "  # privacy_units: {other_customer: {column: to_id}}\n" in gifts
    assert '  # to_id: {type: uuid, references: "customers.customer_id", nullable: true}\n' in gifts
    assert "  # referrer_id is a second customer, who" in customers
    (tmp_path / "config.yaml").write_text(
        f"dataset: shop\nengine: {{kind: postgres, dsn: {postgres.dsn('shop')!r}}}\nschemas: schemas\n"
        "budget: {customer: {epsilon: 1}}\n"
        "roles: {analyst: {protects: customer, budget: {epsilon: 1}, per_query: {epsilon: 0.1}}}\n"
    )
    policy = servable(tmp_path / "config.yaml").policy
    assert {name: list(table.columns) for name, table in policy.tables.items()} == {
        "customers": ["customer_id", "country"],
        "gifts": ["gift_id", "from_id", "at"],
        "friends": ["a"],
    }
    assert "gifts_joined" in policy.views


def test_tables_of_other_schemas_are_taken_where_that_is_said(hospital: str, tmp_path: Path) -> None:
    """With what the configuration has to say of them, and with their references to tables of any schema."""
    with psycopg.connect(hospital, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS old; CREATE TABLE IF NOT EXISTS old.labs (lab_id bigint)")
    words = ["init", hospital, "-d", str(tmp_path), "--schema", "billing", "--schema", "old"]
    done = RUN.invoke(app, [*words, "--unit", "patient=patients.patient_id"])
    assert done.exit_code == 0, done.output
    assert "for config.yaml, in engine" not in done.stdout
    assert "Left out are the tables of other schemas" not in done.stdout
    lines = (tmp_path / "billing" / "invoices.yaml").read_text().splitlines()
    assert "table: billing.invoices" in lines
    assert f"  patient: {{column: patient_id}}{CHOSEN}" in lines
    assert (tmp_path / "old" / "labs.yaml").exists()


def test_references_to_tables_that_are_not_written_are_left_out(hospital: str, tmp_path: Path) -> None:
    """They would be no declared tables."""
    done = RUN.invoke(app, ["init", hospital, "-d", str(tmp_path), "--table", "admissions"])
    assert done.exit_code == 0
    assert "references" not in (tmp_path / "admissions.yaml").read_text()


def test_a_unit_that_is_no_column_is_refused(hospital: str, tmp_path: Path) -> None:
    """Before anything is written."""
    for unit in ("patients.patient_id", "patient=patients.id", "patient=people.patient_id"):
        done = RUN.invoke(app, ["init", hospital, "-d", str(tmp_path / "new"), "--unit", unit])
        assert (done.exit_code, f"--unit {unit} is no kind=table.column" in done.stderr) == (1, True)
    assert not (tmp_path / "new").exists()


def test_a_unit_that_is_no_key_is_told(hospital: str, tmp_path: Path) -> None:
    """It may be right, where nobody has a table of the patients; or a weight was named."""
    words = ["init", hospital, "--unit"]
    key = RUN.invoke(app, [*words, "patient=patients.patient_id", "-d", str(tmp_path / "key")])
    other = RUN.invoke(app, [*words, "patient=patients.sex", "-d", str(tmp_path / "other")])
    said = "patients.sex is not the key of patients (patient_id): rows with one value there are one patient's"
    assert (said in other.stdout, "is not the key" in key.stdout) == (True, False)


def test_a_table_named_like_a_path(tmp_path: Path) -> None:
    """A table's name can't lead out of the directory."""
    with duckdb.connect(tmp_path / "x.duckdb") as connection:
        connection.execute('CREATE TABLE "/up" (a INTEGER); CREATE TABLE "../up" (a INTEGER)')
        connection.execute('CREATE SCHEMA "/etc"; CREATE TABLE "/etc"."/up" (a INTEGER)')
    done = RUN.invoke(app, ["init", str(tmp_path / "x.duckdb"), "--directory", str(tmp_path / "in"), "-s", "/etc"])
    assert done.exit_code == 0
    assert sorted(file.name for file in (tmp_path / "in").iterdir()) == ["_etc__up.yaml", "_up.yaml"]
    assert "a dot in their names, which stands behind a schema: ../up." in done.stdout


@pytest.mark.parametrize("place", ["people", "people/*.parquet"])
def test_from_a_folder_of_files(place: str, tmp_path: Path) -> None:
    """One table, whose columns the first of them has."""
    (tmp_path / "people").mkdir()
    with duckdb.connect() as connection:
        connection.execute(DDL)
        for number in (1, 2):
            connection.execute(f"COPY people TO '{tmp_path}/people/{number}.parquet'")
    done = RUN.invoke(app, ["init", str(tmp_path / place), "--directory", str(tmp_path / "p")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "p" / "people.yaml").read_text().endswith(_expected("text"))


def test_from_a_folder_of_several_tables(tmp_path: Path) -> None:
    """One of each file, and of each folder below; the configuration is told which is where."""
    (tmp_path / "clinic" / "labs").mkdir(parents=True)
    with duckdb.connect() as connection:
        for name, columns in {"people.csv": "1 AS a", "wards.parquet": "1 AS b", "labs/1.parquet": "2 AS c"}.items():
            connection.execute(f"COPY (SELECT {columns}) TO '{tmp_path}/clinic/{name}'")
    (tmp_path / "clinic" / "readme.txt").touch()
    done = RUN.invoke(app, ["init", str(tmp_path / "clinic"), "--directory", str(tmp_path / "p")])
    assert done.exit_code == 0, done.output
    assert sorted(file.name for file in (tmp_path / "p").iterdir()) == ["labs.yaml", "people.yaml", "wards.yaml"]
    said = done.stdout.replace("\n", " ").replace('"', "")
    assert f"tables: {{labs: {tmp_path}/clinic/labs, people: {tmp_path}/clinic/people.csv, wards: " in said


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (("1.csv", "2.csv"), "tables: {v: PLACE/*.csv}"),
        (("1.parquet", "2.csv"), "tables: {1: PLACE/1.parquet, 2: PLACE/2.csv}"),
        (("v.csv", "v.parquet"), "tables: {v: PLACE/v.csv, v_parquet: PLACE/v.parquet}"),
        (("1.parquet", "2.parquet"), None),
        (("v.2024.parquet", "v.2025.parquet"), None),
    ],
)
def test_the_place_of_each_is_one_that_a_configuration_takes(
    files: Sequence[str], told: str | None, tmp_path: Path
) -> None:
    """A folder as a table's place has its Parquet files alone."""
    (tmp_path / "v").mkdir()
    with duckdb.connect() as connection:
        for name in files:
            connection.execute(f"COPY (SELECT 1 AS a) TO '{tmp_path}/v/{name}'")
    done = RUN.invoke(app, ["init", str(tmp_path / "v"), "--directory", str(tmp_path / "p")])
    assert done.exit_code == 0, done.output
    said = done.stdout.replace("\n", " ").replace('"', "")
    assert ("tables:" in said) is (told is not None)
    assert told is None or told.replace("PLACE", f"{tmp_path}/v") in said


def test_a_folder_without_records_is_told(tmp_path: Path) -> None:
    """Of folders below it Parquet alone counts, as for a table's place."""
    (tmp_path / "v" / "below").mkdir(parents=True)
    (tmp_path / "v" / "below" / "1.csv").write_text("a\n1\n")
    done = RUN.invoke(app, ["init", str(tmp_path / "v")])
    assert (done.exit_code, "there is no Parquet or CSV file" in done.stderr) == (1, True)


@pytest.mark.parametrize(("place", "said"), [("none/*.parquet", "there is no"), ("", "the argument is empty")])
def test_a_folder_without_files(place: str, said: str) -> None:
    """As where a variable of the shell is empty."""
    done = RUN.invoke(app, ["init", place])
    assert (done.exit_code, said in done.stderr) == (1, True)


def test_from_files(tmp_path: Path) -> None:
    """A Parquet file has types; a CSV file has names, and its values are not looked at."""
    with duckdb.connect() as connection:
        connection.execute(DDL)
        connection.execute("INSERT INTO people VALUES (?, 1, NULL, 2, NULL, NULL)", [RECORD])
        for kind in ("parquet", "csv"):
            connection.execute(f"COPY people TO '{tmp_path}/people.{kind}'")
    done = RUN.invoke(app, ["init", str(tmp_path / "people.parquet"), "--directory", str(tmp_path / "p")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "p" / "people.yaml").read_text().endswith(_expected("text"))
    done = RUN.invoke(app, ["init", str(tmp_path / "people.csv"), "--directory", str(tmp_path / "c")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "c" / "people.yaml").read_text()
    assert "  pay: {type: text}\n" in text
    assert RECORD not in text
    (tmp_path / "bad.parquet").write_text(RECORD)
    done = RUN.invoke(app, ["init", str(tmp_path / "bad.parquet")])
    assert (done.exit_code, RECORD in done.output) == (1, False)


def test_a_dsn_of_key_words(postgres: Postgres, tmp_path: Path) -> None:
    """As `engine.dsn` takes it; whatever is wrong with it, its password is not shown."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute(
            "CREATE SCHEMA sales; CREATE TABLE sales.orders (a INT); CREATE TABLE IF NOT EXISTS seen (a INT)"
        )
    done = RUN.invoke(app, ["init", postgres.dsn("postgres"), "--directory", str(tmp_path), "--table", "seen"])
    assert done.exit_code == 0, done.output
    assert "Left out are the tables of other schemas: sales (orders)." in done.stdout
    assert "--schema sales takes those of one, too." in done.stdout
    other = f"{postgres.dsn('postgres')} options='-c search_path=sales'"
    done = RUN.invoke(app, ["init", other, "--directory", str(tmp_path)])
    assert (done.exit_code, (tmp_path / "orders.yaml").exists()) == (0, True)
    for dsn in (
        "host=127.0.0.1 port=1 password=hidden",
        "password=hidden nonsense",
        "postgresql://u:hidden@127.0.0.1:1/x",
    ):
        done = RUN.invoke(app, ["init", dsn])
        assert (done.exit_code, "hidden" in done.output) == (1, False)


def test_other_schemas_of_a_file_are_named(tmp_path: Path) -> None:
    """They are taken where that is said, and not passed over in silence."""
    with duckdb.connect(tmp_path / "x.duckdb") as connection:
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders (a INT)")
    done = RUN.invoke(app, ["init", str(tmp_path / "x.duckdb"), "--directory", str(tmp_path)])
    assert done.exit_code == 1
    assert "Left out are the tables of other schemas: sales (orders). --schema sales takes those of one" in done.stderr
    done = RUN.invoke(app, ["init", str(tmp_path / "x.duckdb"), "--directory", str(tmp_path), "--schema", "sales"])
    assert done.exit_code == 0, done.output
    assert "table: sales.orders\n" in (tmp_path / "sales" / "orders.yaml").read_text()
    done = RUN.invoke(app, ["init", str(tmp_path / "x.duckdb"), "--directory", str(tmp_path), "--schema", "sale"])
    assert (done.exit_code, "no table is in the schema sale" in done.stderr) == (1, True)
    assert "There are tables in sales." in done.stderr


def test_a_version_that_is_not_admitted_is_told_first(
    hospital: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anybody writes schema files for nothing."""
    (told,) = (each for each in ADMITTED if (each.engine, each.version) == ("PostgreSQL", "15"))
    monkeypatch.setattr(connect, "ADMITTED", [told])
    done = RUN.invoke(app, ["init", hospital, "-d", str(tmp_path)])
    assert done.exit_code == 0
    assert done.output.startswith(
        "this is PostgreSQL 16; dpsql serves PostgreSQL 15, and others only with engine: {unv"
    )


_FIVE = """
CREATE SCHEMA core; CREATE SCHEMA clinical; CREATE SCHEMA billing; CREATE SCHEMA hr; CREATE SCHEMA "Ref";
CREATE TABLE core.patients (patient_id int PRIMARY KEY, born date);
CREATE TABLE "Ref".zones (zone_id int PRIMARY KEY, name text);
CREATE TABLE clinical.encounters (
  id bigint PRIMARY KEY, patient_id int REFERENCES core.patients, zone_id int REFERENCES "Ref".zones);
CREATE TABLE clinical.labs (id bigint PRIMARY KEY, encounter bigint NOT NULL REFERENCES clinical.encounters, value float);
CREATE TABLE billing.invoices (id bigint PRIMARY KEY, patient_id int REFERENCES core.patients, amount numeric(10,2));
CREATE TABLE billing.patients (patient_id int PRIMARY KEY REFERENCES core.patients, payer text);
CREATE TABLE hr.staff (staff_id int PRIMARY KEY);
CREATE ROLE init_reader LOGIN PASSWORD 'p' IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA core, clinical, billing, "Ref" TO init_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA core, billing, "Ref" TO init_reader; GRANT SELECT ON clinical.labs TO init_reader;
"""


@pytest.fixture
def five_schemas(postgres: Postgres) -> Iterator[str]:
    """Give the address of a database whose tables all lie in schemas, to somebody who may read most of them."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE five")
        with psycopg.connect(postgres.dsn("five"), autocommit=True) as five:
            five.execute(_FIVE)
        yield f"{postgres.dsn('five')} user=init_reader password=p"
        connection.execute("DROP DATABASE five WITH (FORCE)")
        connection.execute("DROP ROLE init_reader")


def test_what_there_is_in_five_schemas_is_told(five_schemas: str, tmp_path: Path) -> None:
    """The schemas with their tables, the rights that are missing, and whose rows there may be."""
    done = RUN.invoke(app, ["init", five_schemas, "-d", str(tmp_path / "schemas")])
    assert done.exit_code == 1
    for told in (
        "core (patients)",
        "clinical (encounters, labs)",
        "Ref (zones)",
        'GRANT SELECT ON "clinical"."encounters" TO "init_reader";',
        'GRANT USAGE ON SCHEMA "hr" TO "init_reader"; GRANT SELECT ON ALL TABLES IN SCHEMA "hr" TO "init_reader";',
        "core.patients.patient_id: 4 tables lead there",
        "Ref.zones.zone_id: 2 tables lead there",
    ):
        assert told in done.stderr
    assert "core.patients.patient_id: 4 tables lead there; " in done.stderr
    assert not (tmp_path / "schemas").exists()


@pytest.mark.parametrize("first", [True, False])
def test_a_unit_of_another_schema_brings_all_schemas(five_schemas: str, tmp_path: Path, first: bool) -> None:
    """Before the address or after it; tables keep their names, and are the units' by their references."""
    unit = ["--unit", "patient=core.patients.patient_id"]
    words = [*unit, five_schemas] if first else [five_schemas, *unit]
    done = RUN.invoke(app, ["init", *words, "-d", str(tmp_path / "schemas")])
    assert done.exit_code == 0, done.output
    made = tmp_path / "schemas"
    files = {str(file.relative_to(made))[:-5]: file.read_text(encoding="utf-8") for file in made.glob("*/*.yaml")}
    assert set(files) == {
        *("core/patients", "billing/patients", "Ref/zones", "clinical/encounters", "clinical/labs"),
        *("billing/invoices", "hr/staff"),
    }
    assert "table: core.patients\n" in files["core/patients"]
    assert "patient: {column: patient_id, max_rows: 1}" in files["core/patients"]
    assert 'patient_id: {type: integer, references: "core.patients.patient_id"' in files["billing/invoices"]
    assert "patient: {column: patient_id}" in files["billing/invoices"]
    assert "patient: {through: encounter}" in files["clinical/labs"]
    assert 'GRANT SELECT ON "clinical"."encounters" TO "init_reader";' in done.stdout
    assert "engine: tables: " not in done.stdout


def test_a_unit_that_is_not_there_is_answered_with_those_that_are(five_schemas: str, tmp_path: Path) -> None:
    """Whoever guesses is told."""
    done = RUN.invoke(app, ["init", five_schemas, "-d", str(tmp_path), "--unit", "patient=core.person.id"])
    assert done.exit_code == 1
    assert "core.patients.patient_id: 4 tables lead there" in done.stderr
