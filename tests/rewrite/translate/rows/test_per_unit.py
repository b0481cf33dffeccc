"""Names of columns that are made; what groups of units say is in `tests/queries/units.sql`."""

from dpsql.rewrite.translate.rows.per_unit import fresh_names


def test_names_differ_by_more_than_capitals() -> None:
    """Two tables may have a column fare and a column "Fare", which DuckDB would read as one of them."""
    fresh = fresh_names()
    assert [fresh(name) for name in ("fare", "Fare", "FARE", "count")] == ["fare", "Fare_2", "FARE_3", "count"]
