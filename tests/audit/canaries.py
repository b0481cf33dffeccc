"""The canary audit in one statement: a thousand groups or more, a unit put into each by a coin, and a guess from the answer.

Under ε-DP a guess is right with probability at most e^ε/(1 + e^ε), whatever it is made from; the groups are apart, so the
guesses are independent, and an exact binomial test shows a mechanism that gives away more. The guess is the likelihood
ratio under the law that is claimed; it is only made where the answer says nearly all that it may say.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import Beside, ChargeItem, MakeReady, PaidStatement, without_engine
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.gateway import gateway
from dpsql.policy.model import MechanismName, Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Measurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.block import Norm
from dpsql.privacy.release.release import Release
from dpsql.question import Cancellation
from tests.support.exactness import Exact, Measured, measurements
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import USERS, NewClient, World
from tests.support.laws import at_least
from tests.support.memory import Memory

FALSE_ALARM = 1e-6
"""The chance that a right mechanism fails one audit, if its fixed seed were changed."""


class Recorder(SqliteLedger):
    """A ledger that remembers what was released last."""

    released: list[Release]

    @contextmanager
    def open_statement(
        self,
        account: Account,
        text: str,
        items: Sequence[ChargeItem],
        ready: MakeReady = without_engine,
        cancellation: Cancellation | None = None,
        question: str | None = None,
    ) -> Iterator[PaidStatement]:
        """Pay as usual, and listen to what is stored."""
        self.released = []
        with super().open_statement(account, text, items, ready, cancellation, question) as statement:

            def keep(key: str, release: bytes, beside: Beside | None) -> bytes:
                self.released.append(Release.from_bytes(release))
                return statement.keep(key, release, beside)

            yield replace(statement, keep=keep)


@dataclass(frozen=True, slots=True)
class Attack:
    """What a canary puts into its groups, and what is asked."""

    aggregates: str
    """What is asked for each minute."""
    most: int = 1
    """C."""
    groups: int = 1
    """In how many groups each canary is."""
    rows: int = 1
    """How many rows it has in each."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What its columns hold, as SQL, in terms of the canary `b` and its row `n`."""
    crowd: int = 1
    """How many rows of others are in each group."""
    others: Mapping[str, str] = field(default_factory=dict)
    """What their columns hold."""
    epsilon: Fraction = Fraction(1)
    sure: float = 0.9
    """The share of ε that the likelihood ratio must reach for a guess."""
    days: int = 1
    """The minutes of so many days are the groups."""
    user: str = "ana"

    @property
    def minutes(self) -> int:
        """Return the number of groups."""
        return self.days * 24 * 60

    @property
    def sql(self) -> str:
        """Return the statement."""
        condition = f"picked < timestamp '2019-03-01' + interval '{self.days} days'"
        return f"SELECT date_trunc('minute', picked), {self.aggregates} FROM rides WHERE {condition} GROUP BY 1"


@dataclass(frozen=True, slots=True)
class Result:
    """How many guesses were made, and how many were right."""

    epsilon: float
    guesses: int
    right: int

    @property
    def p_value(self) -> float:
        """Return the chance of so many right guesses under ε-DP."""
        most = math.exp(self.epsilon) / (1 + math.exp(self.epsilon))
        return at_least(self.right, self.guesses, most) if self.guesses else 1.0


@dataclass(frozen=True, slots=True)
class Audit:
    """An attack on a gateway; `Audit.of` works out what the canaries do to a right measurement."""

    attack: Attack
    policy: Policy
    engine: Memory
    """Whose rides are the last audit's."""
    measurement: Measurement
    without: Exact
    with_: Exact

    @classmethod
    def of(cls, attack: Attack, engine: Memory, world: World) -> "Audit":
        """Look at the databases with all canaries and with none, as an attacker could who made them."""
        policy = with_epsilon(with_rows(world.policy, "rides", "passenger", attack.most), attack.epsilon)
        (measurement,) = measurements(attack.sql, policy, world, engine, USERS[attack.user])
        measurement = replace(measurement, epsilon=attack.epsilon)
        measured = Measured.of(measurement, engine, world)
        number = attack.minutes // attack.groups
        fill(engine, attack, [])
        without = measured.exact()
        fill(engine, attack, range(number))
        return cls(attack, policy, engine, measurement, without, measured.exact())

    def run(self, new_client: NewClient, ledger: Recorder, seed: int) -> Result:
        """Ask once, and guess for every canary whether it was there."""
        draw = np.random.default_rng(seed)
        there = draw.random(self.attack.minutes // self.attack.groups) < 0.5
        fill(self.engine, self.attack, np.flatnonzero(there).tolist())
        client = new_client(self.engine, self.attack.user, policy=self.policy, entropy=draw.bytes, ledger=ledger)
        question = client.gateway.examine(self.attack.sql, client.asker)
        assert question is not None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gateway, "splice", lambda *_: "")  # of a thousand rows, which nobody asks for
            client.text(question)
        (release,) = ledger.released
        ratio = self._ratios(release).reshape(-1, self.attack.groups).sum(axis=1)[: len(there)]
        sure = np.abs(ratio) >= self.attack.sure * float(self.attack.epsilon)
        return Result(float(self.attack.epsilon), int(sure.sum()), int(((ratio > 0) == there)[sure].sum()))

    def _ratios(self, release: Release) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return for each group the logarithm of how much likelier the answer is with the canary than without."""
        groups = self.measurement.groups.grouped[: self.attack.minutes // self.attack.groups * self.attack.groups]
        seen = np.array(release.numbers[: len(groups)], dtype=np.float64)
        out, in_ = (np.array([exact[key] for key in groups], dtype=np.float64) for exact in (self.without, self.with_))
        if isinstance(self.measurement, Histogram):
            # Only the highest bucket speaks for a canary, which is there if there is one.
            return np.where(seen[:, 0] == self.measurement.number - 1, float(self.attack.epsilon), 0.0)
        assert isinstance(self.measurement, Sums)
        ratio = np.zeros(len(seen))
        for block in self.measurement.blocks:
            together = block.norm is Norm.LARGEST and self.measurement.mechanism is MechanismName.CUBE
            norm, at = (np.max if together else np.sum), list(block.places)
            ratio += norm(np.abs(seen - out)[:, at], axis=1) - norm(np.abs(seen - in_)[:, at], axis=1)
        return ratio / self.measurement.scale


def fill(engine: Memory, attack: Attack, canaries: Sequence[int]) -> None:
    """Put others' rows into each group, and the canaries that are there."""
    engine.execute("DELETE FROM rides")
    minute = "TIMESTAMP '2019-03-01' + to_minutes({})"
    others = f"range({attack.minutes}) AS t (g), range({attack.crowd}) AS r (n)"
    _insert(engine, {"rider": "1000000 * (n + 1) + g", "picked": minute.format("g"), **attack.others}, others)
    if canaries:
        of = f"unnest({list(canaries)}) AS c (b), range({attack.groups}) AS t (g), range({attack.rows}) AS r (n)"
        _insert(engine, {"rider": "b", "picked": minute.format(f"b * {attack.groups} + g"), **attack.values}, of)


def _insert(engine: Memory, columns: Mapping[str, str], source: str) -> None:
    engine.execute(f"INSERT INTO rides ({', '.join(columns)}) SELECT {', '.join(columns.values())} FROM {source}")
