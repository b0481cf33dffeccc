"""docs/thirty-minutes.md on a MariaDB with the same hospital, as docs/databases.md says that it is to be followed there."""

import os
import sys
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from tests.clients.installed.mariadb import mariadb
from tests.docs.followed import followed_elsewhere, steps
from tests.docs.hospital import PATIENTS
from tests.docs.pages import ROOT, _blocks, statements

DDL = """
CREATE TABLE departments (
  department_id smallint PRIMARY KEY, name varchar(40) NOT NULL) COMMENT 'the hospital''s departments';
CREATE TABLE patients (
  patient_id int PRIMARY KEY, born date NOT NULL, sex enum('female', 'male', 'other'),
  region varchar(20) NOT NULL COMMENT 'where they live', photo longblob) COMMENT 'one row per person';
CREATE TABLE admissions (
  admission_id bigint PRIMARY KEY, patient_id int NOT NULL REFERENCES patients (patient_id),
  department_id smallint NOT NULL REFERENCES departments (department_id), admitted datetime NOT NULL, days int NOT NULL,
  cost decimal(10, 2));
CREATE TABLE labs (
  lab_id bigint NOT NULL, admission_id bigint NOT NULL REFERENCES admissions (admission_id), test varchar(10) NOT NULL,
  value double, taken datetime NOT NULL, PRIMARY KEY (lab_id, taken));
INSERT INTO departments SELECT seq, elt(seq, 'Surgery', 'Cardiology', 'Oncology', 'Paediatrics') FROM seq_1_to_4;
INSERT INTO patients SELECT seq, date '1930-01-01' + INTERVAL seq * 7919 % 34000 DAY,
  elt(1 + seq % 4, 'female', 'male', 'other', NULL), elt(1 + seq * 31 % 4, 'North', 'South', 'East', 'West'), NULL
  FROM seq_1_to_20000;
INSERT INTO admissions SELECT seq, 1 + seq * 7907 % 20000, 1 + seq % 4, '2024-01-01' + INTERVAL seq * 211 % 730 DAY,
  1 + seq % 20, seq * 37 % 9000 FROM seq_1_to_40000;
INSERT INTO labs SELECT seq, 1 + seq * 104729 % 40000, elt(1 + seq % 3, 'Na', 'K', 'Hb'), seq * 17 % 150,
  '2024-01-01' + INTERVAL seq * 13 % 730 DAY FROM seq_1_to_60000;
"""
"""The hospital of the page, in MariaDB's words: it was made up, and is the same."""


def test_the_page_leads_to_answers_on_mariadb(tmp_path: Path) -> None:
    """Each step does what it says; the answers are near the truth, as they are on PostgreSQL."""
    (asked,) = steps("sql", "ask")
    (account,) = (block.text for block in _blocks(ROOT / "docs" / "databases.md") if block.info == ("sql", "mariadb"))
    with mariadb() as server:
        server.do("CREATE DATABASE hospital")
        with server.owner("hospital") as owner, owner.cursor() as cursor:
            for statement in filter(str.strip, DDL.split(";\n")):
                cursor.execute(statement)

        def as_owner(_: str) -> None:
            server.do("DROP USER dpsql_reader@'%'", *filter(str.strip, account.split(";\n")))

        url = server.url("dpsql_reader", "choose another").replace("/records", "/hospital")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOSPITAL": url}
        engine = 'engine: {kind: copy, from: "${HOSPITAL}", snapshot: true}'
        assert engine in (ROOT / "docs" / "databases.md").read_text()
        with (
            followed_elsewhere(environment, as_owner, tmp_path / "home", engine) as led,
            psycopg.connect(led.dsn, autocommit=True) as connection,
        ):
            answers = [connection.execute(text.encode()).fetchall() for text in statements(asked)]
            server.stop()  # nobody asks it any more
            again = connection.execute("SELECT count(*) FROM admissions WHERE days > 3").fetchall()
            with pytest.raises(psycopg.Error, match="rows of patients are protected"):
                connection.execute("SELECT * FROM patients")
    assert "patients: left out, since dpsql has no such type: photo (longblob)" in led.said
    assert "patients.patient_id: 2 tables lead there" in led.said
    assert "the database has every declared table and column, and each can be copied" in led.said
    by_department, by_quarter, by_region, left = answers
    assert sum(number for _, number, *_ in by_department) == pytest.approx(2 * PATIENTS, rel=0.1)
    days = sum(number * float(mean) for _, number, mean, _ in by_department)
    assert days / sum(number for _, number, *_ in by_department) == pytest.approx(10.5, abs=4)
    assert (len(by_quarter), len(by_region), left[0][1]) == (3 * 8, 4 * 4, 16)
    assert again[0][0] == pytest.approx(2 * PATIENTS * 17 / 20, rel=0.1)


def test_each_table_of_the_page_is_one_that_init_writes_of_mariadb(tmp_path: Path) -> None:
    """Types, references and comments are as on PostgreSQL, but for the name of an enumeration's type."""
    with mariadb() as server:
        with server.owner() as owner, owner.cursor() as cursor:
            for statement in filter(str.strip, DDL.split(";\n")):
                cursor.execute(statement)
        done = CliRunner().invoke(
            app, ["init", server.url(), "--unit", "patient=patients.patient_id", "-d", str(tmp_path / "new")]
        )
    assert done.exit_code == 0, done.output
    for block in steps("yaml", "step"):
        if not block.info[2].startswith("schemas/"):
            continue
        drafted = (tmp_path / "new" / Path(block.info[2]).name).read_text()
        for line in block.text.splitlines():
            plain = line.replace("type_name: sex", "type_name: patients_sex")
            for gone in (", bounds: ", ", values: [Na", ", values: [North"):
                plain = plain.partition(gone)[0]
            if line.startswith(("  ", "key:")) and "privacy" not in line and "max_rows" not in line:
                assert plain.removesuffix("}") in drafted, (block.info[2], plain)
