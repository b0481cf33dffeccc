"""Bound parameters mean what literals mean, and are the same measurement."""

import pytest

from dpsql.errors import DpsqlError
from dpsql.question import Argument, Settings
from tests.support.fix_dirty import NewUser

CASES = (
    ("fare > $1", (Argument("20.5", "double precision"),), "fare > 20.5"),
    ("paid = $1 AND seats = $2", (Argument("cash", "text"), Argument("3", "integer")), "paid = 'cash' AND seats = 3"),
    ("seats = ANY ($1)", (Argument("{1,2}", "integer[]"),), "seats IN (1, 2)"),
    ("paid = ANY ($1::text[])", (Argument('{cash,"it\'s free"}', "text[]"),), "paid IN ('cash', 'it''s free')"),
    ("picked >= $1", (Argument("2019-03-04 00:00:00", "timestamp without time zone"),), "picked >= '2019-03-04'"),
    (
        "picked >= $1::timestamptz",
        (Argument("2019-03-04 00:00:00+00", "timestamp with time zone"),),
        "picked >= '2019-03-04'",
    ),
    (
        "day >= $1 AND late = $2",
        (Argument("2019-03-04", "date"), Argument("t", "boolean")),
        "day >= '2019-03-04' AND late = 't'",
    ),
    ("price <= $1", (Argument("12.25", "numeric"),), "price <= 12.25"),
    ("number > $1", (Argument("99999999999", "bigint"),), "number > 99999999999"),
)


@pytest.mark.parametrize(("condition", "arguments", "literal"), CASES, ids=[case[0] for case in CASES])
def test_an_argument_is_a_literal(condition: str, arguments: tuple[Argument, ...], literal: str, user: NewUser) -> None:
    """The answer is that of the literal, for which nothing is charged any more."""
    client = user("ana")
    client.ledger.advance("each is the first")
    rows = client.ask(f"SELECT count(*) FROM rides WHERE {condition}", Settings(), arguments).rows
    charged = client.charges
    assert client.ask(f"SELECT count(*) FROM rides WHERE {literal}").rows == rows
    assert client.charges == charged


@pytest.mark.parametrize("points", ["$1", "($1::double precision[])"])
def test_an_array_of_percentiles_is_its_literal(points: str, user: NewUser) -> None:
    """As drivers send a list."""
    client, of = user("ana"), "SELECT percentile_disc({}) WITHIN GROUP (ORDER BY seats) FROM rides"
    client.ledger.advance("each is the first")
    rows = client.ask(of.format(points), Settings(), (Argument("{0.25,0.5}", "double precision[]"),)).rows
    charged = client.charges
    assert client.ask(of.format("ARRAY[0.25, 0.5]")).rows == rows
    assert client.charges == charged


@pytest.mark.parametrize("type_", ["double precision", "integer", "text", "integer[]"])
def test_an_argument_that_is_null_matches_no_row(type_: str, user: NewUser) -> None:
    """As in PostgreSQL, where nothing is equal to NULL."""
    condition = {"double precision": "fare = $1", "integer": "seats <> $1", "text": "paid = $1"}.get(
        type_, "seats = ANY ($1)"
    )
    answer = user("ana").ask(f"SELECT count(*) FROM rides WHERE {condition}", Settings(), (Argument(None, type_),))
    assert answer.rows == [(0,)]


@pytest.mark.parametrize("text", ["Infinity", "NaN"])
def test_what_is_above_every_value_leaves_no_row_out(text: str, user: NewUser) -> None:
    """As in PostgreSQL, where NaN is above infinity, and both are above what has bounds."""
    client = user("ana")
    statement = "SELECT count(*) FROM rides WHERE fare < $1::double precision"
    (((below,),), ((every,),)) = (
        client.ask(statement, Settings(), (Argument(text, "double precision"),)).rows,
        client.ask("SELECT count(*) FROM rides").rows,
    )
    assert isinstance(below, int)
    assert isinstance(every, int)
    assert abs(below - every) < 200  # noise
    assert below > 2_000


def test_an_argument_beyond_all_doubles_is_refused(user: NewUser) -> None:
    """It has no place beside private values, which are computed in doubles."""
    client = user("ana")
    before = client.charges
    with pytest.raises(DpsqlError):
        client.ask("SELECT count(*) FROM rides WHERE fare < $1::numeric", Settings(), (Argument("1e999", "numeric"),))
    assert client.charges == before
