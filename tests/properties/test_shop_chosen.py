"""The shop's statements where C is chosen: what chooses it moves as it claims, and what is measured with it."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dpsql.policy.model import Policy
from tests.properties.test_shop_generated import MANY, checked
from tests.support.fix_shop import Shops, paying
from tests.support.shop_checks import Bench, benched
from tests.support.shop_generator import FEATURES

FEW = 100
_UP_TO = 2**14
_MUCH = 10**6


def chosen(policy: Policy) -> Policy:
    """Return the policy in which each number of rows is chosen, and is taken for what it was until then.

    Whoever finds keys pays so much that no row is worth less than the noise: else some are left out.
    """
    return replace(
        paying(policy, _MUCH, "explorer"),
        tables={
            name: replace(table, units={kind: replace(unit, up_to=_UP_TO) for kind, unit in table.units.items()})
            for name, table in policy.tables.items()
        },
    )


@pytest.fixture(scope="module")
def bench(shops: Shops) -> Iterator[Bench]:
    """Both engines with the worlds."""
    with benched(shops, chosen) as made:
        yield made


def test_any_statement_with_a_chosen_bound(bench: Bench) -> None:
    """Others than are tried with numbers; more than half are answered."""
    answered, refused = checked(range(1_000, 1_000 + FEW), bench, all_versions=False)
    assert answered[""] >= 0.6 * FEW, refused
    assert len([feature for feature in FEATURES if answered[feature]]) > len(FEATURES) // 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_thousands_with_a_chosen_bound(part: int, bench: Bench) -> None:
    """The same for others each time."""
    start = random.randrange(FEW, 2**40) * 5 + part  # noqa: S311  (which is told where one fails)
    answered = Counter[str](checked(range(start, start + MANY // 20), bench, all_versions=True)[0])
    assert answered[""] > MANY // 40
