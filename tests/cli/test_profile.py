"""`dpsql profile`, with the server that it starts, a DuckDB file, and a ledger of its own."""

import csv
import json
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app

RUN = CliRunner()
_CONFIG = """\
dataset: rides
engine: {{kind: duckdb, database: rides.duckdb}}
schemas: schemas
listen: {{host: 127.0.0.1, port: 0}}
budget:
  rider: {{epsilon: 100{profile}}}
  driver: {{epsilon: 100}}
roles:
  owner: {{protects: rider, {first}budget: {{epsilon: 50}}, per_query: {{epsilon: 1}}, owner: true}}
  poor: {{protects: rider, budget: {{epsilon: 1}}, per_query: {{epsilon: 1}}}}
  both: {{protects: rider, budget: {{epsilon: 50}}, per_query: {{epsilon: 1}}}}
users: {{}}
"""
_SCHEMA = """\
table: rides
expected_rows: 10000
privacy_units:
  rider: {column: rider, max_rows: 3}
  driver: {column: driver, max_rows: 400}
columns:
  rider: {type: integer}
  driver: {type: integer}
  fare: {type: integer, bounds: [0, 50]}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """2,000 riders with five rides each, of which one has a fare above the bounds."""
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o711)
    with duckdb.connect(str(tmp_path / "rides.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE rides AS SELECT (i // 5)::INTEGER AS rider, (i % 7)::INTEGER AS driver, "
            "(CASE i % 5 WHEN 0 THEN 90 ELSE 20 END)::INTEGER AS fare FROM range(10000) AS r(i)"
        )
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "rides.yaml").write_text(_SCHEMA, encoding="utf-8")
    return tmp_path


def _run(place: Path, profile: str, *options: str, given: str | None = None, first: str = "") -> tuple[int, str, str]:
    config = place / "config.yaml"
    config.write_text(_CONFIG.format(profile=profile, first=first), encoding="utf-8")
    done = RUN.invoke(app, ["profile", "--config", str(config), *options], input=given)
    return done.exit_code, done.stdout, done.stderr


def test_what_noise_leaves_open_is_unknown(place: Path) -> None:
    """A share that may be anything is no number to widen bounds by; how many people there are is told with its margin."""
    _, out, _ = _run(place, ", profile: 0.0001", "--yes", "--csv")
    told = {tuple(line[:3]): line[3:] for line in csv.reader(out.splitlines())}
    assert told["rides", "fare", "share of values above the bounds"] == ["unknown", ""]
    assert "unknown" not in told["rides", "", "number of rider units"]


def test_it_tells_what_the_owner_needs(place: Path) -> None:
    """For what, and from whom, before; and then how many rows there are, what max_rows takes off, what is beyond."""
    code, out, err = _run(place, ", profile: 40", "--yes", "--json")
    assert "rider: at most ε = 40, once an epoch, from the data set's budget and from owner, poor, both" in err
    told = {(row["column_name"], row["what"]): row["value"] for row in json.loads(out)["rider"]}
    assert told[None, "number of rider units"] == pytest.approx(2_000, rel=0.02)
    assert told[None, "number of rows"] == pytest.approx(10_000, rel=0.02)
    assert told[None, "share of rows cut by max_rows: 3"] == pytest.approx(0.4, abs=0.02)
    assert told["fare", "share of values above the bounds"] == pytest.approx(0.2, abs=0.01)
    assert told["fare", "share of values below the bounds"] == pytest.approx(0, abs=0.01)
    # One of the roles can't pay so much: the other has it, and the command says so.
    assert code == 1
    assert 'role "poor"' in err
    assert "the other roles have it" in err.lower()


def test_it_tells_of_every_table_that_a_role_may_use(place: Path) -> None:
    """The first role may use one table, the other both: what both know is told once."""
    with duckdb.connect(str(place / "rides.duckdb")) as connection:
        connection.execute("CREATE TABLE tips AS SELECT rider, fare FROM rides")
    tips = "table: tips\nprivacy_units:\n  rider: {column: rider, max_rows: 3}\ncolumns:\n  rider: {type: integer}\n"
    (place / "schemas" / "tips.yaml").write_text(tips, encoding="utf-8")
    code, out, _ = _run(place, ", profile: 40", "--yes", "--json", first="tables: [rides], ")
    assert code == 1  # of `poor`
    told = [(row["table_name"], row["column_name"], row["what"]) for row in json.loads(out)["rider"]]
    assert {table for table, _, _ in told} == {"rides", "tips"}
    assert len(told) == len({*told})


def test_who_says_no_pays_nothing(place: Path) -> None:
    """It asks, unless --yes is given."""
    code, _, err = _run(place, ", profile: 0.5", given="n\n")
    assert code == 1
    assert "Pay for it?" in err
    shown = RUN.invoke(app, ["budget", "show", "--json", "--config", str(place / "config.yaml")])
    assert json.loads(shown.stdout)["roles"]["owner"]["spent"]["epsilon"] in ("0", 0)


@pytest.mark.parametrize(
    ("profile", "options", "said"),
    [
        ("", [], "the configuration allows no profile of rider or driver"),
        (", profile: 1", ["--unit", "driver"], "the configuration allows no profile of driver"),
        (", profile: 1", ["--unit", "zone"], 'there is no unit kind "zone"; unit kinds: rider, driver'),
        (", profile: 101", [], "is above all that the budget has"),
    ],
)
def test_what_is_not_allowed_is_said(profile: str, options: list[str], said: str, place: Path) -> None:
    """With what to write."""
    code, _, err = _run(place, profile, "--yes", *options)
    assert code == 1
    assert said in err


def test_init_spends_nothing(place: Path) -> None:
    """A profile is paid from a ledger, which is not there yet."""
    done = RUN.invoke(app, ["init", str(place / "rides.duckdb"), "-d", str(place / "drafts"), "--profile", "0.1"])
    assert done.exit_code == 1
    assert "init spends nothing" in done.stderr
    assert "dpsql profile" in done.stderr


def test_units_with_one_row_have_their_say(place: Path) -> None:
    """Where C is chosen rows of those with several are kept apart; shares are means over all."""
    schema = place / "schemas" / "rides.yaml"
    schema.write_text(_SCHEMA.replace("{column: rider, max_rows: 3}", "{column: rider}"), encoding="utf-8")
    with duckdb.connect(str(place / "rides.duckdb")) as connection:
        connection.execute("INSERT INTO rides SELECT 10000 + i, 0, 90 FROM range(3000) AS r(i)")
    code, out, _ = _run(place, ", profile: 40", "--yes", "--json", "--unit", "rider")
    told = {(row["column_name"], row["what"]): row["value"] for row in json.loads(out)["rider"]}
    assert code == 1  # one role can't pay
    assert told[None, "number of rider units"] == pytest.approx(5_000, rel=0.02)
    assert told[None, "number of rows"] == pytest.approx(13_000, rel=0.02)
    assert told["fare", "share of values above the bounds"] == pytest.approx((2_000 * 0.2 + 3_000) / 5_000, abs=0.01)
