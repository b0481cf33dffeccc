"""What each column of an answer is for."""

import pytest

from dpsql.web.asking.answers import output_columns

TEXT, WHOLE, REAL, STAMP = 25, 20, 701, 1114


def _roles(statement: str, *types: int) -> list[str]:
    names = [f"c{place}" for place in range(len(types))]
    return [column.role for column in output_columns(statement, names, types)]


@pytest.mark.parametrize(
    ("statement", "types", "roles"),
    [
        ("SELECT pay, count(*), avg(fare) FROM t GROUP BY 1", (TEXT, WHOLE, REAL), ["key", "number", "number"]),
        ("SELECT seats, count(*) FROM t GROUP BY 1", (WHOLE, WHOLE), ["key", "number"]),
        ("SELECT count(*), seats FROM t GROUP BY 2", (WHOLE, WHOLE), ["number", "key"]),
        ("SELECT round(avg(fare)::numeric, 2) FROM t", (REAL,), ["number"]),
        ("SELECT 100.0 * count(*) / sum(count(*)) OVER () FROM t GROUP BY pay", (REAL,), ["number"]),
        ("SELECT count(*), dpsql.margin(count(*)) FROM t", (WHOLE, REAL), ["number", "margin"]),
        ("SELECT pay, median(fare) FROM t GROUP BY 1", (TEXT, REAL), ["key", "number"]),
        ("SELECT day, n FROM (SELECT 1) AS a", (STAMP, WHOLE), ["key", "number"]),
        ("SELECT * FROM zones", (WHOLE, TEXT), ["key", "key"]),
        ("not SQL at all (", (WHOLE,), ["number"]),
        ("SELECT max(at) FROM t", (STAMP,), ["key"]),
    ],
)
def test_numbers_are_told_from_keys(statement: str, types: tuple[int, ...], roles: list[str]) -> None:
    """By the statement; by the types where it can't be read."""
    assert _roles(statement, *types) == roles


def test_a_margin_belongs_to_its_column() -> None:
    """That of the same expression; of none where the answer has no such column."""
    statement = "SELECT pay, dpsql.margin(avg(fare)), avg(fare), dpsql.margin(sum(fare)) FROM t GROUP BY 1"
    columns = output_columns(statement, ("pay", "m", "avg", "n"), (TEXT, REAL, REAL, REAL))
    assert [column.of for column in columns] == [None, 2, None, None]


def test_nothing_is_zero_of_counts_and_sums_only() -> None:
    """An average of 0 is a number as any other."""
    statement = "SELECT count(*), sum(fare) FILTER (WHERE tip > 0), avg(fare), (count(*))::int FROM t"
    columns = output_columns(statement, ("a", "b", "c", "d"), (WHOLE, REAL, REAL, WHOLE))
    assert [column.counts for column in columns] == [True, True, False, True]
