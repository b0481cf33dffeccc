"""What `epsilon noise` says of statements, from the EXPLAIN of a real server.

That is one of the tests' own, which starts sooner than that of `dpsql.connect` and stays for all of them.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb
import pytest

from dpsql.cli.commands.epsilon import OutputNoise, StatementNoise, planned_noise, quantiles
from dpsql.gateway.explaining.explained import ExplainedChoice, ExplainedRange
from tests.support.connected import as_own, connections

_CONFIG = """\
dataset: rides
engine: {kind: duckdb, database: rides.duckdb}
schemas: schemas
budget: {passenger: {epsilon: 10}}
roles:
  analyst: {protects: passenger, budget: {epsilon: 10}, per_query: {epsilon: 1}}
users: {}
"""
_RIDES = """\
table: rides
expected_rows: 20_000
privacy_units: {passenger: {column: passenger, max_rows: 2}}
columns:
  passenger: {type: integer}
  fare: {type: double precision, bounds: [0, 100]}
  tip: {type: double precision, bounds: [0, 30]}
"""
_ASKED = (
    "SELECT count(*), sum(fare), avg(fare), variance(fare), median(fare), "
    "percentile_cont(0.9) WITHIN GROUP (ORDER BY fare), max(tip) FROM rides"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write configuration, schema and an empty table: nothing is read from it."""
    path = tmp_path_factory.mktemp("planned")
    path.chmod(0o711)
    (path / "schemas").mkdir()
    (path / "config.yaml").write_text(_CONFIG, encoding="utf-8")
    (path / "schemas" / "rides.yaml").write_text(_RIDES, encoding="utf-8")
    with duckdb.connect(str(path / "rides.duckdb")) as connection:
        connection.execute("CREATE TABLE rides (passenger INTEGER, fare DOUBLE, tip DOUBLE)")
    return path


Noise = Callable[[str], StatementNoise]


@pytest.fixture(scope="module")
def noise(home: Path) -> Iterator[Noise]:
    """Give what tells the noise of a statement."""
    config = home / "config.yaml"
    with connections(config) as connect, as_own(config, connect):
        yield lambda statement: planned_noise(config, "analyst", statement)


@pytest.fixture(scope="module")
def lines(noise: Noise) -> Mapping[str, OutputNoise]:
    """Give what is said of each output."""
    return {line.output: line for line in noise(_ASKED).outputs}


def test_every_output_has_a_line(noise: Noise, lines: Mapping[str, OutputNoise]) -> None:
    """One, also variances and order statistics, which EXPLAIN has no percentage for."""
    assert [line.output for line in noise(_ASKED).outputs] == list(lines)
    assert list(lines) == [
        *("count(*)", "sum(fare)", "avg(fare)", "var_samp(fare)"),
        *("median(fare)", "0.9-quantile(fare)", "max(tip)"),
    ]
    assert all(line.error and line.of for line in lines.values())


def test_shares_say_of_what(lines: Mapping[str, OutputNoise]) -> None:
    """A mean's percentage is not one of the mean, which nobody knows, but of the middle of its bounds."""
    assert lines["avg(fare)"].of == "of a value in the middle of its bounds"
    margin, share = float(lines["avg(fare)"].error.split()[1]), float(lines["avg(fare)"].share.split()[0])
    assert margin / 50 == pytest.approx(share / 100, rel=0.01)
    assert lines["count(*)"].of == "of the rows that a group is expected to have"
    assert lines["var_samp(fare)"].share == ""


def test_medians_err_by_ranks_and_extremes_by_more(lines: Mapping[str, OutputNoise]) -> None:
    """Half of what the choice needs for the median, all of it at .9; of an extreme, ln(20·buckets)·5/2 scales of noise."""
    enough = int(lines["median(fare)"].of.split("than ")[1].split()[0])
    assert lines["median(fare)"].error == f"± {enough / 2:,.0f} ranks with 95 %"
    assert lines["0.9-quantile(fare)"].error == f"± {enough:,.0f} ranks with 95 %"
    own = int(lines["max(tip)"].of.split("than ")[1].split()[0])
    ranks = float(lines["max(tip)"].error.split()[1])
    assert 4 * own < ranks < 8 * own


def test_many_points_have_no_rank() -> None:
    """They are read off noisy counts; when groups are too small is known all the same."""
    choice = ExplainedChoice((0.25, 0.5, 0.75), ExplainedRange("x", 0, 30), buckets=31, enough=28)
    assert [(line.output, line.error) for line in quantiles([choice], {})] == [
        ("0.25-quantile(x)", ""),
        ("median(x)", ""),
        ("0.75-quantile(x)", ""),
    ]


def test_what_nothing_can_be_said_of_is_told(noise: Noise) -> None:
    """Instead of an empty table."""
    (line,) = noise("SELECT bool_or(fare > 1) FROM rides").outputs
    assert line.of == "nothing can be said of these statistics before they are asked"
