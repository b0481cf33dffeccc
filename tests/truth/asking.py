"""Questions of a data set, their true answers, and how far answers of many epochs lie from them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.gateway.explaining.notices import notices
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.measuring import with_profile
from dpsql.gateway.pricing import PricedPlan
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import DistinctMarginOutput, Output, PointMarginOutput, StatisticOutput
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release.release import Draws, release_of
from dpsql.question import Asker
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, World, noon, running
from tests.support.quick_ledger import quick_directory
from tests.truth.data_sets import USERS, DataSet, Filled, Remembering, filled, with_bound

QUESTIONS = (
    "count(*)",
    "sum({a})",
    "avg({a})",
    "sum({b})",
    "avg({b})",
    "variance({a})",
    "stddev({b})",
    "median({a})",
    "median({b})",
    "percentile_cont(0.9) WITHIN GROUP (ORDER BY {a})",
    "count(DISTINCT {owner})",
    "count(*) FILTER (WHERE {f})",
    "sum({a}) FILTER (WHERE {f})",
    "avg({b}) FILTER (WHERE {f})",
    "avg(CASE WHEN {f} THEN 1 ELSE 0 END)",
    "{g}: count(*)",
    "{g}: sum({a})",
    "{g}: avg({a})",
    "{g}: median({a})",
    "{h}: count(*)",
    "{h}: avg({b})",
    "{h}: count(DISTINCT {owner})",
    "{h}: count(*) DESC LIMIT 3",
    "{h}: avg({b}) DESC LIMIT 3",
)
"""Each a value of all rows, or of the groups that a key before the colon makes: of all, or of the first by that value."""
EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
_RANKED = " DESC LIMIT "


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about some rows of a data set."""

    data: DataSet
    question: str
    where: str

    @property
    def value(self) -> str:
        """Return the expression whose value is asked for."""
        return self._said(self.question.rpartition(": ")[2].partition(_RANKED)[0])

    @property
    def first(self) -> int | None:
        """Return how many groups are asked for, of those with the largest values; None where all are."""
        number = self.question.partition(_RANKED)[2]
        return int(number) if number else None

    @property
    def key(self) -> str:
        """Return the key of the groups; nothing where there are none."""
        return self._said(self.question.rpartition(": ")[0])

    def statement(self, table: str, *more: str) -> str:
        """Return the statement over a table."""
        ranked = f" ORDER BY 2{_RANKED}{self.first}" if self.first else ""
        return self.of_all(table, *more) + ranked

    def of_all(self, table: str, *more: str) -> str:
        """Return the statement that asks for all groups."""
        said = [*([self.key] if self.key else []), self.value, *more]
        grouped = f" GROUP BY {self.key}" if self.key else ""
        return f"SELECT {', '.join(said)} FROM {table} WHERE {self.where}{grouped}"

    def _said(self, text: str) -> str:
        return text.format(**self.data.words, owner=self.data.owner)


def every(data: DataSet) -> list[tuple[Asked, Fraction]]:
    """Return all questions about each of five parts of a data set, at each ε."""
    return [(Asked(data, *asked), epsilon) for *asked, epsilon in product(QUESTIONS, data.filters, EPSILONS)]


def a_third(data: DataSet) -> list[tuple[Asked, Fraction]]:
    """Return each question about each part at one ε, so that each question, and each part, is asked at all of them."""
    pairs = product(enumerate(QUESTIONS), enumerate(data.filters))
    return [(Asked(data, question, where), EPSILONS[(i + j) % len(EPSILONS)]) for (i, question), (j, where) in pairs]


Values = Mapping[object, tuple[float | None, ...]]
"""By key, what is said of a group."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A statement that was planned once, and is answered many times: the same exact rows, with other noise and another C."""

    priced: PricedPlan
    reading: Reading
    engine: Remembering
    entropy: Entropy
    keys: int
    """By how many columns there are groups; of several the key is all their values."""
    places: Sequence[int]
    """Where values and their margins stand in a row: what is ordered by may come before what is selected."""
    first: int | None = None

    @classmethod
    def of(
        cls, client: Client, sql: str, engine: Remembering, entropy: Entropy, first: int | None = None
    ) -> "Repeated":
        """Plan a statement, of which so many groups are wanted."""
        question = client.gateway.examine(sql, client.asker)
        assert question is not None
        request = client.request(question)
        analyzed = client.gateway.analyzed(request)
        assert analyzed is not None
        priced = client.gateway.priced(analyzed, request)
        plan = priced.plan.scopes[0].plan
        keys = len(plan.groups.keys)
        places = sorted(range(keys, keys + len(plan.outputs)), key=lambda place: _is_margin(plan.outputs[place - keys]))
        return cls(priced, client.gateway._reading(request), engine, entropy, keys, places, first)

    def answer(self) -> Values:
        """Measure, release and read it as a gateway does, but for the charge and the shadow."""
        return self.read(self.drawn())

    def answer_with_notices(self) -> tuple[Values, tuple[str, ...]]:
        """Return an answer, and what is said beside it."""
        drawn = self.drawn()
        return self.read(drawn), notices(self.priced, drawn, self.reading)

    def drawn(self) -> Mapping[str, Draws]:
        """Measure and release it."""
        drawn: dict[str, Draws] = {}
        for waiting in self.priced.measurements:
            part = self.reading.completed(self.priced, waiting, drawn)
            release = release_of(part, self.engine.rows(part.sql), None, self.entropy)
            drawn[part.identity] = Draws.of((part.measurement, release))
        return with_profile(drawn, self.priced, self.reading.profile)

    def read(self, drawn: Mapping[str, Draws]) -> Values:
        """Return what releases say; of a ranking the first groups, which the shadow takes, as PostgreSQL orders them."""
        ((_, rows),) = self.reading.rows(self.priced, drawn)
        told: dict[object, tuple[float | None, ...]] = {
            self._key(row): _numbers([row[place] for place in self.places]) for row in rows
        }
        if self.first is None:
            return told
        ranked = sorted(told.items(), key=lambda of: math.inf if of[1][0] is None else of[1][0], reverse=True)
        return dict(ranked[: self.first])

    def _key(self, row: Sequence[object]) -> object:
        if self.keys > 1:
            return tuple(map(str, row[: self.keys]))
        return row[0] if self.keys else None


def _is_margin(output: Output) -> bool:
    margins = (DistinctMarginOutput, PointMarginOutput)
    return isinstance(output, margins) or (isinstance(output, StatisticOutput) and output.margin)


def _numbers(cells: Sequence[object]) -> tuple[float | None, ...]:
    return tuple(None if cell is None else float(str(cell)) for cell in cells)


@dataclass(slots=True)
class Place:
    """A server's pieces for one data set; a gateway for each ε and C."""

    filled: Filled
    world: World
    ledger: SqliteLedger
    until: ExitStack
    entropy: Entropy = field(default_factory=lambda: np.random.default_rng(17).bytes)
    _clients: dict[tuple[Fraction, int | None], Client] = field(default_factory=dict)
    _truths: dict[Asked, Values] = field(default_factory=dict)

    def client(self, epsilon: Fraction, most: int | None = None) -> Client:
        """Return a client that pays so much a statement; with a C that is declared, or one that is chosen."""
        if (epsilon, most) not in self._clients:
            policy = with_epsilon(with_bound(self.filled.policy, self.filled.data, most), epsilon)
            self._clients[epsilon, most] = self.client_of(policy)
        return self._clients[epsilon, most]

    def client_of(self, policy: Policy) -> Client:
        """Return a client under another policy."""
        gateway = self.world.gateway(self.filled.engine, self.ledger, policy=policy, entropy=self.entropy)
        own, owner = (self.until.enter_context(self.world.connect(user)) for user in ("ana", "dpsql_owner"))
        return Client(gateway, self.ledger, own, owner, Asker("ana", USERS["ana"]))

    def repeated(self, asked: Asked, epsilon: Fraction, most: int | None = None, *more: str) -> Repeated:
        """Plan a question."""
        sql = asked.statement(self.filled.data.name, *more)
        return Repeated.of(self.client(epsilon, most), sql, self.filled.engine, self.entropy, asked.first)

    def true(self, asked: Asked) -> Values:
        """Return the exact answer over clamped values, of all groups."""
        if asked not in self._truths:
            rows = self.filled.truth.execute(asked.of_all("clamped")).fetchall()
            keyed = bool(asked.key)
            self._truths[asked] = {
                str(row[0]) if keyed else None: _numbers(row[keyed:])
                for row in rows
                if row[-1] and (row[0] is not None or not keyed)
            }
        return self._truths[asked]

    def error(self, asked: Asked, repeated: Repeated, number: int) -> float:
        """Return the median relative error of so many answers and all their groups; what is not said errs by all of it."""
        errors, true = [], self.true(asked)
        for _ in range(number):
            answer = repeated.answer()
            for key, (value, *_) in asked_for(asked, true, answer).items():
                said = answer.get(key, (None,))[0]
                errors.append(1.0 if said is None or value is None else abs(said - value) / abs(value))
        return median(errors) if errors else 1.0


def asked_for(asked: Asked, true: Values, told: Values) -> Values:
    """Return the truth about the groups of which an answer is to tell: of a ranking those that it has."""
    return true if asked.first is None else {key: true[key] for key in told if key in true}


Served = Callable[[DataSet], Place]


@contextmanager
def place(data: DataSet) -> Iterator[Place]:
    """Start the pieces of a server for a data set."""
    with quick_directory() as directory, ExitStack() as until:
        records = until.enter_context(filled(data, Path(directory) / "records"))
        world = until.enter_context(running(records.policy, USERS, records.engine))
        ledger = until.enter_context(SqliteLedger(Path(directory) / "ledger.db", noon))
        yield Place(records, world, ledger, until)
