"""What a gateway gives away about one unit, measured by guessing; each bound is put under stress by itself.

Every audit has a fixed seed; with another one it would fail by chance with probability 1e-6.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement import sums
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms import quantile
from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release import release
from tests.audit.canaries import FALSE_ALARM, Attack, Audit, Recorder, Result
from tests.support import key_mutants, mutants
from tests.support.fix_world import NewClient, World, noon
from tests.support.memory import Memory
from tests.support.mutants import Break

CUBE = "count(*), sum(fare), avg(tip), avg(age)"
HIGH = {"fare": "150", "tip": "35", "age": "100"}
LOW = {"fare": "0", "tip": "-5", "age": "-3"}
MIDDLE = {"fare": "75", "tip": "15", "age": "48"}

ATTACKS: Mapping[str, Attack] = {
    "one row": Attack("count(*)"),
    "as many rows as allowed": Attack("count(*)", most=3, rows=3),
    "one row too many": Attack("count(*)", most=3, rows=4),
    "far too many rows": Attack("count(*)", most=3, rows=18),
    "as many groups as allowed": Attack("count(*)", most=3, groups=3, sure=0.6, days=3),
    "too many groups": Attack("count(*)", most=3, groups=12, sure=0.25, days=3),
    "too many rows in too many groups": Attack("count(*)", most=3, groups=12, rows=5, sure=0.25, days=3),
    "a sum": Attack("sum(fare)", values={"fare": "150"}, others={"fare": "75"}),
    "too large a value": Attack("sum(fare)", values={"fare": "1e6"}, others={"fare": "75"}),
    "too large a value of a row that counts": Attack(
        "sum(fare), count(*)", values={"fare": "1e6"}, others={"fare": "75"}, days=3
    ),
    "a cube": Attack(CUBE, values=HIGH, others=MIDDLE),
    "independent noise": Attack(CUBE, values=HIGH, others=LOW, user="leo"),
    "squares and products": Attack("variance(fare), corr(fare, tip)", values=HIGH, others=MIDDLE),
    "blocks": Attack(
        "count(*) FILTER (WHERE fare > 100), sum(fare) FILTER (WHERE fare > 100), avg(tip) FILTER (WHERE fare <= 100)",
        values=HIGH,
        others=MIDDLE,
    ),
    "the variance of one column": Attack("stddev(fare), avg(fare)", values=HIGH, others=MIDDLE),
    "a missing value": Attack("count(tip), count(*)", values={"tip": "NULL"}, others={"tip": "15"}),
    "a distinct count": Attack("count(DISTINCT rider)"),
    "a new value": Attack("count(DISTINCT number)", values={"number": "b"}, others={"number": "-1"}),
    "too many new values": Attack(
        "count(DISTINCT number)", rows=6, values={"number": "b * 100 + n"}, others={"number": "-1"}
    ),
    "a median": Attack(
        "median(shared::int)", most=6, rows=6, values={"shared": "TRUE"}, crowd=6, others={"shared": "FALSE"}
    ),
    "a larger epsilon": Attack("count(*)", epsilon=Fraction(2)),
}


def _half_the_noise(patch: pytest.MonkeyPatch) -> None:
    right = Sums.scale.fget  # type: ignore[attr-defined]  # a property
    patch.setattr(Sums, "scale", property(lambda s: right(s) // 2))


def _laplaces_at_the_scale_of_the_cube(patch: pytest.MonkeyPatch) -> None:
    def noise(measured: Sums, groups: int, d: int, entropy: Entropy) -> list[list[int]]:
        flat = discrete_laplace(entropy, measured.scale, groups * d)
        return [flat[i : i + d] for i in range(0, groups * d, d)]

    patch.setattr(release, "_noise", noise)


def _a_block_for_each_coordinate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sums, "blocks", lambda features: [Block((i,), Norm.LARGEST) for i in range(len(features))])


def _epsilon_for_each(patch: pytest.MonkeyPatch) -> None:
    right = Sums.scale.fget  # type: ignore[attr-defined]  # a property
    patch.setattr(Sums, "scale", property(lambda s: right(s) // len(s.features)))


def _forgotten_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sums, "sensitivity", property(lambda s: s.bound.weight * s.row_norm))


def _forgotten_rows_of_ranks(patch: pytest.MonkeyPatch) -> None:
    right = quantile.quantile
    patch.setattr(quantile, "quantile", lambda e, h, q, epsilon, mass: right(e, h, q, epsilon, mass // 6))


MUTANTS: Sequence[tuple[Break, str]] = (
    (_half_the_noise, "one row"),
    (_half_the_noise, "a cube"),
    (_half_the_noise, "a distinct count"),
    (_laplaces_at_the_scale_of_the_cube, "a cube"),
    (_a_block_for_each_coordinate, "a cube"),
    (_a_block_for_each_coordinate, "blocks"),
    (_half_the_noise, "blocks"),
    (_half_the_noise, "the variance of one column"),
    (_epsilon_for_each, "independent noise"),
    (_forgotten_rows, "as many rows as allowed"),
    (_forgotten_rows, "as many groups as allowed"),
    (mutants.forgotten_square, "squares and products"),
    (mutants.no_cap, "far too many rows"),
    (mutants.no_cap, "too many rows in too many groups"),
    (mutants.no_clamp, "too large a value of a row that counts"),
    (key_mutants.no_selection, "too many new values"),
    (_forgotten_rows_of_ranks, "a median"),
)


Run = Callable[..., Result]
Audits = Callable[[Attack], Audit]


@pytest.fixture(scope="module")
def audits(policy: Policy, world: World) -> Iterator[Audits]:
    """Give a function that prepares an attack, once for all tests."""
    engine = Memory(policy)
    prepared: dict[str, Audit] = {}

    def audit(attack: Attack) -> Audit:
        name = repr(attack)
        if name not in prepared:
            prepared[name] = Audit.of(attack, engine, world)
        return prepared[name]

    yield audit
    engine.close()


@pytest.fixture
def run(audits: Audits, new_client: NewClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Give a function that audits a gateway; a mistake is put in after the attacker has seen what is right."""

    def run(attack: Attack, seed: int = 1, mutant: Break | None = None) -> Result:
        audit = audits(attack)
        if mutant is not None:
            mutant(monkeypatch)
        with Recorder(tmp_path / f"{seed}.db", noon) as ledger:
            return audit.run(new_client, ledger, seed)

    return run


@pytest.mark.parametrize("name", ATTACKS)
def test_no_guess_is_better_than_epsilon_allows(name: str, run: Run) -> None:
    """Guesses about a thousand canaries and more are right no more often than e^ε/(1 + e^ε)."""
    assert run(ATTACKS[name]).p_value > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ATTACKS)
def test_nor_among_many_more(name: str, seed: int, run: Run) -> None:
    """The same for a week of minutes, three times."""
    assert run(replace(ATTACKS[name], days=7), 100 + seed).p_value > FALSE_ALARM


@pytest.mark.parametrize(("mutant", "name"), MUTANTS, ids=lambda case: getattr(case, "__name__", case))
def test_what_is_wrong_is_caught(mutant: Break, name: str, run: Run) -> None:
    """A mistake in the noise, or in what it is made for, gives canaries away."""
    assert run(ATTACKS[name], mutant=mutant).p_value < FALSE_ALARM
