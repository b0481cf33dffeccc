"""Forms of SQL in which names, joins and references were taken for something else, or which were refused.

`forms.txt` has them by the tables that they are about, a line each, after its present verdict: `right` (without noise it is
what PostgreSQL says), `wrong`, or the rule or the SQLSTATE by which it is refused. `python -m tests.queries.forms` writes the
verdicts anew.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import psycopg

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import DpsqlError
from dpsql.policy.model import Table
from dpsql.question import Asker, Settings
from tests.lists.conftest import retail_lists
from tests.queries.test_golden import compare
from tests.queries.test_shop import generous
from tests.queries.test_shop import reference as meant_in_the_shop
from tests.support import clusters, fix_shop, fix_wide, temporary
from tests.support.dirt import rides, trips
from tests.support.fix_policy import NO_NOISE, read_policy, with_epsilon, with_rows
from tests.support.fix_world import Answer, Client, World, fetched, noon, running
from tests.support.golden import Golden
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Row, clamped
from tests.support.reference import Reference
from tests.support.served import Served

PLACE = Path(__file__).parent / "forms.txt"
_HIDDEN, _SHOWN = Settings(empty_groups="hide"), Settings(empty_groups="show")


def as_postgresql_shows_groups(sql: str) -> Settings:
    """Return the settings by which groups are shown as PostgreSQL shows them: none without rows, but of rows that stay."""
    beside = " LEFT JOIN " in sql.upper() or sql.upper().count("SELECT COUNT(*)")
    return _SHOWN if beside and _OF_PUBLIC.search(sql) else _HIDDEN


_OF_PUBLIC = re.compile(r"(?i)generate_series|unnest|recursive|\bvalues\b|from\s+(public\.)?zones\b[^(]*left join")
"""What makes rows that are nobody's, before what is joined to them."""


@dataclass(frozen=True, slots=True)
class Form:
    """A statement, about whose tables it is, and what becomes of it."""

    about: str
    verdict: str
    sql: str


@dataclass(frozen=True, slots=True)
class Bench:
    """Who asks, without noise, and what PostgreSQL says."""

    client: Client
    meaning: Callable[[str], Answer]


def forms() -> list[Form]:
    """Return all that the file has."""
    read, about = [], ""
    for line in PLACE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            about = line.removeprefix("# ").partition(":")[0]
        else:
            verdict, _, sql = line.partition(" ")
            read.append(Form(about, verdict, sql))
    return read


def verdict_of_form(sql: str, bench: Bench) -> str:
    """Return what becomes of a statement."""
    client = bench.client
    client.ledger.advance("each statement is the first")
    before = client.charges
    try:
        answer = client.ask(sql, as_postgresql_shows_groups(sql))
    except DpsqlError as refusal:
        assert client.charges == before
        return str(refusal.because or refusal.sqlstate)
    except psycopg.Error as error:
        return str(error.sqlstate)
    if sql.startswith("EXPLAIN"):
        return "right"
    expected = bench.meaning(sql)
    try:
        left = compare(answer, expected, Golden("", "", sql, "answered", within=1e-3))
    except AssertionError:
        return "wrong"
    right = (answer.names, answer.types) == (expected.names, expected.types)
    return "right" if right and all(row[-1] in (0, None) for row in left) else "wrong"


@contextmanager
def benches(directory: Path) -> Iterator[Mapping[str, Callable[[], Bench]]]:
    """Give what opens each of the benches, once it is asked for."""
    with ExitStack() as until:

        def opened(about: str) -> Bench:
            place = directory / about
            place.mkdir()
            return until.enter_context(_BENCHES[about](place))

        yield {about: _once(lambda about=about: opened(about)) for about in _BENCHES}  # type: ignore[misc]


def _once(make: Callable[[], Bench]) -> Callable[[], Bench]:
    made: list[Bench] = []

    def get() -> Bench:
        if not made:
            made.append(make())
        return made[0]

    return get


@contextmanager
def _asking(world: World, gateway_ledger: SqliteLedger, memory: Memory, policy: object = None) -> Iterator[Client]:
    client = Client(
        world.gateway(memory, gateway_ledger, policy=policy),  # type: ignore[arg-type]
        gateway_ledger,
        world.connect("ana", world.policy.dataset),
        world.connect("dpsql_owner", world.policy.dataset),
        Asker("ana", "owner"),
    )
    yield client
    client.connection.close()
    client.owner.close()


def _clean(rows: Sequence[Row], table: Table) -> list[Row]:
    """Return the rows that every statement sees, whatever columns it names."""
    needed = [name for name, column in table.columns.items() if not column.nullable]
    seen = (clamped(row, table) for row in rows)
    return [row for row in seen if all(row[name] is not None for name in needed)]


@contextmanager
def _taxi(directory: Path) -> Iterator[Bench]:
    policy = read_policy(directory)
    dirty = {"trips": trips(policy), "rides": rides(policy)}
    records = {name: _clean(rows, policy.tables[name]) for name, rows in dirty.items()}
    memory = Memory(policy)
    for table, rows in records.items():
        memory.load(table, rows, directory)
    with running(policy) as world, quick_ledger(noon) as ledger, _asking(world, ledger, memory) as client:
        reference = Reference.of(world, records, "clamped_forms")
        yield Bench(client, lambda sql: reference.answer(sql, "passenger"))
        reference.connection.close()


@contextmanager
def _shop(directory: Path) -> Iterator[Bench]:
    policy = fix_shop.read_shop(directory)
    memory = Memory(policy, public=fix_shop.PUBLIC)
    with running(policy, fix_shop.USERS, memory) as world, quick_ledger(noon) as ledger:
        served = Served(world, "forms_records", fix_shop.PUBLIC)
        shop = fix_shop.Shop(world, served)
        tables = fix_shop.made_up(5, size=12, most=12)
        shop.fill(tables)
        fix_shop.Shop(world, memory).fill(tables)
        with _asking(world, ledger, memory, generous(policy)) as client:
            yield Bench(client, lambda sql: meant_in_the_shop(sql, shop))
        served.close()


def _payers() -> Mapping[str, list[Row]]:
    numbers = [(n, k) for n in range(1, 9) for k in range(n % 4)]
    return {
        "payers": [
            fix_wide.plain("payer", Decimal(n) + Decimal("0.5") * (n % 2), iv=(n + k) % 4, place=k) for n, k in numbers
        ],
        "visits": [fix_wide.plain("person", n, iv=(n + k) % 4, place=k) for n, k in numbers],
        "members": [],
    }


@contextmanager
def _wide(directory: Path) -> Iterator[Bench]:
    policy = fix_wide.read_wide(directory)
    memory = Memory(policy, public=fix_wide.PUBLIC, types=fix_wide._TYPES)
    with running(policy, fix_wide.USERS, memory) as world, quick_ledger(noon) as ledger:
        served = Served(world, "forms_wide", fix_wide.PUBLIC)
        for table, rows in _payers().items():
            memory.fill(table, rows)
            served.fill(table, rows)
        for table in ("payers", "visits"):
            policy = with_rows(policy, table, "passenger", 4)
        with _asking(world, ledger, memory, with_epsilon(policy, NO_NOISE)) as client:
            yield Bench(client, lambda sql: fetched(served._owner, sql))
        served.close()


@contextmanager
def _sales(directory: Path) -> Iterator[Bench]:
    for lists in retail_lists(directory):
        yield Bench(lists.clients["duckdb", "tpcds"], lambda sql, lists=lists: fetched(lists.plain._owner, sql))  # type: ignore[misc]


_BENCHES = {"taxi": _taxi, "shop": _shop, "wide": _wide, "sales": _sales}


def _update() -> None:
    with tempfile.TemporaryDirectory() as directory, benches(Path(directory)) as made:
        verdicts = {form.sql: verdict_of_form(form.sql, made[form.about]()) for form in forms()}
    lines = PLACE.read_text(encoding="utf-8").splitlines()
    PLACE.write_text("".join(f"{_verdict_first(line, verdicts)}\n" for line in lines), encoding="utf-8")


def _verdict_first(line: str, verdicts: Mapping[str, str]) -> str:
    sql = line.partition(" ")[2]
    return line if line.startswith("#") else f"{verdicts[sql]} {sql}"


if __name__ == "__main__":
    temporary.begin()
    clusters.begin()
    _update()
