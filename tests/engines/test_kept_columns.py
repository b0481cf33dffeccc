"""What a snapshot keeps beside a table's own columns can be computed of any column that may be declared."""

from dataclasses import replace

import duckdb
import pytest

from dpsql.engines.snapshot.kept_columns import fill, to_keep
from dpsql.policy.interval import Interval
from dpsql.policy.load.tables import own_step
from dpsql.policy.model import Policy, SqlType


@pytest.mark.parametrize(
    ("declared", "most"),
    [
        ("numeric(6,2)", "150"),
        ("numeric(10,2)", "50000000"),
        ("numeric(12,2)", "1000000000"),
        ("numeric(20,4)", "1000000000000000"),
        ("numeric(30,10)", "10000000000"),
    ],
)
def test_decimals_of_any_size_are_kept(policy: Policy, declared: str, most: str) -> None:
    """Also where their own steps are more than statements round to: those of cents from 0 to a billion need 37 bits."""
    bounds = Interval.of(0, most)
    price = replace(policy.tables["rides"].columns["price"], declared=declared, bounds=bounds)
    price = replace(price, step=own_step(SqlType.NUMERIC, declared, bounds, None))
    rider = policy.tables["rides"].columns["rider"]
    rides = replace(policy.tables["rides"], columns={"rider": rider, "price": price}, units={})
    kept = to_keep(rides, policy)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE rides (rider BIGINT, price {declared.replace('numeric', 'DECIMAL')})")
        connection.execute(f"INSERT INTO rides VALUES (1, 0), (2, 1.5), (3, {most}), (4, NULL)")
        fill(connection, rides, kept, "rides", "filled")
        (rows,) = connection.execute("SELECT count(*) FROM filled").fetchall()
        columns = connection.execute("DESCRIBE filled").fetchall()
    assert rows == (4,)
    assert len(columns) == 2 + len(kept.texts)
    assert kept.texts
