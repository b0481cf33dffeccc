"""Files as pandas writes them: what `init` drafts of each type fits, and is answered."""

from pathlib import Path

import duckdb
import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from tests.clients.site import configure, serving

COLUMNS = {
    "tiny": "(n % 200)::UTINYINT",
    "small": "(n % 100)::TINYINT",
    "short": "n::USMALLINT",
    "many": "n::UINTEGER",
    "hashed": "(18446744073709551615 - n)::UBIGINT",
    "ns": "make_timestamp_ns(1700000000000000000 + n)",
    "nstz": "make_timestamp_ns(1700000000000000000 + n)::TIMESTAMPTZ_NS",
    "tz": "make_timestamp(1700000000000000 + n)::TIMESTAMPTZ",
    "clock": "TIME_NS '08:30:00.000000001'",
    "half": "n::FLOAT",
    "cents": "n::DECIMAL(38, 2)",
}
ROWS = 400
ASKED = {
    "SELECT count(*), sum(tiny), sum(small), sum(short), sum(many) FROM facts": (
        400,
        2 * sum(range(200)),
        4 * sum(range(100)),
        sum(range(400)),
        sum(range(400)),
    ),
    "SELECT count(*) FROM facts WHERE ns < '2023-11-15' AND nstz < '2023-11-15Z' AND tz >= '2023-11-14Z'": (400,),
    "SELECT count(DISTINCT hashed), count(*) FILTER (WHERE extract(hour FROM clock) = 8) FROM facts": (400, 400),
}


def test_what_init_drafts_of_a_file_fits_and_is_answered(tmp_path: Path) -> None:
    """Every type of numbers and times that Parquet has, 64 bits without a sign as the units' own numbers among them."""
    with duckdb.connect() as connection:
        columns = ", ".join(f"{expr} AS {name}" for name, expr in COLUMNS.items())
        connection.execute(f"COPY (SELECT {columns} FROM range({ROWS}) AS r (n)) TO '{tmp_path}/facts.parquet'")
    place = tmp_path / "drafted"
    drafted = CliRunner().invoke(
        app, ["init", f"{tmp_path}/facts.parquet", "-d", str(place), "--unit", "passenger=facts.hashed"]
    )
    assert drafted.exit_code == 0, drafted.output
    text = (place / "facts.yaml").read_text()
    assert "left out" not in drafted.output + text
    for name in ("tiny", "small", "short", "many"):
        text = text.replace(f"  {name}: {{", f"  {name}: {{bounds: [0, 500], ")
    for name, bounds in (
        ("ns", "2023-11-14, 2023-11-16"),
        ("nstz", "2023-11-14, 2023-11-16"),
        ("tz", "2023-11-14, 2023-11-16"),
    ):
        text = text.replace(f"  {name}: {{", f"  {name}: {{bounds: [{bounds}], ")
    (place / "facts.yaml").write_text(text.replace("{column: hashed}", "{column: hashed, max_rows: 1}"))
    config = configure(tmp_path, schemas=place)
    engine = "engine: {kind: duckdb, database: taxi.duckdb}"
    config.write_text(config.read_text().replace(engine, "engine: {kind: duckdb, tables: {facts: facts.parquet}}"))
    checked = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert checked.exit_code == 0, checked.output
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        for sql, expected in ASKED.items():
            assert connection.execute(sql.encode()).fetchone() == pytest.approx(expected, rel=0.001)
