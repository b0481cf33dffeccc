"""What whole transcripts give away about one person: errors, charges, retries, numbers and order of rows, and the numbers.

A coin puts the canary in or not, many times; what a transcript looks like with it and without is learnt on other rounds.
Every audit has fixed seeds; with others it would fail by chance with probability 1e-6.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.model import DatasetBudget, Privacy, RoleBudget
from dpsql.privacy.measurement.plan import FromCount, selection_rule
from dpsql.privacy.measurement.sums import Sums
from dpsql.question import Asker
from tests.audit.canaries import FALSE_ALARM
from tests.gateway.engines import Watched
from tests.support import lemma_mutants as mutants
from tests.support.exactness import measurements
from tests.support.fix_engines import ENGINES
from tests.support.fix_wide import LARGE, PUBLIC, USERS, Engines, Wide, plain
from tests.support.fix_world import Client, noon
from tests.support.laws import at_least
from tests.support.lemma_mutants import Break
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Cell, Row
from tests.support.samples import spread

PILOT = 12
FEW, ENOUGH, ROUNDS = 32, 52, 64
"""Rounds: so that who is always right is found out where the canary may tell next to nothing; with ε = 1; and more."""
DELTA = Fraction(1, 100)
TINY = Fraction(1, 1000)
SINGLE = Fraction(1)
_MUCH = Privacy(Fraction(10**9), Fraction(99, 100))
TWICE = "FROM visits v JOIN by_big p ON p.key = place JOIN by_big q ON q.key = place"
THRICE = f"{TWICE} JOIN by_big r ON r.key = place"
MANY = " ".join(f"JOIN by_num {alias} ON {alias}.key = place" for alias in "pqrs")


def _copies(alias: str, most: int | None = None) -> str:
    """Return a key that has a constant of its own for each public row, or for a few; for double precision all are one."""
    rows = PUBLIC["by_big"][:most]
    cases = (f"WHEN {alias}.key = {row['key']} THEN 0.1{'0' * 20}{n + 1}" for n, row in enumerate(rows))
    return f"CASE {' '.join(cases)} ELSE 0.1 END"


@dataclass(frozen=True, slots=True)
class Attack:
    """What is asked, and what the canary and the others have in their rows."""

    sql: str
    canary: Mapping[str, Cell] = field(default_factory=dict)
    others: Sequence[Mapping[str, Cell]] = ()
    user: str = "ana"
    times: int = 1
    """How many rows the canary has."""
    at_threshold: bool = False
    """Whether there are as many others as just do not show their group."""


ATTACKS: Mapping[str, Attack] = {
    "copies": Attack(
        f"SELECT {_copies('p')}, {_copies('q')}, {_copies('r', 1)}, count(*) {THRICE} GROUP BY 1, 2, 3",
        times=2,
    ),
    "order statistics of copies": Attack(f"SELECT {_copies('p')}, median(iv) {TWICE} GROUP BY 1"),
    "a group or none": Attack("SELECT iv, count(*), sum(g) FROM visits GROUP BY iv", {"iv": 2, "g": 1.0}),
    "one row or none": Attack("SELECT sum(iv), median(g), count(DISTINCT txt) FROM visits", {"iv": 3}),
    "many public partners": Attack(f"SELECT count(*) FROM members m {MANY}", {"place": LARGE}),
    "which is first": Attack(
        "SELECT big, count(*) FROM visits GROUP BY big",
        {"big": LARGE + 1},
        [{"big": LARGE + n % 2} for n in range(1, 160)],
        "eve",
    ),
    "a key or none": Attack("SELECT DISTINCT txt FROM visits", {"txt": "secret"}, user="eve"),
    "just below the threshold": Attack(
        "SELECT txt, count(*) FROM visits GROUP BY txt", {"txt": "a"}, [{"txt": "a"}], "eve", at_threshold=True
    ),
}
MUTANTS: Sequence[tuple[Break, str, Fraction]] = (
    (mutants.listed_by_exact_value, "copies", SINGLE),
    (mutants.any_comparison_matches_once, "many public partners", SINGLE),
    (mutants.noise_only_for_rows, "a group or none", TINY),
    (mutants.no_rows_are_an_error, "one row or none", TINY),
    (mutants.empty_answers_are_failures, "a group or none", TINY),
    (mutants.the_exact_count_decides, "just below the threshold", SINGLE),
)
QUICK = {
    *((name, TINY) for name in ("order statistics of copies", "one row or none", "which is first", "a key or none")),
    *((name, SINGLE) for name in ("copies", "many public partners", "just below the threshold")),
}
CASES = [
    pytest.param(name, e, marks=() if (name, e) in QUICK else pytest.mark.slow)
    for name, attack in ATTACKS.items()
    for e in (TINY, SINGLE)
    if e is SINGLE or not attack.at_threshold
]
"""With little ε the threshold is too far off for so small a crowd."""


@dataclass(frozen=True, slots=True)
class Audit:
    """A client of an engine, and an attack at some ε."""

    wide: Wide
    client: Client
    watched: Watched
    attack: Attack
    epsilon: Fraction

    def p_value(self, rounds: int) -> float:
        """Return the chance of so many right guesses, of the better of two adversaries, under (ε, δ)."""
        pilot = [self._round(there=n % 2 == 0) for n in range(PILOT)]
        guesses = (_by_looks(pilot), _by_numbers(pilot))
        coin = random.Random(7)  # noqa: S311  (an audit's own coin)
        right = [0, 0]
        for _ in range(rounds):
            there = coin.random() < 1 / 2
            _, looks, mean = self._round(there=there)
            right = [n + (guess(looks, mean, coin) == there) for n, guess in zip(right, guesses, strict=True)]
        most = math.exp(self.epsilon) / (1 + math.exp(self.epsilon)) + float(DELTA)
        return at_least(max(right), rounds, most)

    def _round(self, *, there: bool) -> tuple[bool, str, float]:
        """Return whether the canary was there, what the transcript looks like, and the mean of its numbers."""
        table = self.attack.sql.split("FROM ")[1].split()[0]
        unit = "member" if table == "members" else "person"
        canary = [plain(unit, 999, **self.attack.canary)] * self.attack.times
        rows = [*_others(self, unit), *(canary if there else [])]
        self.wide.engine.fill(table, rows)
        self.client.ledger.advance("the next round")
        self.client.ledger.unlock(self.client.asker.role)  # a failure would close it
        asked, paid = self.watched.runs, self.client.charges
        tries = [_tried(self.client, self.attack.sql) for _ in range(2)]
        keyed = "GROUP BY" in self.attack.sql or "DISTINCT txt FROM" in self.attack.sql
        looks = [(error, _looks(rows, keyed=keyed)) for error, rows in tries]
        last = [f"{e.cost.epsilon} {e.note}" for e in self.client.ledger.entries(None, 1)]
        numbers = [float(cell) for _, rows in tries for row in rows for cell in row if isinstance(cell, int)]
        seen = repr((looks, self.client.charges - paid, last, self.watched.runs - asked))
        return there, seen, sum(numbers) / max(len(numbers), 1)


@contextmanager
def auditing(name: str, epsilon: Fraction, setting: Wide) -> Iterator[Audit]:
    """Open a client whose role pays ε a statement."""
    attack, watched = ATTACKS[name], Watched(setting.engine)
    roles = {
        n: replace(role, per_query=Privacy(epsilon, role.per_query.delta and DELTA), budget=RoleBudget(_MUCH))
        for n, role in setting.policy.roles.items()
    }
    with (
        quick_ledger(noon) as ledger,
        setting.world.connect(attack.user, "wide") as session,
        setting.world.connect("dpsql_owner", "wide") as owner,
    ):
        noise = random.Random(name).randbytes  # noqa: S311  (noise of an audit)
        gateway = setting.gateway(
            ledger,
            noise,
            lambda _: watched,
            policy=replace(setting.policy, roles=roles, budgets={"passenger": DatasetBudget(_MUCH)}),
        )
        client = Client(gateway, ledger, session, owner, Asker(attack.user, USERS[attack.user]))
        yield Audit(setting, client, watched, attack, epsilon)


def _others(audit: Audit, unit: str) -> list[Row]:
    others = list(audit.attack.others)
    if audit.attack.at_threshold:
        (part,) = measurements(audit.attack.sql, audit.wide.policy, audit.wide.world, audit.wide.engine, "explorer")
        assert isinstance(part, Sums)
        rule = selection_rule(replace(part, epsilon=audit.epsilon, delta=DELTA))
        assert isinstance(rule, FromCount)
        others = others[:1] * (math.ceil(Fraction(rule.least, part.steps_per_row)) - 1)
    return [plain(unit, n, **cells) for n, cells in enumerate(others)]


def _tried(client: Client, sql: str) -> tuple[str | None, Sequence[tuple[object, ...]]]:
    try:
        return None, client.ask(sql).rows
    except DpsqlError as error:
        return f"{type(error).__name__} {error.message} {error.hint}", ()


def _looks(rows: Sequence[tuple[object, ...]], *, keyed: bool) -> object:
    """Return the rows with their numbers blotted out, but for keys, and for a 0 that noise would hardly leave."""
    shown = [
        [("0" if cell == 0 else "n") if isinstance(cell, int) else str(type(cell)) for cell in row] for row in rows
    ]
    return len(rows), shown, [str(row[0]) for row in rows if keyed]


Guess = Callable[[str, float, random.Random], bool]


def _by_looks(pilot: Sequence[tuple[bool, str, float]]) -> Guess:
    """Guess as most of those rounds were that looked so; toss a coin where none did, or as many were otherwise."""
    votes: Counter[str] = Counter()
    for there, looks, _ in pilot:
        votes[looks] += 1 if there else -1
    return lambda looks, _, coin: votes[looks] > 0 if votes[looks] else coin.random() < 1 / 2


def _by_numbers(pilot: Sequence[tuple[bool, str, float]]) -> Guess:
    """Guess by which side of the middle the mean of all numbers is on."""
    sides = [[mean for there, _, mean in pilot if there is side] for side in (True, False)]
    with_, without = (sum(side) / len(side) for side in sides)
    middle = (with_ + without) / 2
    return lambda _, mean, __: (mean > middle) == (with_ > without)


@pytest.mark.parametrize(("name", "epsilon"), CASES, ids=str)
def test_no_transcript_gives_more_away_than_epsilon_allows(name: str, epsilon: Fraction, wide: Engines) -> None:
    """Who sees the whole transcript guesses no more often right than e^ε/(1 + e^ε), and δ; on one of the engines."""
    with auditing(name, epsilon, wide[ENGINES[spread(name, len(ENGINES))]]) as audit:
        assert audit.p_value(FEW if epsilon is TINY else ENOUGH) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "epsilon"), CASES, ids=str)
def test_nor_in_more_rounds(name: str, epsilon: Fraction, engine: str, wide: Engines) -> None:
    """The same on both engines."""
    with auditing(name, epsilon, wide[engine]) as audit:
        assert audit.p_value(ROUNDS) > FALSE_ALARM


@pytest.mark.parametrize(("mutant", "name", "epsilon"), MUTANTS, ids=lambda case: getattr(case, "__name__", str(case)))
def test_what_is_wrong_is_caught(
    mutant: Break, name: str, epsilon: Fraction, wide: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake around the mathematics gives the canary away."""
    mutant(monkeypatch)
    with auditing(name, epsilon, wide["duckdb"]) as audit:
        assert audit.p_value(FEW if epsilon is TINY else ENOUGH) < FALSE_ALARM
