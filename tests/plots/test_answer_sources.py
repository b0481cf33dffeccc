"""An answer is the same wherever it comes from, and columns are guessed as documented."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from importlib import import_module

import duckdb
import pytest

from dpsql.plots.answer import AnswerSource, Layout, PlottedAnswer, ValueGrid

COLUMNS = ("zone", "n", "n_margin")
ROWS = (("a", 10, 2.5), ("b", 20, 2.5))


SELECT = "SELECT 'a' AS zone, 10 AS n, CAST(2.5 AS DOUBLE) AS n_margin UNION ALL SELECT 'b', 20, 2.5"


@pytest.mark.parametrize(
    "source",
    [
        lambda: (COLUMNS, ROWS),
        lambda: PlottedAnswer(COLUMNS, ROWS),
        # Only here, since every process that runs tests imports this file.
        lambda: import_module("pandas").DataFrame(ROWS, columns=COLUMNS),
        lambda: import_module("polars").DataFrame(ROWS, schema=COLUMNS, orient="row"),
    ],
    ids=["rows", "answer", "pandas", "polars"],
)
def test_every_source_gives_the_same_answer(source: Callable[[], AnswerSource]) -> None:
    """Rows and data frames."""
    assert PlottedAnswer.of(source()) == PlottedAnswer(COLUMNS, ROWS)


def test_cursors_are_read_to_their_end() -> None:
    """Two drivers' DB-API cursors."""
    with closing(sqlite3.connect(":memory:")) as connection:
        assert PlottedAnswer.of(connection.execute(SELECT)) == PlottedAnswer(COLUMNS, ROWS)
    with duckdb.connect() as engine:
        assert PlottedAnswer.of(engine.execute(SELECT)) == PlottedAnswer(COLUMNS, ROWS)


def test_cursor_without_a_result_is_refused() -> None:
    """A statement that returns no rows can't be drawn."""
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(ValueError, match="no result"):
        PlottedAnswer.of(connection.execute("CREATE TABLE t (x)"))


def test_rows_must_fit_the_columns() -> None:
    """A row of another length is a mistake of the caller."""
    with pytest.raises(ValueError, match="3 values"):
        PlottedAnswer.of((COLUMNS, [("a", 1)]))


def test_numbers_keep_null() -> None:
    """NULL stays None, decimals become floats, text is refused."""
    answer = PlottedAnswer(("x", "name"), ((Decimal("1.5"), "a"), (None, "b")))
    assert answer.numbers("x") == (1.5, None)
    with pytest.raises(ValueError, match="does not hold numbers"):
        answer.numbers("name")
    with pytest.raises(ValueError, match='no column "y"; it has x, name'):
        answer.numbers("y")


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        (("zone", "n"), ("a", 1), Layout("zone", "n")),
        (("zone", "n", "n_margin"), ("a", 1, 0.5), Layout("zone", "n", "n_margin")),
        (("hour", "n", "margin"), (3, 1, 0.5), Layout("hour", "n", "margin")),
        (("zone", "kind", "n"), ("a", "b", 1), Layout("zone", "n", None, "kind")),
        (("hour", "day", "n"), (3, 4, 1), Layout("hour", "n")),
    ],
)
def test_columns_are_guessed(columns: tuple[str, ...], row: tuple[object, ...], expected: Layout) -> None:
    """The last number is y, the first column x, margins go by name, a further column of names is the series."""
    assert Layout.of(PlottedAnswer(columns, (row,))) == expected


def test_named_columns_win() -> None:
    """What the caller names is not guessed."""
    answer = PlottedAnswer(("a", "b", "c", "err"), ((1, 2, 3, 4),))
    assert Layout.of(answer, x="c", y="a", margin="err", series=None) == Layout("c", "a", "err")


@pytest.mark.parametrize(
    ("answer", "message"),
    [(PlottedAnswer(("n",), ((1,),)), "two columns"), (PlottedAnswer(("a", "b"), (("x", "y"),)), "with numbers")],
)
def test_nothing_to_draw_is_refused(answer: PlottedAnswer, message: str) -> None:
    """A plot needs something asked for and a number."""
    with pytest.raises(ValueError, match=message):
        Layout.of(answer)


def test_buckets_keep_each_row_of_a_series() -> None:
    """A bucket has as many rows as there are series, in its place."""
    answer = PlottedAnswer(("bucket", "n", "who"), ((2, 5, "x"), (1, 10, "x"), (1, 20, "y"), (0, 1, "x")))
    inside, outside = ValueGrid(0, 10, 2).split(answer, "bucket")
    assert inside.rows == ((2.5, 10, "x"), (2.5, 20, "y"), (7.5, 5, "x"))
    assert [part.rows for part in outside.values()] == [((0, 1, "x"),)]
