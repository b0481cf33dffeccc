"""What statements over several protected tables mean: PostgreSQL's own answer over the clamped tables.

The clamped tables are views here, written from the declared meaning alone: values within bounds or among the declared ones;
rows that have a unit, by their own column or by the row that they point to, and a value in every column that is named.
"""

from collections.abc import Iterator, Mapping, Sequence

import psycopg
import pytest
import sqlglot
from sqlglot import exp

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.policy.model import Policy
from dpsql.question import Asker
from tests.support.fix_engines import ENGINES
from tests.support.fix_policy import with_rows
from tests.support.fix_shop import PROTECTED, USERS, Shop, Shops, made_up
from tests.support.fix_world import Answer, Client, fetched, noon
from tests.support.samples import in_one_way
from tests.support.served import Served
from tests.support.shop_statements import ANSWERED
from tests.support.shop_worlds import owned, seen

WORLDS, ENOUGH = range(1, 13), 2
"""Which worlds are looked at, until so many have any rows."""
ROUGH = frozenset({"max(quantity)"})
"""What is approximate."""
MEANT = [sql for sql in ANSWERED if not any(part in sql for part in ROUGH)]


def generous(policy: Policy) -> Policy:
    """Return the policy under which every row counts in full."""
    for table in PROTECTED:
        policy = with_rows(policy, table, "customer", 1_000)
    return policy


def views(policy: Policy, names: frozenset[str]) -> Iterator[str]:
    """Yield the statements that make the clamped tables, as a statement sees them that names these columns."""
    for name in PROTECTED:
        table = policy.tables[name]
        columns = ", ".join(f"{seen(column)} AS {column.name}" for column in table.columns.values())
        needed = [f"{c.name} IS NOT NULL" for c in table.columns.values() if c.name in names and not c.nullable]
        rows = f"SELECT {columns} FROM public.{name} WHERE {owned(table, policy)}"
        yield f"CREATE VIEW meant.{name} AS SELECT * FROM ({rows}) AS r WHERE {' AND '.join(['TRUE', *needed])}"


def reference(sql: str, shop: Shop) -> Answer:
    """Return what PostgreSQL answers."""
    assert isinstance(shop.engine, Served)
    connection: psycopg.Connection = shop.engine._owner
    names = frozenset(column.name for column in sqlglot.parse_one(sql, read="postgres").find_all(exp.Column))
    with connection.transaction(force_rollback=True):
        connection.execute("CREATE SCHEMA meant")
        for statement in views(shop.policy, names):
            connection.execute(statement.encode())
        connection.execute("SET LOCAL search_path = meant, public")
        return fetched(connection, sql)


@pytest.fixture(scope="module")
def clients(shops: Shops, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Client]]:
    """Clients of both engines, for whom every row counts in full and nothing is noisy."""
    made: dict[str, Client] = {}
    ledgers = {name: SqliteLedger(tmp_path_factory.mktemp("ledger") / "ledger.db", noon) for name in shops}
    for name, shop in shops.items():
        ledger = ledgers[name]
        gateway = shop.world.gateway(shop.engine, ledger, policy=generous(shop.policy))
        connections = (shop.world.connect("ana", "shop"), shop.world.connect("dpsql_owner", "shop"))
        made[name] = Client(gateway, ledger, *connections, Asker("ana", USERS["ana"]))
    yield made
    for client in made.values():
        client.connection.close()
        client.owner.close()
    for ledger in ledgers.values():
        ledger.close()


@pytest.mark.parametrize(("sql", "dialect"), in_one_way({sql: (sql,) for sql in MEANT}, ENGINES, ENGINES))
def test_it_means_what_postgresql_says(sql: str, dialect: str, shops: Shops, clients: Mapping[str, Client]) -> None:
    """Every group that has rows has their numbers; the others are zeros."""
    compared = 0
    for seed in WORLDS:
        tables = made_up(seed, size=12, most=12)
        shops["postgres"].fill(tables)
        expected = reference(sql, shops["postgres"])
        if not any(map(any, expected.rows)):
            continue
        shops[dialect].fill(tables)
        clients[dialect].ledger.advance(f"other rows {seed}")
        answer = clients[dialect].ask(sql)
        assert (answer.names, answer.types) == (expected.names, expected.types)
        left = [row for row in answer.rows if row not in expected.rows]
        assert sorted(map(str, expected.rows)) == sorted(str(row) for row in answer.rows if row in expected.rows)
        assert all(_empty(row) for row in left)
        compared += 1
        if compared == ENOUGH:
            break
    assert compared


def _empty(row: Sequence[object]) -> bool:
    return any(cell == 0 for cell in row) and row[-1] in {0, None}
