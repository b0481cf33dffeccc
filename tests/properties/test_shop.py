"""Several protected tables, exhaustively: taking one unit's rows away from all of them moves nothing further than claimed.

Small worlds where units have none to many rows, references that lead nowhere and NULL everywhere; nobody's rows change
nothing.
"""

import pytest

from dpsql.errors import DpsqlError
from tests.support.exactness import Measured
from tests.support.fix_engines import ENGINES
from tests.support.fix_shop import Shops, made_up
from tests.support.samples import in_one_way
from tests.support.shop_moves import UNITS, asked, worst
from tests.support.shop_statements import ANSWERED, REFUSED

SEEDS = range(2, 20)


@pytest.mark.parametrize(("sql", "dialect"), in_one_way({sql: (sql,) for sql in ANSWERED}, ENGINES, ENGINES))
def test_no_unit_moves_it_further_than_claimed(sql: str, dialect: str, shops: Shops) -> None:
    """A unit's rows in all tables, however they are joined, are worth no more than C; some world shows that they move it."""
    shop = shops[dialect]
    for part in asked(sql, shop):
        claim = Measured.of(part, shop.engine, shop.world).claim
        assert worst(part, shop, [made_up(0)], None) == 0
        assert worst(part, shop, [made_up(1)], *UNITS) <= claim
        moves = (worst(part, shop, [made_up(seed)], *UNITS) for seed in SEEDS)
        assert 0 < next(filter(None, moves)) <= claim


@pytest.mark.parametrize(("sql", "rule"), REFUSED)
def test_what_could_be_several_units_is_refused(sql: str, rule: str, shops: Shops) -> None:
    """Whatever leaves open whose a joined row is, before anything is asked."""
    with pytest.raises(DpsqlError) as refused:
        asked(sql, shops["duckdb"])
    assert refused.value.because == rule
