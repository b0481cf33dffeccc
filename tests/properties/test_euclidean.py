"""Exhaustive, without statistics: no unit moves sums with Gaussian noise further than claimed, in the Euclidean norm.

On both engines, on many tiny databases full of edge cases, each unit's rows are taken away. The claim is attained, and each
mistake in what enforces it is caught.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import MechanismName, Policy, SqlType, Table
from dpsql.privacy.measurement.contribution import WEIGHT, ContributionBound, Form
from dpsql.privacy.measurement.pricing import in_euclidean_norm
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.ir.expr import Apply, Ref
from tests.support import euclidean_mutants
from tests.support.exactness import Measured, measurements, moves_of_each, plans
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_chosen_rows, with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.mutants import Break
from tests.support.records import Maker, Row
from tests.support.schema import of

STATEMENTS = (
    "SELECT paid, count(*) FROM rides GROUP BY paid",
    "SELECT seats, count(*), avg(fare) FROM rides GROUP BY seats",
    "SELECT late, sum(fare), count(*), variance(tip) FROM rides WHERE fare > 3 GROUP BY late",
    "SELECT stars, count(*) FILTER (WHERE late), avg(CASE WHEN shared THEN 1 ELSE 0 END) FROM rides GROUP BY stars",
    "SELECT paid, late, count(*), count(tip), avg(weight) FROM rides GROUP BY paid, late",
    "SELECT to_zone, count(*), count(*) FILTER (WHERE fare > 9), count(*) FILTER (WHERE fare <= 9) FROM rides GROUP BY 1",
    "SELECT borough, count(*), avg(fare) FROM rides JOIN zones ON to_zone = zone_id GROUP BY borough",
)
EPSILON = Fraction(1)


def planned(sql: str, most: int, policy: Policy, world: World) -> list[Sums]:
    """Return what a statement measures with Gaussian noise."""
    engine = Memory(policy)
    found = plans(sql, with_rows(policy, "rides", "passenger", most), world, engine)
    engine.close()
    parts = [part for plan in found for part in in_euclidean_norm(plan, EPSILON).parts]
    assert parts
    for part in parts:
        assert isinstance(part, Sums)
        assert part.bound.form is Form.EUCLIDEAN
        assert part.mechanism is MechanismName.GAUSSIAN
    return parts  # type: ignore[return-value]


def databases(table: Table, most: int, seed: str) -> Iterator[Sequence[Row]]:
    """Yield databases of units with none to three times as many rows as they may have, alike, scattered, and of nobody."""
    draw = random.Random(seed)  # noqa: S311  (made-up records)
    for number in range(4):
        maker = Maker(draw.randrange(2**32), dirt=(0.0, 0.1, 0.5, 0.0)[number], edges=(1.0, 0.5, 0.5, 0.9)[number])
        sizes = {1: most, 2: 3 * most + 1, 3: draw.randrange(most + 1), 4: most + draw.choice([1, 2]), None: 2}
        rows = []
        for rider, size in sizes.items():
            alike = maker.row(table) | {"rider": rider, "driver": None}
            rows += [alike if number % 2 else maker.row(table) | {"rider": rider, "driver": None} for _ in range(size)]
        draw.shuffle(rows)
        yield rows


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", STATEMENTS)
def test_no_unit_moves_it_further_than_claimed(
    sql: str, dialect: str, most: int, policy: Policy, world: World, tiny: Engines
) -> None:
    """The squares of all that moves add up to no more than the square of the claim."""
    measured = [Measured.of(part, tiny[dialect], world) for part in planned(sql, most, policy, world)]
    for rows in databases(policy.tables[of("rides")], most, sql):
        for moved in moves_of_each(measured, "rides", rows, "rider"):
            assert all(move <= each.claim for move, each in zip(moved, measured, strict=True))


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("dialect", ENGINES)
def test_the_claim_is_attained(dialect: str, most: int, policy: Policy, world: World, tiny: Engines) -> None:
    """By a unit that has all its rows in one group, whose value is at an end: the claim is no larger than need be."""
    (part,) = planned(STATEMENTS[1], most, policy, world)
    measured = Measured.of(part, tiny[dialect], world)
    base = Maker(1, dirt=0.0).row(policy.tables["rides"])
    rows = [base | {"rider": rider, "seats": 2, "fare": 150} for rider in (1, 2) for _ in range(most)]
    assert max(measured.moves("rides", rows, "rider")) == measured.claim


def _weights(rows: Sequence[Row], most: int) -> dict[object, int]:
    """Return what each rider's rows weigh, by the declared meaning alone, by riders and seats."""
    pairs = Counter((row["rider"], row["seats"]) for row in rows)
    squares: Counter[object] = Counter()
    for (rider, _), number in pairs.items():
        squares[rider] += number**2
    weight = max(WEIGHT, 1 << (16 * most - 1).bit_length())
    lengths = {rider: math.isqrt(q - 1) + 1 for rider, q in squares.items()}
    return {rider: weight * most // max(length, most) for rider, length in lengths.items()}


def _scattered(policy: Policy) -> list[Row]:
    """Return rows of riders who have 1 to 60 rows in one group, or in six, or in both ways."""
    base, rows = Maker(1, dirt=0.0).row(policy.tables["rides"]), []
    for rider in range(1, 61):
        rows += [base | {"rider": rider, "seats": 2} for _ in range(rider % 17)]
        rows += [base | {"rider": rider, "seats": seats} for seats in range(1, 7) for _ in range(rider % 5)]
        rows += [base | {"rider": rider, "seats": 3}]
    return rows


def _counts(sums: Sums, dialect: str, rows: Sequence[Row], world: World, tiny: Engines) -> dict[object, int]:
    tiny[dialect].fill("rides", rows)
    exact = Measured.of(sums, tiny[dialect], world).exact()
    return {int(str(key[0])): numbers[0] // sums.row_norm for key, numbers in exact.items() if key[0]}


@pytest.mark.parametrize("most", [1, 2, 7, 20])
@pytest.mark.parametrize("dialect", ENGINES)
def test_weights_are_those_of_the_root_of_squares(
    dialect: str, most: int, policy: Policy, world: World, tiny: Engines
) -> None:
    """The same whole numbers on both engines, by exact roots."""
    (part,) = planned("SELECT seats, count(*) FROM rides GROUP BY seats", most, policy, world)
    rows = _scattered(policy)
    weights, expected = _weights(rows, most), Counter[object]()
    for row in rows:
        expected[row["seats"]] += weights[row["rider"]]
    assert _counts(part, dialect, rows, world, tiny) == {seats: expected[seats] for seats in range(1, 7)}


@pytest.mark.parametrize("dialect", ENGINES)
def test_nobody_with_few_rows_weighs_less(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """A row in each of six groups is a length of three, and not of six: none of it is lost at C = 3, half at 3 rows."""
    (part,) = planned("SELECT seats, count(*) FROM rides GROUP BY seats", 3, policy, world)
    base = Maker(1, dirt=0.0).row(policy.tables["rides"])
    rows = [base | {"rider": 1, "seats": seats} for seats in range(1, 7)]
    assert set(_counts(part, dialect, rows, world, tiny).values()) == {part.bound.weight}


def _roots(dialect: Dialect, policy: Policy, squares: Sequence[int]) -> str:
    """Return the engine's statement of the weights of units by one number of rows each."""
    bound = ContributionBound(Ref(0, "rides", "rider", policy.tables["rides"].columns["rider"]), 1, Form.EUCLIDEAN)
    parts = " UNION ALL ".join(f"SELECT {i} AS u, CAST({n} AS BIGINT) AS n" for i, n in enumerate(squares))
    return f"WITH {bound.weights_of_squares(f'({parts}) AS g', dialect)} SELECT hu, CAST(w AS VARCHAR) FROM h"


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_unit_of_any_size_has_a_weight(dialect: str, policy: Policy, tiny: Engines) -> None:
    """However many rows a unit has, up to all that a table can; from 2^31 in a group on it has no weight."""
    numbers = [1, 2, 3, 65_535, 65_536, 65_537, 2**31 - 2, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1]
    engine = tiny[dialect]
    answer = engine.measured(_roots(engine.dialect, policy, numbers))
    weights = {int(str(unit)): int(str(weight)) for unit, weight in answer}
    assert weights == {i: WEIGHT // n if n < 2**31 - 1 else 0 for i, n in enumerate(numbers)}


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    "mistake",
    [
        euclidean_mutants.rows_instead_of_squares,
        euclidean_mutants.a_root_one_too_low,
        euclidean_mutants.no_limit,
        euclidean_mutants.every_row_a_group,
        euclidean_mutants.one_dimension,
    ],
)
def test_what_is_wrong_is_caught(
    mistake: Break, dialect: str, policy: Policy, world: World, tiny: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake moves something further than claimed."""
    parts = planned(STATEMENTS[1], 3, policy, world)
    mistake(monkeypatch)
    measured = [Measured.of(part, tiny[dialect], world) for part in parts]
    base = Maker(1, dirt=0.0).row(policy.tables["rides"])
    rows = [base | {"rider": 1, "seats": 2, "fare": 150} for _ in range(11)]
    rows += [base | {"rider": 2, "seats": 2 + n % 2, "fare": 150} for n in range(9)]
    moves = list(moves_of_each(measured, "rides", rows, "rider"))
    assert any(move > each.claim for moved in moves for move, each in zip(moved, measured, strict=True))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), avg(fare) FROM rides",
        "SELECT paid, sum(fare) FROM rides GROUP BY paid",
        "SELECT paid, count(DISTINCT rider), median(fare), max(seats) FROM rides GROUP BY paid",
        "SELECT d, count(*) FROM generate_series(1, 3) AS d JOIN rides ON seats <= d GROUP BY d",
        "SELECT n, count(*) FROM (SELECT rider, least(count(*), 5) AS n FROM rides GROUP BY rider) AS r GROUP BY n",
    ],
)
def test_others_keep_their_noise(sql: str, policy: Policy, world: World) -> None:
    """One group, sums by themselves, other measurements, and rows that a statement makes."""
    engine = Memory(policy)
    for plan in plans(sql, with_rows(policy, "rides", "passenger", 3), world, engine):
        assert in_euclidean_norm(plan, EPSILON) == plan
    engine.close()


def test_it_is_chosen_where_it_is_less(policy: Policy, world: World) -> None:
    """At a large ε Laplace noise is the smaller one."""
    engine = Memory(policy)
    (plan,) = plans(STATEMENTS[0], with_rows(policy, "rides", "passenger", 3), world, engine)
    for epsilon, is_normal in (
        (Fraction(1, 100), True),
        (Fraction(3), True),
        (Fraction(4), False),
        (Fraction(50), False),
    ):
        assert (in_euclidean_norm(plan, epsilon) != plan) == is_normal
    assert measurements(STATEMENTS[0], policy, world, engine)[0].bound.form is Form.REWEIGHT
    engine.close()


def test_keys_that_are_fractions_have_no_proof(policy: Policy, world: World) -> None:
    """Several that the engine tells apart may be one when they come back."""
    engine = Memory(policy)
    (plan,) = plans(STATEMENTS[0], with_rows(policy, "rides", "passenger", 3), world, engine)
    engine.close()
    (part,) = plan.parts
    (key,) = part.groups.keys
    fraction = replace(key, grouped=Apply("div", (key.grouped, key.grouped), SqlType.DOUBLE))
    assert fraction.fractional
    changed = replace(plan, parts=(replace(part, groups=replace(part.groups, keys=(fraction,))),))
    assert in_euclidean_norm(changed, EPSILON) == changed


@pytest.mark.parametrize(
    ("sql", "is_normal"), [(STATEMENTS[0], False), ("SELECT age, count(*) FROM rides GROUP BY age", True)]
)
def test_a_bound_is_chosen_for_lengths_over_many_groups(
    sql: str, is_normal: bool, policy: Policy, world: World
) -> None:
    """Over few of them its ladder costs more than it gains."""
    engine = Memory(policy)
    (plan,) = plans(sql, with_chosen_rows(policy, "rides", "passenger"), world, engine)
    engine.close()
    assert (in_euclidean_norm(plan, EPSILON) != plan) == is_normal
