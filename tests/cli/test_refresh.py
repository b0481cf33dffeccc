"""`dpsql refresh` of a table that grows: what is new, or all of it."""

from pathlib import Path

import duckdb
from typer.testing import CliRunner

from dpsql.cli.main import app
from tests.gateway.growing_ward import CONFIG, TABLE


def _has(directory: Path, *whose: str) -> None:
    with duckdb.connect(directory / "records.duckdb") as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE visits (patient VARCHAR, admitted_at TIMESTAMP, ward VARCHAR, cost DOUBLE)"
        )
        for who in whose:
            connection.execute("INSERT INTO visits VALUES (?, '2026-03-01 10:00', 'a', 1)", [who])


def _refreshed(directory: Path, *options: str) -> set[str]:
    """Return who is in the copy."""
    done = CliRunner().invoke(app, ["refresh", *options, "--config", str(directory / "config.yaml")])
    assert done.exit_code == 0, done.output
    copied = b"".join(file.read_bytes() for file in directory.glob(".dpsql/ward/snapshot/*.duckdb"))
    return {name for name in ("patient-1", "patient-2") if name.encode() in copied}


def test_closed_days_are_read_again_only_on_request(tmp_path: Path) -> None:
    """After an erasure, say; each makes a copy, and begins an epoch."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "schemas" / "visits.yaml").write_text(TABLE, encoding="utf-8")
    _has(tmp_path, "patient-1")
    assert _refreshed(tmp_path) == {"patient-1"}
    _has(tmp_path, "patient-2")
    assert _refreshed(tmp_path) == {"patient-1"}
    assert _refreshed(tmp_path, "--all") == {"patient-2"}
