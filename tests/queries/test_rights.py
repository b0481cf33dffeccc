"""Golden statements of roles that are told of tables in part, beside PostgreSQL that has only that part."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from dpsql.engines.base import Engine
from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy
from dpsql.question import Asker
from dpsql.rewrite.dialects.base import Dialect
from tests.queries.forms import as_postgresql_shows_groups
from tests.queries.test_golden import COMPARED, compare
from tests.support.dialects import DIALECTS, NAMES
from tests.support.fix_dirty import Records
from tests.support.fix_rights import CONDITIONS, NAMED, holds
from tests.support.fix_world import Client, World, noon
from tests.support.golden import NEARLY, Golden
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.reference import Reference
from tests.support.samples import slow, spread
from tests.support.served import Served

ONE_OF = 8
WIDER = 3
"""How much farther off a quantile may be than a golden statement says of all rows: there are fewer."""
MISSING = frozenset(
    {
        "correlated: EXISTS under OR",
        "correlated: the first rows of each unit, by a list of pairs",
        "correlated: the table's own name is taken",
        "two_stage: one of two",
        "windows: texts of a unit's first row",
    }
)
"""Of which rows are or are not that lack a value that is declared to be there: what PostgreSQL makes of them is chance."""
REFUSED = frozenset({"sums: divided where CASE allows it, of what may be missing"})
"""What is refused under such a condition, whoever writes it: it is not told that a divisor is not 0."""
PLAIN = [golden for golden in COMPARED if golden.user == "ana" and not golden.reference and "card_" not in golden.sql]


def cases(*beside: frozenset[str]) -> list[pytest.ParameterSet]:
    """Return statements in both ways, but for some; most are slow."""
    return [
        pytest.param(
            golden, dialect, id=f"{golden.name}-{name}", marks=() if spread(golden.name, ONE_OF) == place else slow
        )
        for golden in PLAIN
        if not any(golden.name in some for some in beside)
        for place, (dialect, name) in enumerate(zip(DIALECTS, NAMES, strict=True))
    ]


@pytest.fixture(scope="module")
def asking(
    world: World, rights: Policy, dirty: Memory, dirty_postgres: Served
) -> Iterator[dict[tuple[Dialect, str], Client]]:
    """Clients of both roles, on both engines; the shadow itself would let them ask for everything."""
    engines: tuple[Engine, ...] = (dirty, dirty_postgres)
    with ExitStack() as until:
        owner = until.enter_context(world.connect("dpsql_owner"))
        connection = until.enter_context(world.connect("ana"))
        clients = {}
        for dialect, engine in zip(DIALECTS, engines, strict=True):
            ledger = until.enter_context(quick_ledger(noon))
            gateway = world.gateway(engine, ledger, policy=rights)
            for role in ("in_part", "columns"):
                clients[dialect, role] = Client(gateway, ledger, connection, owner, Asker("ana", role))
        yield clients


@pytest.fixture(scope="module")
def in_part(world: World, records: Records) -> Iterator[Reference]:
    """PostgreSQL with the rows for which the conditions hold, and no others."""
    made = Reference.of(world, records, "in_part")
    for table, condition in CONDITIONS.items():
        made.connection.execute(f"DELETE FROM clamped.{table} AS {table} WHERE ({condition}\n) IS NOT TRUE".encode())
    yield made
    made.connection.close()


@pytest.fixture(scope="module")
def alone(world: World, rights: Policy, records: Records, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The same role, of an engine that has those rows and no others."""
    engine, directory = Memory(world.policy), tmp_path_factory.mktemp("part")
    for table, rows in records.items():
        engine.load(table, [row for row in rows if holds(world.policy.tables[table], row)], directory)
    with quick_ledger(noon) as ledger, world.connect("ana") as connection, world.connect("dpsql_owner") as owner:
        yield Client(world.gateway(engine, ledger, policy=rights), ledger, connection, owner, Asker("ana", "in_part"))
    engine.close()


@pytest.mark.parametrize(("golden", "dialect"), cases(REFUSED))
def test_no_other_row_is_seen(
    golden: Golden, dialect: Dialect, asking: dict[tuple[Dialect, str], Client], alone: Client
) -> None:
    """Each statement is answered as it would be if the engine had only the rows for which the condition holds."""
    client = asking[dialect, "in_part"]
    for asker in (client, alone):
        asker.ledger.advance("each statement is the first")
    compare(client.ask(golden.sql), alone.ask(golden.sql), replace(golden, within=max(golden.within, NEARLY) * WIDER))


WAYS = (
    "SELECT count(*), count(t.payment_type), sum(t.fare) FROM rides r LEFT JOIN trips t ON t.passenger_id = r.rider",
    "SELECT count(*), count(r.paid) FROM rides r RIGHT JOIN trips t ON t.passenger_id = r.rider AND r.seats > 2",
    "SELECT count(*), count(a.age), sum(b.fare) FROM rides a FULL JOIN trips b ON a.rider = b.passenger_id AND a.tip < b.tip",
    "SELECT count(*) FROM rides r WHERE NOT EXISTS (SELECT 1 FROM trips t WHERE t.passenger_id = r.rider AND t.fare > 50)",
    "SELECT count(*) FROM rides r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.passenger_id = r.rider AND t.fare > 90)",
    (
        "SELECT avg(n) FROM (SELECT r.rider, count(t.fare) AS n FROM rides r LEFT JOIN trips t ON t.passenger_id = r.rider "
        "GROUP BY 1) AS u"
    ),
    "SELECT sum(x) FROM (SELECT fare AS x, rider FROM rides UNION ALL SELECT tip, passenger_id FROM trips) AS u",
    (
        "SELECT count(*) FROM rides r JOIN (SELECT passenger_id, max(fare) AS most FROM trips GROUP BY 1) t "
        "ON t.passenger_id = r.rider AND most > 70"
    ),
    "SELECT count(*), sum(total) FROM card_rides",
    "SELECT avg(spent) FROM riders WHERE rides > 3",
)
"""Ways to a second table, or to one through a view."""


@pytest.mark.parametrize("dialect", DIALECTS, ids=NAMES)
@pytest.mark.parametrize("sql", WAYS)
def test_no_other_row_of_a_second_table_is_seen(
    sql: str, dialect: Dialect, asking: dict[tuple[Dialect, str], Client], alone: Client
) -> None:
    """Nor one that is there for want of another."""
    client = asking[dialect, "in_part"]
    for asker in (client, alone):
        asker.ledger.advance("each statement is the first")
    answer = client.ask(sql)
    compare(answer, alone.ask(sql), Golden("ways", sql, sql, "answered", within=1e-3))


@pytest.mark.parametrize(("golden", "dialect"), cases(REFUSED, MISSING))
def test_answers_are_those_of_the_rows_that_it_is_told_of(
    golden: Golden, dialect: Dialect, asking: dict[tuple[Dialect, str], Client], in_part: Reference
) -> None:
    """Each statement is answered as PostgreSQL would, had it no other rows: without the groups that it does not have then."""
    client = asking[dialect, "in_part"]
    client.ledger.advance("each statement is the first")
    shown = as_postgresql_shows_groups(golden.sql)
    answer, expected = client.ask(golden.sql, shown), in_part.answer(golden.sql, "passenger")
    assert (answer.names, answer.types) == (expected.names, expected.types)
    compare(answer, expected, replace(golden, within=golden.within * WIDER if golden.within > NEARLY else NEARLY))


@pytest.fixture(scope="module")
def reader(reference: Reference) -> Iterator[psycopg.Connection]:
    """PostgreSQL as somebody who was granted the columns that the role may name."""
    owner = reference.connection
    owner.execute("DROP ROLE IF EXISTS reader_of_columns")
    owner.execute("CREATE ROLE reader_of_columns")
    owner.execute("GRANT SELECT ON public.zones TO reader_of_columns")
    reference.answer("SELECT count(*) FROM rides, trips", "passenger")  # makes the views
    for table, names in NAMED.items():
        columns = SQL(", ").join(map(Identifier, sorted(names)))
        owner.execute(SQL("GRANT SELECT ({}) ON {} TO reader_of_columns").format(columns, Identifier(table)))
    yield owner
    owner.execute("DROP OWNED BY reader_of_columns")
    owner.execute("DROP ROLE reader_of_columns")


def _denied(sql: str, reader: psycopg.Connection) -> bool | None:
    """Return whether PostgreSQL refuses to run a statement for whom it names; None where it has something else to say."""
    try:
        with reader.transaction(force_rollback=True):
            reader.execute("SET LOCAL ROLE reader_of_columns")
            reader.execute(f"EXPLAIN {sql}".encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    except psycopg.Error:
        return None
    return False


@pytest.mark.parametrize("part", range(8))
def test_columns_are_refused_where_postgresql_refuses_them(
    part: int, asking: dict[tuple[Dialect, str], Client], reader: psycopg.Connection
) -> None:
    """And nowhere else: of golden statements that the owner is answered."""
    client, seen = asking[DIALECTS[0], "columns"], Counter[bool]()
    for golden in PLAIN[part::8]:
        expected = _denied(golden.sql.replace('"taxi".', ""), reader)
        if expected is not None:
            rule = _rule(golden.sql, client)
            starred = expected and not _denied(golden.sql.replace("SELECT *", "SELECT fare"), reader)
            if not starred:  # of what a star stands for nothing need be told
                assert rule == ("column-not-granted" if expected else None), golden.sql
            seen[rule is None] += 1
    assert min(seen[True], seen[False]) > 5


def _rule(sql: str, client: Client) -> str | None:
    """Return the rule by which a statement is refused, None where it is answered."""
    try:
        client.ask(sql)
    except DpsqlError as refused:
        return refused.because
    return None
