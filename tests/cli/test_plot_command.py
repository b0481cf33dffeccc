"""`dpsql plot` beside a real server: what is drawn, and what is said under it."""

import json
import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
import typer
from typer.testing import CliRunner

from dpsql.cli.commands.plot import PictureFacts, plot
from dpsql.cli.support.plot_output import picture_writer
from tests.support.connected import as_own, connections

APP = typer.Typer()
APP.command()(plot)
_CONFIG = """\
dataset: taxi
engine: {kind: duckdb, database: rides.duckdb}
schemas: schemas
budget: {passenger: {epsilon: 1000}}
roles:
  analyst: {protects: passenger, budget: {epsilon: 1000}, per_query: {epsilon: 0.5}}
users: {}
"""
_RIDES = """\
table: rides
expected_rows: 400
privacy_units: {passenger: {column: passenger, max_rows: 1}}
columns:
  passenger: {type: integer}
  fare: {type: double precision, bounds: [0, 100]}
  pay: {type: text, values: [cash, card], nullable: true}
"""
BY_PAY = "SELECT pay, avg(fare) AS mean, dpsql.margin(avg(fare)) AS margin FROM rides GROUP BY pay"
BUCKETS = (
    "SELECT width_bucket(fare, 20, 80, 6) AS b, count(*) AS n, dpsql.margin(count(*)) AS margin FROM rides GROUP BY 1"
)
QUANTILES = (
    "SELECT pay, percentile_cont(0.05) WITHIN GROUP (ORDER BY fare), percentile_cont(0.25) WITHIN GROUP (ORDER BY fare), "
    "median(fare), percentile_cont(0.75) WITHIN GROUP (ORDER BY fare), percentile_cont(0.95) WITHIN GROUP (ORDER BY fare) "
    "FROM rides GROUP BY pay"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 400 rides: a third each paid in cash, by card and by what nobody knows, most fares at the ends."""
    path = tmp_path_factory.mktemp("plot")
    path.chmod(0o711)
    (path / "schemas").mkdir()
    (path / "config.yaml").write_text(_CONFIG, encoding="utf-8")
    (path / "schemas" / "rides.yaml").write_text(_RIDES, encoding="utf-8")
    with duckdb.connect(str(path / "rides.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE rides AS SELECT i::INTEGER AS passenger, CASE WHEN i % 2 = 0 THEN 98 ELSE 50 END::DOUBLE AS fare, "
            "CASE i % 3 WHEN 0 THEN 'cash' WHEN 1 THEN 'card' END AS pay FROM range(400) r(i)"
        )
    return path


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Serve it, also to who asks by the configuration."""
    config = home / "config.yaml"
    with connections(config) as connect, as_own(config, connect):
        yield connect("analyst")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let messages stand on one line."""
    monkeypatch.setenv("COLUMNS", "200")


def words(server: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """Return the options that name the server."""
    info = server.info
    return [
        "--dsn",
        f"host={info.host} port={info.port} dbname={info.dbname} user={info.user} password={info.password}",
    ]


def drawn(path: Path) -> tuple[Sequence[Any], str]:
    """Return the traces of the picture in a page, and the text under it."""
    text = path.read_text(encoding="utf-8")
    data = re.search(r"Plotly\.newPlot\(\s*\"[^\"]+\",\s*(\[.*?\]),\s*\{\"template\"", text, re.DOTALL)
    assert data
    caption = re.search(r"<figcaption>(.*?)</figcaption>", text)
    assert caption
    return json.loads(data[1]), unescape(caption[1])


def run(
    server: psycopg.Connection[tuple[object, ...]], out: Path, sql: str, *options: str
) -> tuple[Sequence[Any], str]:
    """Draw a statement."""
    result = CliRunner().invoke(APP, [sql, "-o", str(out), *words(server), *options])
    assert result.exit_code == 0, result.output
    return drawn(out)


def test_a_null_group_and_a_bar_beyond_the_possible(
    server: psycopg.Connection[tuple[object, ...]], tmp_path: Path
) -> None:
    """NULL has its bar, means within [0, 100] have error bars within it, and the caption says what is drawn."""
    (bars,), caption = run(server, tmp_path / "pay.html", BY_PAY)
    assert set(bars["x"]) == {"cash", "card", "NULL"}
    error = bars["error_y"]
    for value, up, down in zip(bars["y"], error["array"], error.get("arrayminus", error["array"]), strict=True):
        assert 0 <= value - down <= value + up <= 100
    for part in (
        "Data: taxi, table rides; statistic: AVG(fare); ε = 0.5; role: ",
        "NULL is a group of its own.",
        BY_PAY,
    ):
        assert part in caption


def test_what_lies_outside_the_buckets_does_not_shift_them(
    server: psycopg.Connection[tuple[object, ...]], tmp_path: Path
) -> None:
    """Half of the fares are 98 and so beyond the buckets, the others are 50: the bar at [50, 60) is the highest within."""
    traces, caption = run(server, tmp_path / "buckets.html", BUCKETS)
    within = dict(zip(traces[0]["x"], traces[0]["y"], strict=True))
    assert max(within, key=lambda x: within[x]) == 55
    assert [trace["name"] for trace in traces[1:]] == ["below 20", "from 80 on"]
    assert "Outside the range, from 80 on: " in caption
    (*_, curve), caption = run(server, tmp_path / "density.html", BUCKETS, "--chart", "density")
    highest = max(zip(curve["y"], curve["x"], strict=True))[1]
    assert 50 < highest < 60
    assert "Smoothed by a Gaussian kernel, bandwidth 2 % of the range" in caption


def test_error_bars_of_counts_end_at_0(server: psycopg.Connection[tuple[object, ...]], tmp_path: Path) -> None:
    """Empty buckets have noise about 0 and a margin of 6: half a bar would hang below."""
    traces, _ = run(server, tmp_path / "counts.html", BUCKETS)
    for trace in traces:
        downs = trace["error_y"].get("arrayminus", trace["error_y"]["array"])
        assert all(value - down >= 0 for value, down in zip(trace["y"], downs, strict=True) if value >= 0)
        assert all(down == 0 for value, down in zip(trace["y"], downs, strict=True) if value < 0)


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        (BY_PAY, ["--chart", "versus", "--title", "Payment"]),
        (BUCKETS, ["--buckets", "6", "--bounds", "20,80"]),
        (QUANTILES, ["--chart", "box"]),
        ("SELECT 'a' AS zone, 3 AS n", []),
    ],
    ids=["versus", "buckets", "box", "public"],
)
def test_every_picture_names_data_statistic_epsilon_and_role(
    server: psycopg.Connection[tuple[object, ...]], tmp_path: Path, sql: str, options: list[str]
) -> None:
    """Also one that asks nothing private, which says so."""
    _, caption = run(server, tmp_path / "chart.html", sql, *options)
    for part in ("Data: taxi", "; statistic: ", "; ε = ", f"; role: of user {server.info.user}.", sql):
        assert part in caption


@pytest.mark.usefixtures("server")
def test_a_role_asks_by_its_configuration(home: Path, tmp_path: Path) -> None:
    """And is named."""
    options = ["-o", str(tmp_path / "role.html"), "--role", "analyst", "--config", str(home / "config.yaml")]
    result = CliRunner().invoke(APP, [BY_PAY, *options])
    assert result.exit_code == 0, result.output
    assert "; role: analyst." in drawn(tmp_path / "role.html")[1]


@pytest.mark.parametrize(
    ("sql", "options", "message"),
    [
        (BY_PAY, ["--chart", "density"], "needs --bounds LOW,HIGH"),
        (BY_PAY, ["--bounds", "3,1"], "--bounds LOW,HIGH"),
        (BUCKETS, ["--buckets", "6"], "--buckets needs --bounds"),
        (BUCKETS, ["--buckets", "3", "--bounds", "20,80"], "other numbers than those of 3 buckets"),
        (BY_PAY, ["--y", "missing"], 'no column "missing"'),
        (BY_PAY, ["--chart", "box"], "five quantiles"),
    ],
)
def test_bad_use_is_refused(
    server: psycopg.Connection[tuple[object, ...]], tmp_path: Path, sql: str, options: list[str], message: str
) -> None:
    """Exit code 2 and a reason; nothing is written."""
    result = CliRunner().invoke(APP, [sql, "-o", str(tmp_path / "chart.html"), *words(server), *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_who_asks_must_be_said(tmp_path: Path) -> None:
    """A role, or a server."""
    result = CliRunner().invoke(APP, [BY_PAY, "-o", str(tmp_path / "chart.html")])
    assert result.exit_code == 2
    assert "give --role, or --dsn" in result.stderr


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The driver's message and exit code 1."""
    dsn = f"host={tmp_path} connect_timeout=1"
    result = CliRunner().invoke(APP, ["SELECT 1", "-o", str(tmp_path / "chart.html"), "--dsn", dsn])
    assert result.exit_code == 1
    assert "ERROR" in result.stderr


@pytest.mark.parametrize(
    ("sql", "column", "possible"),
    [
        ("SELECT pay, count(*) AS n FROM rides GROUP BY pay", "n", (0.0, None)),
        ("SELECT pay, sum(fare) FROM rides GROUP BY pay", "sum", (0.0, None)),
        ("SELECT pay, sum(fare - 50) AS s FROM rides GROUP BY pay", "s", (None, None)),
        ("SELECT pay, variance(fare) AS v FROM rides GROUP BY pay", "v", (0.0, None)),
        ("SELECT pay, median(fare) AS m FROM rides GROUP BY pay", "m", (0.0, 100.0)),
        ("SELECT pay, avg(fare) FILTER (WHERE fare > 1) AS m FROM rides GROUP BY pay", "m", (0.0, 100.0)),
        ("SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY fare) AS p FROM rides", "p", (0.0, 100.0)),
        ("SELECT pay, round(avg(fare)) AS m FROM rides GROUP BY pay", "m", (None, None)),
        ("SELECT pay, avg(fare) + 1 AS m FROM rides GROUP BY pay", "m", (None, None)),
    ],
)
def test_what_a_statistic_can_be(
    server: psycopg.Connection[tuple[object, ...]],
    sql: str,
    column: str,
    possible: tuple[float | None, float | None],
) -> None:
    """Read off the statement and its EXPLAIN; where nothing is sure nothing is cut off."""
    assert PictureFacts.of(server, "analyst", sql).possible(column) == possible


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.pdf", '".pdf" is no kind of picture: the name must end with .html or .png'),
        ("x", "the name must end with .html or .png"),
        ("nowhere/x.html", "there is no folder"),
    ],
)
@pytest.mark.usefixtures("server")
def test_a_file_that_cannot_be_written_costs_nothing(home: Path, name: str, message: str) -> None:
    """It is refused before anything is asked."""
    config = str(home / "config.yaml")
    result = CliRunner().invoke(
        APP, ["SELECT pay, sum(fare) FROM rides GROUP BY 1", "-r", "analyst", "-c", config, "-o", str(home / name)]
    )
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


def test_png_needs_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is named with the command that installs it."""
    monkeypatch.setattr("dpsql.cli.support.plot_output.find_spec", lambda name: None if name == "kaleido" else name)
    with pytest.raises(typer.BadParameter, match=r"pip install -e '.\[png\]'"):
        picture_writer(tmp_path / "x.png")


@pytest.mark.usefixtures("server")
def test_error_bars_come_by_themselves(home: Path) -> None:
    """Where margins cost nothing; the statement under the picture is the one that was asked."""
    file = home / "bars.html"
    config = str(home / "config.yaml")
    asked = "SELECT pay, count(*) AS n FROM rides GROUP BY pay"
    result = CliRunner().invoke(APP, [asked, "-r", "analyst", "-c", config, "-o", str(file)])
    assert result.exit_code == 0, result.output
    text = file.read_text(encoding="utf-8")
    assert '"error_y"' in text
    assert f"{asked}</figcaption>" in text
    assert "error bars are 95 % confidence intervals" in text.lower()
    assert text.count("COUNT(*) of rides") == 2  # the title of the window, and the heading
