"""`dpsql plot` with a stand-in for the server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
import typer
from typer.testing import CliRunner

import dpsql
from dpsql.cli.commands.plot import plot

APP = typer.Typer()
APP.command()(plot)
HISTOGRAM = "SELECT * FROM (VALUES ('a', 10, 2.5), ('b', 20, 2.5)) t(zone, n, margin)"
BOX = "SELECT 'chr' AS kind, 1 AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS e"


class Session:
    """A connection whose cursor takes bytes, as psycopg's does."""

    @contextmanager
    def cursor(self) -> Iterator["Session"]:
        """Yield a cursor."""
        self.inner = duckdb.connect()
        yield self
        self.inner.close()

    def execute(self, query: bytes) -> None:
        """Run a query."""
        self.inner.execute(query.decode())

    @property
    def description(self) -> object:
        """Return the columns."""
        return self.inner.description

    def fetchall(self) -> list[tuple[object, ...]]:
        """Return the rows."""
        return self.inner.fetchall()


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `dpsql.connect` answer, and messages stand on one line."""

    @contextmanager
    def connect(config: Path, role: str) -> Iterator[Session]:
        assert (config, role) == (Path("config.yaml"), "analyst")
        yield Session()

    monkeypatch.setitem(vars(dpsql), "connect", connect)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        (HISTOGRAM, []),
        (HISTOGRAM, ["--chart", "versus", "--title", "Zones"]),
        (HISTOGRAM, ["--chart", "density", "--bounds", "0,2", "--x", "zone", "--y", "n"]),
        (BOX, ["--chart", "box"]),
    ],
    ids=["histogram", "versus", "density", "box"],
)
def test_every_chart_is_written(sql: str, options: list[str], tmp_path: Path) -> None:
    """One HTML file that holds the picture."""
    out = tmp_path / "chart.html"
    result = CliRunner().invoke(APP, [sql, "-o", str(out), "--role", "analyst", *options])
    assert result.exit_code == 0, result.output
    assert "Plotly.newPlot" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --role, or --dsn"),
        (["--role", "analyst", "--chart", "density"], "needs --bounds LOW,HIGH"),
        (["--role", "analyst", "--chart", "density", "--bounds", "3,1"], "needs --bounds LOW,HIGH"),
        (["--role", "analyst", "--y", "missing"], 'no column "missing"'),
        (["--role", "analyst", "--chart", "box"], "five quantiles"),
    ],
)
def test_bad_use_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    """Exit code 2 and a reason; nothing is written."""
    result = CliRunner().invoke(APP, [HISTOGRAM, "-o", str(tmp_path / "chart.html"), *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The driver's message and exit code 1."""
    dsn = f"host={tmp_path} connect_timeout=1"
    result = CliRunner().invoke(APP, ["SELECT 1", "-o", str(tmp_path / "chart.html"), "--dsn", dsn])
    assert result.exit_code == 1
    assert "ERROR" in result.stderr
