"""`dpsql check`."""

import re
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest
from typer.testing import CliRunner, Result

from dpsql.cli.main import app
from dpsql.engines.duckdb.engine import DuckDb, DuckPrepared
from dpsql.open_ledger import open_ledger, place_of_trail
from dpsql.policy.load import load
from dpsql.shadow.server.postgres import Postgres
from tests.policy.fix_config import write_files

RUN = CliRunner()
TRIPS = "passenger_id INT, pickup_ts TIMESTAMP, day DATE, zone INT, payment TEXT, fare DECIMAL(10, 2), seats SMALLINT"


def _make(path: Path, trips: str) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE trips ({trips}); CREATE TABLE zones (zone_id INT, borough TEXT)")


def test_without_an_engine_the_files_are_checked(tmp_path: Path) -> None:
    """No database is needed to be told that the files are right."""
    done = RUN.invoke(app, ["check", "--config", str(write_files(tmp_path)), "--files-only"])
    assert done.exit_code == 0
    assert "2 tables, 1 roles, 1 users" in done.stdout


def test_individuals_whom_no_role_protects_are_named(tmp_path: Path) -> None:
    """A kind that is spelt otherwise in one file: every question about its table would be refused."""
    path = write_files(tmp_path)
    (tmp_path / "schemas" / "more.yaml").write_text(
        "table: more\nprivacy_units: {passengers: {column: a, max_rows: 1}}\ncolumns: {a: {type: integer}}\n"
    )
    done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
    assert done.exit_code == 0, done.output
    assert "more.yaml: no role protects passengers, so nobody can ask about table more; roles protect passenger" in (
        done.stdout
    )


def test_a_public_table_of_individuals_is_told_of(tmp_path: Path) -> None:
    """Its rows are everybody's to read, and who the individuals are is what is protected."""
    path = write_files(tmp_path)
    (tmp_path / "schemas" / "people.yaml").write_text(
        "table: people\npublic: true\nkey: id\ncolumns: {id: {type: integer}}\n"
    )
    (tmp_path / "schemas" / "more.yaml").write_text(
        "table: more\nprivacy_units: {passenger: {column: a, max_rows: 1}}\n"
        "columns: {a: {type: integer, references: people.id}}\n"
    )
    done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
    assert done.exit_code == 0, done.output
    assert (
        "people.yaml: table people is public, and more.a, which names a passenger, refers to it: everybody may"
        in done.stdout
    )
    assert "give it privacy_units: {passenger: {column: id, max_rows: 1}} instead of public: true" in done.stdout


REFERRED = """\
table: customers
key: id
privacy_units: {passenger: {column: id, max_rows: 1}}
columns:
  id: {type: integer}
  referrer: {type: integer, references: customers.id}
"""


def test_a_second_person_of_a_row_is_told_of(tmp_path: Path) -> None:
    """Who is protected is the one in the unit's column; what counts others by their own is no secret to anybody."""
    path = write_files(tmp_path)
    (tmp_path / "schemas" / "customers.yaml").write_text(REFERRED)
    (tmp_path / "schemas" / "orders.yaml").write_text(
        "table: orders\nprivacy_units: {passenger: {column: buyer, max_rows: 9}, recipient: {column: to, max_rows: 9}}\n"
        "columns:\n  buyer: {type: integer}\n  to: {type: integer, references: customers.id}\n"
        "  seller: {type: integer, references: customers.id}\n"
    )
    done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
    assert done.exit_code == 0, done.output
    said = [line for line in done.stdout.splitlines() if "a second" in line]
    assert [line.partition(" names ")[0] for line in said] == [
        "note: schemas/customers.yaml: customers.referrer",
        "note: schemas/orders.yaml: orders.seller",
    ]
    assert said[1].endswith(
        "orders.seller names a second passenger of a row, by its reference to customers.id: only that of buyer is protected. "
        "Leave seller out, or give it a kind of its own that roles protect: privacy_units: {other_passenger: {column: "
        "seller}}"
    )


def test_a_second_person_by_another_row_is_told_of(tmp_path: Path) -> None:
    """Who referred a person is of another household, perhaps; and a second gift, of another giver."""
    path = write_files(tmp_path)
    texts = {
        "people": "privacy_units: {passenger: {column: home, max_rows: 4}}\ncolumns:\n  id: {type: integer}\n"
        "  home: {type: integer}\n  referrer: {type: integer, references: people.id}\n",
        "gifts": "privacy_units: {passenger: {through: person, max_rows: 9}}\ncolumns:\n"
        "  person: {type: integer, references: people.id}\n  thanked: {type: integer, references: people.id}\n",
    }
    for name, text in texts.items():
        key = "key: id\n" if name == "people" else ""
        (tmp_path / "schemas" / f"{name}.yaml").write_text(f"table: {name}\n{key}{text}")
    done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
    assert done.exit_code == 0, done.output
    said = [line for line in done.stdout.splitlines() if "a second" in line]
    assert len(said) == 2
    for line, column, protected in zip(said, ("gifts.thanked", "people.referrer"), ("person", "home"), strict=True):
        assert (
            f"{column} leads to a second passenger of a row, if the rows of people that it names are another's" in line
        )
        assert f"only that of {protected} is protected" in line
        assert line.endswith(f"privacy_units: {{other_passenger: {{through: {column.partition('.')[2]}}}}}")


def test_a_table_that_grows_beyond_its_bounds_is_told_of(tmp_path: Path) -> None:
    """New rows would all be of the last day that is declared; data that do not grow may end when they like."""
    path = write_files(tmp_path, {"config.yaml": ("database: taxi.duckdb", "database: taxi.duckdb, snapshot: true")})
    table = tmp_path / "schemas" / "trips.yaml"
    grown = table.read_text().replace(
        "columns:", "grows: {by: day, closes: {every: day, after: 2 days}, term: year}\ncolumns:"
    )
    said = "times beyond the bounds of day read as the nearest within, and conditions on them find no row; widen them"
    bounds = "day: {type: date, bounds: [2019-03-01, 2019-04-01]"
    for text, told in (
        (table.read_text(), False),
        (grown, True),
        (grown.replace(bounds, "day: {type: date, bounds: [2019-03-01, 2999-01-01]"), False),
        (grown.replace(bounds, "day: {type: date, bounds: [2998-03-01, 2999-01-01]"), True),
    ):
        table.write_text(text)
        done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
        assert (done.exit_code, said in done.stdout) == (0, told), done.output


def test_a_data_set_by_another_name_is_told_of(tmp_path: Path) -> None:
    """Its budgets begin anew, which may not be what was meant."""
    path = write_files(tmp_path)
    text = path.read_text()
    path.write_text(re.sub("ledger: .*\n", "", text))
    old = tmp_path / ".dpsql" / "old" / "ledger.db"
    old.parent.mkdir(parents=True)
    old.touch()
    done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
    assert "has no ledger yet, and all budgets are whole" in done.stdout
    assert str(old) in done.stdout


def test_a_missing_engine_is_a_failure(tmp_path: Path) -> None:
    """As for `serve`, which would not start."""
    done = RUN.invoke(app, ["check", "--config", str(write_files(tmp_path))])
    assert done.exit_code == 1
    assert "2 tables, 1 roles, 1 users" in done.stdout
    assert done.stderr.startswith("ERROR: there is no DuckDB file")


def test_a_server_that_can_not_be_asked_is_a_failure(tmp_path: Path, postgres: Postgres) -> None:
    """Nobody listens, the password is wrong, a table may not be read: each with what `serve` says; no password is shown."""
    engine = ("database: taxi.duckdb", "kind: postgres, dsn: {}")
    where = f"host={postgres.address.directory} dbname=postgres user=dpsql_checker password=hidden"
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as owner:
        owner.execute("CREATE ROLE dpsql_checker LOGIN PASSWORD 'hidden'")
        owner.execute(f"CREATE TABLE trips ({TRIPS}); CREATE TABLE zones (zone_id INT, borough TEXT)".encode())
    for dsn, said in (
        (f"{where} port=1", "the PostgreSQL server can't be asked"),
        (f"{where}-not port={postgres.address.port}", "the PostgreSQL server can't be asked"),
        ("password=hidden nonsense", "the PostgreSQL server can't be asked"),
        (f"{where} port={postgres.address.port}", 'the engine does not let dpsql read table "trips"'),
    ):
        path = write_files(tmp_path, {"config.yaml": (engine[0], "")})
        path.write_text(path.read_text().replace("kind: duckdb, ", f'kind: postgres, dsn: "{dsn}"'))
        done = RUN.invoke(app, ["check", "--config", str(path)])
        assert (done.exit_code, said in done.stderr) == (1, True), done.stderr
        assert "HINT" in done.stderr
        assert "hidden" not in done.output
    # Of two tables without rights both are told at once, with what grants them.
    assert 'the engine does not let dpsql read table "zones"' in done.stderr
    assert "GRANT SELECT ON " in done.stderr


def test_settings_of_the_environment_change_no_session(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are sent to every server; how an engine reads statements is not theirs to say."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as owner:
        owner.execute("CREATE DATABASE far")
        owner.execute("CREATE ROLE far LOGIN PASSWORD 'far'")
    with psycopg.connect(postgres.dsn("far"), autocommit=True) as owner:
        owner.execute(f"CREATE TABLE trips ({TRIPS}); CREATE TABLE zones (zone_id INT, borough TEXT)".encode())
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO far")
    where = postgres.address
    dsn = f"host={where.directory} port={where.port} dbname=far user=far password=far"
    path = write_files(tmp_path, {"config.yaml": ("database: taxi.duckdb", "")})
    path.write_text(path.read_text().replace("kind: duckdb, ", f'kind: postgres, dsn: "{dsn}"'))
    for name, value in (("PGTZ", "Asia/Tokyo"), ("PGDATESTYLE", "German"), ("PGCLIENTENCODING", "LATIN1")):
        monkeypatch.setenv(name, value)
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert done.exit_code == 0, done.output


def test_the_sandbox_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, whether there is one or not; a configuration that requires one is refused without."""
    path = write_files(tmp_path)
    monkeypatch.setattr("dpsql.shadow.server.sandbox.landlock_version", lambda: 4)
    monkeypatch.setattr("dpsql.shadow.server.sandbox.filters_available", lambda: True)
    assert (
        "the shadow runs in a sandbox of the kernel (Landlock 4, "
        in RUN.invoke(app, ["check", "--config", str(path)]).stdout
    )
    monkeypatch.setattr("dpsql.shadow.server.sandbox.landlock_version", lambda: 0)
    assert (
        "runs without a sandbox, because this kernel has no" in RUN.invoke(app, ["check", "--config", str(path)]).stdout
    )
    path.write_text(path.read_text() + "shadow: {sandbox: required}\n")
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert done.exit_code == 1
    assert "ERROR: the configuration requires a sandbox: " in done.stderr


def test_mistakes_go_to_stderr_with_their_code(tmp_path: Path) -> None:
    """One line a mistake, SQLSTATE F0000, exit code 1."""
    path = write_files(tmp_path, {"config.yaml": ("port: 5439", "port: x")})
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert done.exit_code == 1
    assert done.stderr == (
        f'ERROR: {path}:5: listen.port: is "x"; it must be a port from 0 to 65535\n'
        "HINT: 1 mistake in the configuration.\n"
    )


def test_the_engine_has_what_is_declared(tmp_path: Path) -> None:
    """Where the engine can be reached, its catalogue is compared; narrower integers may be declared wider."""
    path = write_files(tmp_path)
    _make(tmp_path / "taxi.duckdb", TRIPS.replace("zone INT", "zone SMALLINT"))
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert done.exit_code == 0
    assert "the engine has every declared table and column" in done.stdout


def _notes(config: Path) -> list[str]:
    done = RUN.invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 0, done.output
    return [line for line in done.stdout.splitlines() if line.startswith("note: ")]


def test_rows_that_statements_leave_out_are_told_of(tmp_path: Path) -> None:
    """By what the catalogue lets them have; it says nothing of views, nor of tables that were made of files."""
    path = write_files(tmp_path)
    with duckdb.connect(tmp_path / "taxi.duckdb") as connection:
        connection.execute("CREATE TYPE payment AS ENUM ('cash', 'no', 'Ada Lovelace')")
    _make(
        tmp_path / "taxi.duckdb",
        TRIPS.replace("payment TEXT", "payment payment").replace("day DATE", "day DATE NOT NULL"),
    )
    assert [note.removeprefix("note: schemas/trips.yaml: ") for note in _notes(path)] == [
        "payment has labels in the engine that values lacks, 1 in number; rows with one read as NULL",
        "passenger_id may be NULL in the engine: such rows are no passenger's, and never count",
        (
            "pickup_ts, zone, fare, seats may be NULL in the engine: statements that use one leave out the rows without it, "
            "unless the file says nullable: true"
        ),
    ]
    with duckdb.connect(tmp_path / "taxi.duckdb") as connection:
        connection.execute("ALTER TABLE trips RENAME TO stored; CREATE VIEW trips AS SELECT * FROM stored")
    assert [note for note in _notes(path) if "NULL in the engine" in note] == []
    with duckdb.connect(tmp_path / "taxi.duckdb") as connection:
        connection.execute("DROP VIEW trips; CREATE TABLE trips AS SELECT * FROM stored")
    assert [note for note in _notes(path) if "NULL in the engine" in note] == []


SHOP = """
CREATE TYPE status AS ENUM ('paid', 'sent', 'refunded', 'it''s');
CREATE DOMAIN at_hand AS int NOT NULL;
CREATE TABLE customers (id int PRIMARY KEY);
CREATE TABLE orders (
  buyer int NOT NULL REFERENCES customers, recipient int REFERENCES customers, of_stock at_hand, status status,
  at timestamptz NOT NULL
) PARTITION BY RANGE (at);
CREATE TABLE orders_a PARTITION OF orders FOR VALUES FROM ('2023-01-01') TO ('2026-01-01');
CREATE TABLE orders_b PARTITION OF orders FOR VALUES FROM (MINVALUE) TO ('2023-01-01');
CREATE TABLE orders_c PARTITION OF orders DEFAULT;
CREATE ROLE of_shop LOGIN PASSWORD 'shop';
GRANT SELECT ON ALL TABLES IN SCHEMA public TO of_shop;
"""


def test_what_postgresql_knows_beyond_the_files_is_told(tmp_path: Path, postgres: Postgres) -> None:
    """Labels, NULL behind domains, foreign keys that no file declares, and the times that partitions are for."""
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as owner:
        owner.execute("CREATE DATABASE of_shop")
    where = postgres.address
    dsn = f"host={where.directory} port={where.port} dbname=of_shop user=of_shop password=shop"
    path = write_files(tmp_path)
    path.write_text(path.read_text().replace("kind: duckdb, database: taxi.duckdb", f'kind: postgres, dsn: "{dsn}"'))
    path.write_text(path.read_text().replace("tables: [trips]", "tables: [orders]"))
    for file in (tmp_path / "schemas").iterdir():
        file.unlink()
    (tmp_path / "schemas" / "customers.yaml").write_text(
        "table: customers\nkey: id\nprivacy_units: {passenger: {column: id, max_rows: 1}}\ncolumns: {id: {type: integer}}\n"
    )
    (tmp_path / "schemas" / "orders.yaml").write_text(
        "table: orders\nprivacy_units: {passenger: {column: buyer, max_rows: 9}}\ncolumns:\n  buyer: {type: integer}\n"
        "  recipient: {type: integer, nullable: true}\n  of_stock: {type: integer, bounds: [0, 9]}\n"
        "  status: {type: enum, values: [paid, sent]}\n  at: {type: timestamptz, bounds: [2023-01-01, 2026-01-01]}\n"
    )
    with psycopg.connect(postgres.dsn("of_shop"), autocommit=True) as owner:
        owner.execute(SHOP.encode())
        said = [line.removeprefix("note: schemas/orders.yaml: ") for line in _notes(path)]
        assert [line.partition(":")[0] for line in said] == [
            "orders.recipient names a second passenger of a row, by its reference to customers.id",
            "status has labels in the engine that values lacks",
            "status may be NULL in the engine",
        ]
        assert said[1].endswith(
            """: "it's", 'refunded'; rows with one read as NULL, and are left out where status is used"""
        )
        owner.execute("CREATE TABLE orders_d PARTITION OF orders FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')")
        assert _notes(path)[-1] == (
            "note: schemas/orders.yaml: partitions have at from 2026-01-01 00:00:00+00 up to 2027-01-01 00:00:00+00: times "
            "beyond the bounds of at read as the nearest within, and conditions on them find no row; widen them"
        )


def test_the_engine_lacks_what_is_declared(tmp_path: Path) -> None:
    """Each missing column and each other type is a line."""
    path = write_files(tmp_path)
    _make(
        tmp_path / "taxi.duckdb", TRIPS.replace("fare DECIMAL(10, 2)", "fare VARCHAR").replace(", seats SMALLINT", "")
    )
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert done.exit_code == 1
    assert done.stderr == (
        "ERROR:\n"
        'schemas/trips.yaml: column "fare" of table "trips" is declared numeric(10,2), the engine has VARCHAR\n'
        'schemas/trips.yaml: column "seats" of table "trips": the engine has no such column\n'
        "HINT: Correct the schema files, or the tables.\n"
    )


def test_plain_check_reads_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --data only the catalogue and the public tables are."""
    path = write_files(tmp_path)
    _make(tmp_path / "taxi.duckdb", TRIPS)
    for owner, method in ((DuckPrepared, "rows"), (DuckDb, "for_owner")):
        monkeypatch.delattr(owner, method)
    assert RUN.invoke(app, ["check", "--config", str(path)]).exit_code == 0
    assert RUN.invoke(app, ["check", "--config", str(path), "--data"]).exit_code == 1


def test_a_public_tables_key_is_checked(tmp_path: Path) -> None:
    """The server would not start with one that identifies nothing."""
    path = write_files(tmp_path)
    _make(tmp_path / "taxi.duckdb", TRIPS)
    with duckdb.connect(tmp_path / "taxi.duckdb") as connection:
        connection.execute("INSERT INTO zones VALUES (1, 'Bronx'), (1, 'Queens')")
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert (done.exit_code, "is not unique" in done.stderr) == (1, True), done.output


def test_the_owners_report_says_that_it_is_private(tmp_path: Path) -> None:
    """Before any number."""
    path = write_files(tmp_path)
    _make(tmp_path / "taxi.duckdb", TRIPS)
    with duckdb.connect(tmp_path / "taxi.duckdb") as connection:
        connection.execute("INSERT INTO zones VALUES (1, 'Bronx')")
        connection.execute("INSERT INTO trips SELECT 1, NULL, NULL, 1, 'gold', 200, 1 FROM range(4)")
    done = RUN.invoke(app, ["check", "--config", str(path), "--data", "--groups", "1"])
    assert done.exit_code == 0
    before, _, after = done.stdout.partition("PRIVATE: exact numbers")
    assert "%" not in before
    assert "100.00 %" in after
    assert "4 rows" in after


def test_a_wrong_option_is_a_usage_error() -> None:
    """Exit code 2 is for the command line itself."""
    assert RUN.invoke(app, ["check", "--no-such-option"]).exit_code == 2


def test_json_schemas_are_written(tmp_path: Path) -> None:
    """No configuration is needed for them."""
    done = RUN.invoke(app, ["check", "--json-schema", str(tmp_path)])
    assert done.exit_code == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "config.schema.json",
        "table.schema.json",
        "view.schema.json",
    ]


def test_what_serve_would_not_start_with_is_a_failure(tmp_path: Path) -> None:
    """An address that is taken, a certificate that is none, a ledger that is gone, none, or of a newer dpsql."""
    config = write_files(tmp_path)
    _make(tmp_path / "taxi.duckdb", TRIPS)
    text = config.read_text()
    ledger = tmp_path / "ledger.db"
    text = re.sub(r"(?m)^(ledger|listen|web|state):.*\n", "", text) + "ledger: sqlite:///ledger.db\n"

    def checked(listen: str) -> Result:
        config.write_text(f"{text}listen: {listen}\n")
        return RUN.invoke(app, ["check", "--config", str(config)])

    free = "{host: 127.0.0.1, port: 0}"
    assert "its addresses and its ledger can be used" in checked(free).stdout
    assert not ledger.exists()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = checked(f"{{host: 127.0.0.1, port: {taken.getsockname()[1]}}}")
        assert (done.exit_code, "can't listen on 127.0.0.1" in done.stderr) == (1, True)
    (tmp_path / "server.crt").write_text("garbage")
    done = checked("{host: 127.0.0.1, port: 0, tls: {certificate: server.crt, key: server.crt}}")
    assert (done.exit_code, "can't be used as the server's certificate" in done.stderr) == (1, True)
    checked(free)
    open_ledger(load(config, {})).close()
    before = ledger.read_bytes()
    assert checked(free).exit_code == 0
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA user_version = 99")
    done = checked(free)
    assert (done.exit_code, f"ledger {ledger} has schema version 99" in done.stderr) == (1, True)
    ledger.write_bytes(before)
    ledger.rename(tmp_path / "away")
    done = checked(free)
    assert (done.exit_code, f"ledger {ledger} is gone" in done.stderr) == (1, True)
    ledger.write_bytes(b"no ledger at all" * 100)
    done = checked(free)
    assert (done.exit_code, f"ledger {ledger} can't be read" in done.stderr) == (1, True)


def test_a_ledger_on_a_server_is_tried_without_a_trace(tmp_path: Path, dsn: str) -> None:
    """What `serve` would make is not there afterwards; what it would not start with is said."""
    path = write_files(tmp_path, {"config.yaml": ("sqlite:///ledger.db", f"'{dsn}'")})
    _make(tmp_path / "taxi.duckdb", TRIPS)
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert done.exit_code == 0, done.output
    with psycopg.connect(dsn) as server:
        assert server.execute("SELECT to_regnamespace('dpsql_ledger')").fetchone() == (None,)
    path.write_text(path.read_text().replace("/database_", "/nowhere_"))
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert (done.exit_code, "can't be opened" in done.stderr, "does not exist" in done.stderr) == (1, True, True)


def test_a_trail_that_serve_could_not_write_is_told(tmp_path: Path) -> None:
    """Here somebody has planted a link in it."""
    path = write_files(tmp_path)
    _make(tmp_path / "taxi.duckdb", TRIPS)
    place = place_of_trail(load(path, {}))
    place.mkdir(parents=True, mode=0o700)
    (place / "head").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").touch()
    done = RUN.invoke(app, ["check", "--config", str(path)])
    assert (done.exit_code, "is a symbolic link" in done.stderr) == (1, True), done.output


def test_a_label_that_the_engine_lacks_is_a_failure_of_check_and_of_serve(tmp_path: Path) -> None:
    """Both say the same, before anything is served."""
    path = write_files(tmp_path, {"schemas/trips.yaml": ("payment: {type: text", "payment: {type: enum")})
    with duckdb.connect(tmp_path / "taxi.duckdb") as connection:
        connection.execute("CREATE TYPE payment AS ENUM ('cash', 'card')")
    _make(tmp_path / "taxi.duckdb", TRIPS.replace("payment TEXT", "payment payment"))
    for command in ("check", "serve"):
        done = RUN.invoke(app, [command, "--config", str(path)])
        assert (done.exit_code, "has no 'no' in the engine's enumeration" in done.stderr) == (1, True), done.output


@pytest.mark.parametrize(
    ("refresh", "window", "oldest", "said"),
    [
        ("monthly", "7 days", "", ["budget.passenger.window is 7 days, and a copy answers until the next month"]),
        ("weekly", "7 days", "", []),
        ("daily", "1 day", ", oldest: 3 days", []),
        (
            "never",
            "7 days",
            "",
            [
                "a copy of the records answers until somebody makes another (dpsql refresh), however old it is",
                "budget.passenger.window is 7 days, and a copy answers until somebody makes another (dpsql refresh)",
            ],
        ),
        (
            "never",
            "7 days",
            ", oldest: 3 days",
            ["budget.passenger.window is 7 days, and a copy answers until somebody"],
        ),
    ],
)
def test_what_an_old_copy_means_is_said(
    refresh: str, window: str, oldest: str, said: list[str], tmp_path: Path
) -> None:
    """Where nothing of a window becomes free while a copy answers, and where there is no end to how old one may be."""
    changes = {
        "config.yaml": ("database: taxi.duckdb", f"database: taxi.duckdb, snapshot: true{oldest}"),
    }
    path = write_files(tmp_path, changes)
    text = path.read_text().replace("passenger: {epsilon: ", f"passenger: {{window: {window}, epsilon: ", 1)
    text = re.sub(r"(?m)^refresh: .*\n", "", text)
    path.write_text(f"refresh: {refresh}\n{text}")
    done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if "a copy" in line]
    assert [line.startswith(start) for line, start in zip(lines, said, strict=True)] == [True] * len(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            [
                "roles.owner.budget: what a standing question of table trips costs counts in each week",
                "role owner aims",
            ],
        ),
        ({"refresh: daily": "refresh: never"}, ["no copy is made by itself (refresh: never)"]),
        ({"refresh: daily": "refresh: monthly"}, ["grows by the day, and a copy is made each month"]),
        (
            {"max_rows: 20": "max_rows: auto"},
            ["max_rows is auto, so that standing questions that protect a passenger begin once"],
        ),
        (
            {"{epsilon: 10, delta": "{window: 30 days, epsilon: 10, delta"},
            [
                "budget.passenger.window is 30 days: what a standing",
                "what any other question of table trips costs counts since",
            ],
        ),
        ({"delta: 1e-5}": "delta: 1e-5, accounting: zcdp}"}, ["budget.passenger adds up by zCDP"]),
    ],
)
def test_what_keeps_questions_from_standing_is_said(tmp_path: Path, changes: dict[str, str], said: list[str]) -> None:
    """Of a table that grows, and for how long what is paid for them counts; of others nothing."""
    path = write_files(tmp_path, {"config.yaml": ("database: taxi.duckdb", "database: taxi.duckdb, snapshot: true")})
    table = tmp_path / "schemas" / "trips.yaml"
    assert "standing" not in RUN.invoke(app, ["check", "--config", str(path), "--files-only"]).stdout
    table.write_text(
        table.read_text().replace(
            "columns:", "grows: {by: day, closes: {every: day, after: 2 days}, term: year}\ncolumns:"
        )
    )
    for file in (path, table):
        text = file.read_text()
        for old, new in changes.items():
            text = text.replace(old, new, 1)
        file.write_text(text)
    done = RUN.invoke(app, ["check", "--config", str(path), "--files-only"])
    assert done.exit_code == 0, done.output
    for line in said:
        assert any(line in printed for printed in done.stdout.splitlines()), done.stdout
