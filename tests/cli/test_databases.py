"""Commands on a database that is copied: a draft, a check before there is any copy, copies, and what is told of them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app

RUN = CliRunner()
DDL = """
CREATE TABLE wards (ward_id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL);
CREATE TABLE people (person_id INTEGER PRIMARY KEY, born DATE NOT NULL, pay DECIMAL(10, 2), photo BLOB, note);
CREATE TABLE stays (stay_id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES people (person_id),
  ward_id INTEGER REFERENCES wards (ward_id), begun DATETIME, urgent BOOLEAN);
CREATE TABLE tests (stay_id INTEGER REFERENCES stays (stay_id), value REAL);
INSERT INTO wards VALUES (1, 'North'), (2, 'South');
INSERT INTO people VALUES (1, '1990-01-01', 12.5, NULL, 'Ada'), (2, 'Lovelace', 1e3, NULL, 'Ada');
INSERT INTO stays VALUES (10, 1, 1, '2024-01-01 10:00:00', 'Y'), (11, 2, NULL, 'Lovelace', 0);
INSERT INTO tests VALUES (10, 1.5), (10, 'Lovelace'), (11, 3);
"""
SCHEMAS = {
    "wards": "table: wards\npublic: true\nkey: ward_id\ncolumns:\n  ward_id: {type: integer}\n  name: {type: text}\n",
    "people": (
        "table: people\nkey: person_id\nprivacy_units:\n  person: {column: person_id, max_rows: 1}\ncolumns:\n"
        "  person_id: {type: integer}\n  born: {type: date, nullable: true, bounds: [1900-01-01, 2030-01-01]}\n"
    ),
    "stays": (
        "table: stays\nkey: stay_id\nprivacy_units:\n  person: {column: person_id, max_rows: 5}\ncolumns:\n"
        "  stay_id: {type: integer}\n  person_id: {type: integer, references: people.person_id}\n"
        "  ward_id: {type: integer, nullable: true, references: wards.ward_id}\n"
        "  begun: {type: timestamp, nullable: true, bounds: [2024-01-01, 2026-01-01]}\n"
        "  urgent: {type: boolean, nullable: true}\n"
    ),
    "tests": (
        "table: tests\nprivacy_units:\n  person: {through: stay_id, max_rows: 9}\ncolumns:\n"
        "  stay_id: {type: integer, references: stays.stay_id}\n"
        "  value: {type: double precision, nullable: true, bounds: [0, 10]}\n"
    ),
}
CONFIG = """
dataset: clinic
engine: {kind: copy, from: "${RECORDS}", snapshot: true}
schemas: schemas
listen: {host: 127.0.0.1, port: 0}
budget:
  person: {epsilon: 10}
roles:
  analyst: {protects: person, budget: {epsilon: 5}, per_query: {epsilon: 1}}
users: {}
"""


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Give a file of SQLite's."""
    with closing(sqlite3.connect(tmp_path / "records.db")) as connection:
        connection.executescript(DDL)
    return tmp_path / "records.db"


@pytest.fixture
def config(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a configuration of it, whose URL is in the environment."""
    monkeypatch.setenv("RECORDS", f"sqlite:///{records}")
    (tmp_path / "schemas").mkdir()
    for name, text in SCHEMAS.items():
        (tmp_path / "schemas" / f"{name}.yaml").write_text(text)
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path / "config.yaml"


def test_schema_files_are_drafted(records: Path, tmp_path: Path) -> None:
    """Types, keys, references, what may be NULL, and whose rows they are, through other tables, too; no record is read."""
    done = RUN.invoke(
        app, ["init", f"sqlite:///{records}", "-u", "person=people.person_id", "-d", str(tmp_path / "new")]
    )
    assert done.exit_code == 0, done.output
    assert "people: left out, since dpsql has no such type: photo (blob)" in done.output
    assert 'engine: {kind: copy, from: "${SOURCE_URL}", snapshot: true}' in done.output
    assert "people.person_id: 2 tables lead there" in done.output
    drafted = {file.stem: file.read_text() for file in (tmp_path / "new").iterdir()}
    assert drafted["stays"].endswith(
        "key: stay_id\n"
        "privacy_units:\n"
        "  person: {column: person_id}  # with max_rows: N, where nearly all have no more rows; else it is chosen for each "
        "statement\n"
        "columns:\n"
        "  stay_id: {type: integer}\n"
        '  person_id: {type: integer, references: "people.person_id"}\n'
        '  ward_id: {type: integer, references: "wards.ward_id", nullable: true}\n'
        "  begun: {type: timestamp, nullable: true}\n"
        "  urgent: {type: boolean, nullable: true}\n"
    )
    assert '  pay: {type: "numeric(10,2)", nullable: true}\n' in drafted["people"]
    assert "  note: {type: text, nullable: true}\n" in drafted["people"]
    assert "  person: {through: stay_id}" in drafted["tests"]
    assert not any(word in text for text in drafted.values() for word in ("Ada", "Lovelace"))


def test_it_is_checked_before_there_is_a_copy(config: Path, tmp_path: Path) -> None:
    """Without making one; the report of --data needs one."""
    done = RUN.invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 0, done.output
    assert "the database is SQLite 3." in done.output
    assert "the database has every declared table and column, and each can be copied" in done.output
    assert not list(tmp_path.rglob("*.duckdb"))
    without = RUN.invoke(app, ["check", "--data", "--config", str(config)])
    assert without.exit_code == 1
    assert "--data reads the copy of the records, and there is none yet" in without.output
    assert RUN.invoke(app, ["refresh", "--config", str(config)]).exit_code == 0
    with_one = RUN.invoke(app, ["check", "--data", "--config", str(config)])
    assert with_one.exit_code == 0, with_one.output


def test_what_serving_would_fail_at_fails_a_check(config: Path, records: Path) -> None:
    """A public table whose key is none, and a column of another type."""
    file = config.parent / "schemas" / "people.yaml"
    file.write_text(file.read_text() + "  photos: {type: text}\n")
    done = RUN.invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 1
    assert 'schemas/people.yaml: column "photos" of table "people": the engine has no such column' in done.output
    file.write_text(SCHEMAS["people"])
    with closing(sqlite3.connect(records)) as connection:
        connection.executescript(
            "DROP TABLE wards; CREATE TABLE wards (ward_id, name); INSERT INTO wards VALUES (1, 'a'), (1, 'b')"
        )
    done = RUN.invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 1
    assert 'the key "ward_id" of public table "wards" is not unique' in done.output


def test_a_copy_tells_the_operator_how_many_values_are_not_as_declared(config: Path) -> None:
    """By table and column, and nobody by value."""
    done = RUN.invoke(app, ["refresh", "--config", str(config)])
    assert done.exit_code == 0, done.output
    assert [line for line in done.output.splitlines() if "NULL" in line] == [
        'snapshot: table people, column "born": 1 values are not as declared, and NULL',
        'snapshot: table stays, column "begun": 1 values are not as declared, and NULL',
        'snapshot: table tests, column "value": 1 values are not as declared, and NULL',
    ]
    assert "epoch 1 has begun, with the snapshot of" in done.output
    assert "Lovelace" not in done.output


def test_questions_are_answered_from_it(config: Path, records: Path) -> None:
    """Also where the database is gone by then."""
    assert RUN.invoke(app, ["refresh", "--config", str(config)]).exit_code == 0
    records.unlink()
    asked = ["query", "--config", str(config), "--role", "analyst", "SELECT count(*) > -1000 FROM stays"]
    done = RUN.invoke(app, asked)
    assert done.exit_code == 0, done.output
    again = RUN.invoke(app, ["refresh", "--config", str(config)])
    assert again.exit_code == 1
    assert "there is no SQLite file" in again.output
    assert RUN.invoke(app, asked).exit_code == 0


def test_a_password_is_told_to_nobody(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong, by whichever command."""
    for url in ("mysql://reader:hunter2@127.0.0.1:1/x", "mysql://reader:hunter2@host:port/x", "nothing://a:hunter2@b"):
        monkeypatch.setenv("RECORDS", url)
        for command in (["check"], ["refresh"]):
            done = RUN.invoke(app, [*command, "--config", str(config)])
            assert done.exit_code == 1
            assert "hunter2" not in done.output
        drafted = RUN.invoke(app, ["init", url, "-d", str(config.parent / "new")])
        assert drafted.exit_code == 1
        assert "hunter2" not in drafted.output
