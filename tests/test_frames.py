"""`connection.frame(…)` beside a real server: margins by themselves, at no price of their own."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

import dpsql
from dpsql.frames import AnswerFrame
from dpsql.local import LocalConnection
from dpsql.plots.margins import with_margins
from tests.clients.site import configure


@pytest.fixture(scope="module")
def connection() -> Iterator[LocalConnection]:
    """Give a connection to a few trips."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-frames-"))
    with dpsql.connect(configure(directory), role="analyst") as connection:
        yield connection
    shutil.rmtree(directory, ignore_errors=True)


def _spent(connection: LocalConnection) -> Fraction:
    row = connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone()
    assert row is not None
    return Fraction(row[0])


def test_margins_stand_beside_what_was_asked(connection: LocalConnection) -> None:
    """Of counts and averages; the statement costs what it costs without them, and is then the same release."""
    asked = "SELECT payment_type, count(*) AS n, avg(fare) FROM trips GROUP BY payment_type ORDER BY 1"
    before = _spent(connection)
    plain = connection.execute(asked.encode()).fetchall()
    paid = _spent(connection) - before
    frame = connection.frame(asked)
    assert _spent(connection) - before == paid > 0
    assert frame.columns == ("payment_type", "n", "avg", "n_margin", "avg_margin")
    assert [row[:3] for row in frame] == plain
    assert all(margin > 0 for margin in frame["n_margin"])
    assert len(frame) == len(plain)


def test_what_is_computed_has_margins(connection: LocalConnection) -> None:
    """Of shares and differences; where one can't be told the others are still there."""
    frame = connection.frame(
        "SELECT payment_type, count(*) AS n, 100.0 * count(*) / sum(count(*)) OVER () AS share, "
        "round((sum(fare) / nullif(count(*), 0))::numeric, 2) AS mean FROM trips GROUP BY 1"
    )
    assert frame.columns == ("payment_type", "n", "share", "mean", "n_margin", "share_margin", "mean_margin")
    assert all(margin > 0 for margin in frame["share_margin"])
    having = connection.frame(
        "SELECT payment_type, count(*) AS n, count(*) / sum(count(*)) OVER () AS share FROM trips GROUP BY 1 "
        "HAVING count(*) > 1"
    )
    assert having.columns == ("payment_type", "n", "share", "n_margin")


def test_data_frames_and_pictures(connection: LocalConnection) -> None:
    """Of pandas and polars; one line draws error bars, cut off at nothing."""
    frame = connection.frame("SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type")
    assert list(frame.to_pandas().columns) == frame.to_polars().columns == ["payment_type", "n", "n_margin"]
    figure = frame.plot()
    assert list(figure.data[0].error_y.array) == list(frame["n_margin"])
    with pytest.raises(ValueError, match='no kind "pie": histogram, versus'):
        frame.plot("pie")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT zone_id FROM zones ORDER BY 1",
        "SELECT count(*) AS n FROM zones",
        "SELECT median(fare) FROM trips",
        "SHOW server_version",
        "SELECT sqrt(count(*)) AS n FROM trips",
    ],
)
def test_where_there_are_none_nothing_is_lost(connection: LocalConnection, statement: str) -> None:
    """Public tables, medians, which would be less exact with one, and expressions: the answer is that of the statement."""
    frame = connection.frame(statement)
    assert not any(name.endswith("_margin") for name in frame.columns)
    assert list(frame) == connection.execute(statement.encode()).fetchall()


def test_a_refusal_is_that_of_the_statement(connection: LocalConnection) -> None:
    """And not of the margin."""
    with pytest.raises(psycopg.Error) as plain:
        connection.execute("SELECT avg(zone) FROM trips")
    connection.rollback()
    with pytest.raises(psycopg.Error) as refused:
        connection.frame("SELECT avg(zone) FROM trips")
    connection.rollback()
    assert str(refused.value).splitlines()[0] == str(plain.value).splitlines()[0]


@pytest.mark.parametrize(
    ("statement", "wider"),
    [
        (
            "SELECT pay, avg(fare) FROM r GROUP BY 1",
            'SELECT pay, AVG(fare), DPSQL.MARGIN(AVG(fare)) AS "avg_margin" FROM r GROUP BY 1',
        ),
        (
            "SELECT sum(x) FILTER (WHERE y > 0) AS s FROM r",
            'SELECT SUM(x) FILTER(WHERE y > 0) AS s, DPSQL.MARGIN(SUM(x) FILTER(WHERE y > 0)) AS "s_margin" FROM r',
        ),
        ("SELECT count(*), count(x) FROM r", None),
        ("SELECT DISTINCT count(*) FROM r", None),
        ("SELECT count(*), dpsql.margin(count(*)) FROM r", None),
        ("SELECT count(*) FROM r UNION SELECT 1", None),
        ("SELECT count(*) FROM r; SELECT 1", None),
        ("SELECT count(*) OVER () FROM r", None),
        ("not SQL at (all", None),
    ],
)
def test_the_wider_statement(statement: str, wider: str | None) -> None:
    """One more column an aggregate; None where a name would stand for two, or where rows would become others."""
    widened = with_margins(statement)
    assert (widened and widened.text.lower()) == (wider and wider.lower())


def test_notebooks_show_values_with_margins() -> None:
    """As text and not as markup; of many rows the first."""
    frame = AnswerFrame(("pay", "n", "n_margin"), (("<i>", 1_234, 5.5), (None, None, None)) + (("x", 1, 1.0),) * 60)
    shown = frame._repr_html_()
    assert "<td>&lt;i&gt;</td><td>1,234 ± 5.5</td>" in shown
    assert "<td>NULL</td><td>NULL</td>" in shown
    assert "and 12 more" in shown
    with pytest.raises(KeyError, match="there are pay, n, n_margin"):
        frame["x"]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setattr("dpsql.frames.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="pip install"):
        AnswerFrame(("a", "b"), ()).plot()
