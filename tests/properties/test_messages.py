"""What a refusal says: names that people wrote or that tell what they are, and none that dpsql made up for itself."""

import random
import re
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from dpsql.errors import DpsqlError, InternalError
from tests.support.fix_shop import Shops, paying
from tests.support.shop_desk import Desk
from tests.support.shop_generator import written

FEW, MANY = 60, 3_000
_INTERNAL = re.compile(r"\b_\w+|\b[gawkvc]\d+\b")
"""Tables and columns of answers, of groups and of subqueries that were put into FROM, whose names nobody wrote."""
_COLUMN = re.compile(r"\b[a-z]\d+\.\w+")
_REFUSED = (
    "to_json({})::text", "(SELECT {})", "array_length(ARRAY[{}], 1)", "{}::text::money::numeric", "sum({}) OVER ()",
    "array_agg({})", "1 / {}", "random() + {}", "ln({} - 1)",
)  # fmt: skip
"""What may not stand around a column, or seldom."""


@pytest.fixture(scope="module")
def desk(shops: Shops) -> Iterator[Desk]:
    """A session over the shop."""
    world = shops["duckdb"].world
    with world.connect("ana", "shop") as client, world.connect("dpsql_owner", "shop") as owner:
        yield Desk(shops["duckdb"], paying(shops["duckdb"].policy, 1, "explorer"), client, owner)


def refusals(numbers: Sequence[int], desk: Desk) -> Iterator[tuple[str, str]]:
    """Yield statements with something wrong in them, each with what is said of it; PostgreSQL refuses many itself."""
    for number in numbers:
        draw, statement = random.Random(number), written(number)  # noqa: S311  (statements)
        for column in draw.sample(columns := list(_COLUMN.finditer(statement.sql)), min(2, len(columns))):
            wrong = draw.choice(_REFUSED).format(column[0])
            sql = f"{statement.sql[: column.start()]}{wrong}{statement.sql[column.end() :]}"
            try:
                desk.priced(sql, statement.user)
            except InternalError:
                raise
            except DpsqlError as refused:
                yield sql, f"{refused} {refused.hint or ''}"
            except psycopg.Error:
                continue


def _made_up(sql: str, said: str) -> set[str]:
    return set(_INTERNAL.findall(said)) - set(_INTERNAL.findall(sql))


def test_no_refusal_shows_a_name_that_nobody_wrote(desk: Desk) -> None:
    """Wherever in a statement something is wrong."""
    refused = list(refusals(range(FEW), desk))
    assert len(refused) > FEW / 3
    assert [(sql, said) for sql, said in refused if _made_up(sql, said)] == []


@pytest.mark.slow
def test_thousands_of_refusals_show_none(desk: Desk) -> None:
    """The same for many more."""
    assert [(sql, said) for sql, said in refusals(range(FEW, MANY), desk) if _made_up(sql, said)] == []


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "SELECT avg(x) FROM (SELECT buyer, count(*)::money::numeric AS x FROM orders GROUP BY buyer) AS t",
            'CAST("count(*)" AS MONEY) is not supported',
        ),
        (
            "SELECT sum((SELECT sum(total) FROM orders p WHERE p.status = o.status)) FROM orders o",
            'column "sum(p.total) of the subquery" has no declared bounds',
        ),
        (
            (
                "SELECT avg(x) FROM (SELECT (rank() OVER (PARTITION BY buyer ORDER BY total))::money::numeric AS x "
                "FROM orders) AS t"
            ),
            "rank() OVER (PARTITION BY orders.buyer ORDER BY orders.total)",
        ),
    ],
)
def test_what_has_no_name_is_called_what_it_is(sql: str, words: str, desk: Desk) -> None:
    """An aggregate of one unit, a value of a correlated subquery, and a window."""
    with pytest.raises(DpsqlError) as refused:
        desk.priced(sql, "ana")
    assert words in str(refused.value)
    assert _made_up(sql, str(refused.value)) == set()
