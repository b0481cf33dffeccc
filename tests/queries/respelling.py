"""What becomes of a statement in other words: nothing new, or in what it differs.

What PostgreSQL answers otherwise is no respelling. Differences that are known stand in `respelled.txt`, by why they are
so: the statement (`*` for any), the spelling and what is different, a line each. `python -m tests.queries.respelling` reports
those of the golden statements that are not, or only of a part, `0 4` being the first of four; `shop 0 300` those of as many
made-up statements over the shop.
"""

import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path

import psycopg
import sqlglot
from sqlglot import exp

from dpsql.engines.base import Engine
from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.question import Asker
from dpsql.rewrite.emit.emitter import Emitter
from tests.queries.respelled import RESPELLINGS, respelled
from tests.queries.test_golden import ANSWERED, compare
from tests.queries.test_shop import generous
from tests.support import clusters, fix_shop, temporary
from tests.support.dialects import DUCKDB
from tests.support.dirt import rides, trips
from tests.support.fix_policy import read_policy
from tests.support.fix_world import USERS, Answer, Client, World, fetched, noon, running
from tests.support.golden import Golden
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.reference import Reference
from tests.support.served import Served
from tests.support.shop_checks import MEDIAN
from tests.support.shop_generator import written

PLACE = Path(__file__).parent / "respelled.txt"
Meaning = Callable[[str, frozenset[str]], Answer]
"""What PostgreSQL answers to a statement, over the rows that have a value in these columns."""
Cells = Callable[[tuple[object, ...]], tuple[object, ...]]
NEAR = 1e-6
"""How far the means and sums of the same rows may be from each other, relative to the larger."""
OTHER_TREE = frozenset({"conditions", "commas", "backwards"})
"""What PostgreSQL, too, has another tree for: it may be measured anew, at the same price."""
CHARGED, MEASURED = "charged anew", "measured anew"
"""What engines are asked is the same, letter by letter, or is not."""


@dataclass(frozen=True, slots=True)
class Difference:
    """In what a statement in other words differs, and by what words."""

    name: str
    spelling: str
    what: str
    sql: str

    @property
    def kind(self) -> str:
        """Return what is different without what depends on the statement."""
        return self.what.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that was judged."""

    name: str
    spelling: str
    kind: str

    def covers(self, difference: Difference) -> bool:
        """Return whether this is said of a difference."""
        pairs = ((difference.name, self.name), (difference.spelling, self.spelling), (difference.kind, self.kind))
        return all(mine == said or fnmatchcase(mine, said) for mine, said in pairs)


def known_differences() -> list[Known]:
    """Return all that is known."""
    lines = PLACE.read_text(encoding="utf-8").splitlines() if PLACE.exists() else []
    return [Known(*line.split(" | ")) for line in lines if line and not line.startswith("#")]


def tried(
    golden: Golden, spelling: str, client: Client, meaning: Meaning, cells: Cells = lambda row: row
) -> Difference | None:
    """Return in what a statement in other words differs; None if in nothing, or if PostgreSQL reads it otherwise.

    `cells` are those of a row that are compared where it is measured anew: of few rows, many statistics are mostly noise.
    """
    other = respelled(golden.sql, spelling, client.gateway._deps.policy)
    names = _means_the_same(golden.sql, other, meaning) if other else None
    if other is None or names is None:
        return None
    client.ledger.advance("each statement is the first")
    what = _found(golden, spelling, other, names, client, cells)
    return Difference(golden.name, spelling, what, other) if what else None


def _means_the_same(sql: str, other: str, meaning: Meaning) -> tuple[str, ...] | None:
    """Return what PostgreSQL calls the outputs of the other statement, if it answers both alike."""
    read = frozenset(column.name.lower() for column in sqlglot.parse_one(sql, read="postgres").find_all(exp.Column))
    try:
        original, two = meaning(sql, read), meaning(other, read)
    except psycopg.Error:
        return None
    return two.names if original.types == two.types and _alike(original, two) else None


def _alike(answer: Answer, other: Answer, within: float = NEAR) -> bool:
    """Return whether two answers have the same rows in some order."""
    if len(answer.rows) != len(other.rows):
        return False
    try:
        return not compare(answer, other, Golden("", "", "SELECT 1", "", within=within))
    except AssertionError:
        return False


def _found(golden: Golden, spelling: str, other: str, names: tuple[str, ...], client: Client, cells: Cells) -> str:
    expected = client.ask(golden.sql)
    before = client.charges
    try:
        answer = client.ask(other)
    except (EngineFailed, InternalError) as error:
        return f"fails: {type(error).__name__}"
    except DpsqlError as refusal:
        return f"refused {refusal.because}: {refusal.sqlstate} {refusal.message}"
    except psycopg.Error as error:
        return f"PostgreSQL {error.sqlstate}: {str(error).splitlines()[0]}"
    if (answer.types, answer.names) != (expected.types, names):
        return f"described otherwise: {answer.names} {answer.types}, not {names} {expected.types}"
    again, first = (replace(each, rows=[cells(row) for row in each.rows]) for each in (answer, expected))
    if client.charges == before:
        # Where it is computed from the other's answer, a sum may be read off another of its numbers: within the margin.
        same = sorted(map(repr, answer.rows)) == sorted(map(repr, expected.rows)) or _alike(again, first, NEAR)
        return "" if same else f"wrong: {answer.rows[:2]} of the same release, not {expected.rows[:2]}"
    if not _alike(again, first, max(golden.within, NEAR)):
        return f"wrong: {answer.rows[:2]}, not {expected.rows[:2]}"
    own, two = plan_of(golden.sql, client), plan_of(other, client)
    if own.epsilon != two.epsilon or len(own.texts) != len(two.texts):
        return f"another price: {len(two.texts)} measurements for {two.epsilon}, not {len(own.texts)} for {own.epsilon}"
    if spelling in OTHER_TREE:
        return ""
    return CHARGED if own.texts == two.texts else MEASURED


_OF_ANSWERS = re.compile(r'"(?:[^"]|"")* of the subquery"')
"""Columns of answers are called by the text of what they are."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What DuckDB is asked for a statement, and at what ε."""

    texts: tuple[str, ...]
    epsilon: Fraction


def plan_of(sql: str, client: Client) -> _Plan:
    """Return what is measured for a statement."""
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    request = client.request(question)
    analyzed = client.gateway.analyzed(request)
    assert analyzed is not None
    parts = client.gateway.priced(analyzed, request).measurements
    emitter = Emitter(DUCKDB, client.gateway._deps.declared)
    texts = tuple(_OF_ANSWERS.sub('"of an answer"', part.measurement.sql(emitter)) for part in parts)
    return _Plan(texts, sum((part.cost.epsilon for part in parts), Fraction(0)))


STILL = [
    golden
    for golden in ANSWERED
    if golden.cost and golden.still and golden.sql.lower().startswith(("select", "with", "("))
]
"""The golden statements that are respelled."""


@contextmanager
def asking(name: str, world: World, engine: Engine) -> Iterator[Client]:
    """Give a user's client with a ledger of its own."""
    with quick_ledger(noon) as ledger:
        connections = world.connect(name), world.connect("dpsql_owner")
        yield Client(world.gateway(engine, ledger), ledger, *connections, Asker(name, USERS[name]))
        for connection in connections:
            connection.close()


def meaning_of(reference: Reference, kind: str) -> Meaning:
    """Return what says what statements mean over the golden statements' tables; what it said last is remembered."""
    last: dict[str, Answer] = {}

    def meaning(sql: str, read: frozenset[str]) -> Answer:
        if sql not in last:
            for table in reference.policy.tables.values():
                if not table.public:
                    reference._show(table, set(read), kind)
            with reference.connection.transaction(force_rollback=True):
                answer = fetched(reference.connection, sql.replace('"taxi".', ""))
            if len(last) > 1:
                last.clear()
            last[sql] = answer
        return last[sql]

    return meaning


def differences(golden: Golden, world: World, engine: Engine, reference: Reference) -> Iterator[Difference]:
    """Yield in what a statement differs in all other words."""
    meaning = meaning_of(reference, world.policy.roles[USERS[golden.user]].protects)
    with asking(golden.user, world, engine) as client:
        for spelling in RESPELLINGS:
            difference = tried(golden, spelling, client, meaning)
            if difference is not None:
                yield difference


def report(listed: Sequence[Difference]) -> Iterator[str]:
    """Yield lines of what is not known, by what is different and by what words."""
    groups: defaultdict[str, list[Difference]] = defaultdict(list)
    judged = known_differences()
    for each in listed:
        if not any(line.covers(each) for line in judged):
            groups[f"{each.kind} by {each.spelling}"].append(each)
    for cause, several in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield f"\n# {len(several)} {cause}"
        for each in several:
            yield f"{each.name} | {each.spelling} | {each.kind}\n#   {each.what}\n#   {' '.join(each.sql.split())}"


@contextmanager
def in_the_shop(directory: Path) -> Iterator[Callable[[int], Iterator[Difference]]]:
    """Give what yields in what the shop's statement of a number differs in all other words."""
    policy = fix_shop.read_shop(directory)
    memory = Memory(policy, public=fix_shop.PUBLIC)
    with running(policy, fix_shop.USERS, memory) as world:
        served = Served(world, "respelled_records", fix_shop.PUBLIC)
        served.execute(MEDIAN)
        for engine in (served, memory):
            fix_shop.Shop(world, engine).fill(fix_shop.made_up(5, size=12, most=12))
        opened = {name: (world.connect(name, "shop"), world.connect("dpsql_owner", "shop")) for name in fix_shop.USERS}

        def of_number(number: int) -> Iterator[Difference]:
            statement = written(number)
            if not all(statement.exact) or statement.user == "eve":
                return  # noise alone makes such answers differ
            golden = Golden("shop", str(number), statement.sql, "answered", user=statement.user, within=1e-3)
            with quick_ledger(noon) as ledger:
                gateway = world.gateway(memory, ledger, policy=generous(policy))
                client = Client(
                    gateway, ledger, *opened[statement.user], Asker(statement.user, fix_shop.USERS[statement.user])
                )
                counted = _counts(statement.keys, statement.sql)
                yield from _of_shop(golden, client, lambda sql, _: fetched(served._owner, sql), counted)

        yield of_number
        for connection in (connection for both in opened.values() for connection in both):
            connection.close()
        served.close()
        memory.close()


def _counts(keys: int, sql: str) -> Cells:
    """Return what leaves the keys of a row, and how many rows it has."""
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    outputs = tree.selects
    counts = [place for place, output in enumerate(outputs) if output.unalias().sql() == "COUNT(*)"]
    return lambda row: (*row[:keys], *(row[place] for place in counts))


def _of_shop(golden: Golden, client: Client, meaning: Meaning, cells: Cells) -> Iterator[Difference]:
    try:
        client.ask(golden.sql)
    except DpsqlError:
        return
    for spelling in RESPELLINGS:
        difference = tried(golden, spelling, client, meaning, cells)
        if difference is not None:
            yield difference


def _of_shop_statements(start: int, number: int) -> None:
    with tempfile.TemporaryDirectory() as place, in_the_shop(Path(place)) as of_number:
        listed = [difference for n in range(start, start + number) for difference in of_number(n)]
    sys.stdout.write("\n".join(report(listed)) + "\n")


def _of_golden_statements(part: int, of: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        policy = read_policy(directory)
        records = {"trips": trips(policy), "rides": rides(policy)}
        engine = Memory(policy)
        for table, rows in records.items():
            engine.load(table, rows, directory)
        with running(policy) as world:
            reference = Reference.of(world, records, "clamped_respelled")
            listed: list[Difference] = []
            for golden in STILL[part::of]:
                listed += differences(golden, world, engine, reference)
            reference.connection.close()
    sys.stdout.write("\n".join(report(listed)) + "\n")


if __name__ == "__main__":
    temporary.begin()
    clusters.begin()
    if sys.argv[1:2] == ["shop"]:
        _of_shop_statements(*map(int, sys.argv[2:]))
    else:
        _of_golden_statements(*map(int, sys.argv[1:] or ("0", "1")))
