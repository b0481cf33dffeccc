"""Names for what a statement did not name itself."""

from sqlglot import exp

from dpsql.rewrite.syntax.named.columns import columns_of_subquery, fresh

_POSTGRES_KEEPS = 63


def test_a_name_that_is_taken_gets_a_number() -> None:
    """The least from 2 on that is free."""
    assert [fresh("n", taken) for taken in ((), {"n"}, {"n", "n 2"})] == ["n", "n 2", "n 3"]


def test_capitals_make_no_other_name() -> None:
    """DuckDB takes both for one column."""
    assert fresh("n", {"N", "n 2"}) == "n 3"


def test_names_tell_what_they_are() -> None:
    """Two alike are told apart."""
    columns = [exp.column("zone", "t"), exp.column("zone", "t")]
    assert columns_of_subquery(columns) == ["t.zone of the subquery", "t.zone of the subquery 2"]


def test_a_long_name_is_one_that_postgres_keeps() -> None:
    """Whatever it is cut in: a letter may have several bytes."""
    names = columns_of_subquery([exp.column("ü" * 100), exp.column("ü" * 101)])
    assert len(set(names)) == 2
    assert all(len(name.encode()) <= _POSTGRES_KEEPS for name in names)
