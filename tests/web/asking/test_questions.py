"""Questions to begin with, from what is declared."""

from dpsql.web.asking.page import ListedColumn, ListedTable, first_questions


def _column(name: str, kind: str, low: str | None = None, high: str | None = None, *values: str) -> ListedColumn:
    return ListedColumn(name, f'"{name}"', kind, low, high, values, len(values), "")


def _table(name: str, *columns: ListedColumn, kind: str = "protected") -> ListedTable:
    return ListedTable(name, name, kind, "", columns, ())


PAY = _column("pay", "text", None, None, "cash", "card")
AT = _column("at", "timestamp without time zone", "2019-03-01", "2019-04-01")
FARE = _column("fare", "double precision", "0", "150")
SHARE = _column("share", "numeric", "0", "1")


def test_a_comparison_a_course_and_a_distribution() -> None:
    """Each of one statement, with names as the shadow has quoted them."""
    questions = first_questions([_table("zones", kind="public"), _table("trips", PAY, AT, FARE)])
    assert [question.title for question in questions] == ["trips by pay", "trips by day", "How fare is distributed"]
    assert questions[0].statement == 'SELECT "pay", count(*), avg("fare")\nFROM trips\nGROUP BY 1\nORDER BY 1'
    assert "date_trunc('day', \"at\") AS day" in questions[1].statement
    assert 'floor("fare" / 5) * 5 AS "fare"' in questions[2].statement


def test_there_is_always_something_to_ask() -> None:
    """Of a table whose columns say nothing, its rows; the table with most to ask comes first."""
    assert [q.statement for q in first_questions([_table("bare")])] == ["SELECT count(*)\nFROM bare"]
    assert first_questions([_table("bare"), _table("trips", PAY)])[0].title == "trips by pay"
    assert first_questions([]) == []


def test_buckets_of_small_ranges_are_small() -> None:
    """Thirty or fewer."""
    (question, _) = first_questions([_table("t", SHARE)])
    assert 'floor("share" / 0.05) * 0.05' in question.statement
