"""`dpsql serve`, `dpsql check` and copies of the records."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.engines.base import Engine, SnapshotVersion
from dpsql.errors import EngineAway
from dpsql.policy.load import load
from dpsql.question import Cancellation
from dpsql.server import Server
from tests.cli.test_serve_ledger import make
from tests.policy.fix_config import write_files
from tests.support import clusters


def _ready(engine: Engine) -> SnapshotVersion | None:
    with engine.ready(["SELECT 1"], timeout=60, cancellation=Cancellation()):
        return engine.edition


def test_a_statement_that_waits_has_its_copy(tmp_path: Path) -> None:
    """Also when a newer one was put in its place meanwhile; with the server both are closed."""
    changes = {"config.yaml": ("database: taxi.duckdb", "database: taxi.duckdb, snapshot: true")}
    file = write_files(tmp_path, changes)
    file.write_text(file.read_text().replace("port: 5439", "port: 0"))
    make(tmp_path / "taxi.duckdb")
    clusters.prepare(tmp_path / ".dpsql" / "shadow")
    checked = CliRunner().invoke(app, ["check", "--config", str(file)])
    assert "every declared column can be copied into a snapshot" in checked.stdout
    assert not (tmp_path / ".dpsql/taxi").exists()

    async def serve() -> list[Engine]:
        async with Server(load(file, {})) as server:
            old = server._engine
            assert CliRunner().invoke(app, ["refresh", "--config", str(file)]).exit_code == 0
            await server._serve_copy()
            assert _ready(old) != _ready(server._engine)
            return [old, server._engine]

    for engine in asyncio.run(serve()):
        with pytest.raises(EngineAway):
            _ready(engine)
