"""The second reading of a price: what it proves is right, and no mistake that tests must catch is proved."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from dpsql.policy.model import Policy
from tests.properties import test_mutants as of_the_heart
from tests.support import mutants
from tests.support.fix_engines import Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.golden import load
from tests.support.mutants import C
from tests.support.tried import Court, court

PROVED = (
    of_the_heart.COUNTS,
    of_the_heart.BY_SHARED,
    of_the_heart.LONE,
    of_the_heart.MEANS,
    of_the_heart.BESIDE,
    of_the_heart.SQUARES,
    of_the_heart.JOINED,
    "SELECT count(DISTINCT rider) FROM rides",
)
NOT_READ = (of_the_heart.MEDIAN, of_the_heart.VALUES, of_the_heart.UNION)


@pytest.fixture
def heart(policy: Policy, world: World, tiny: Engines) -> Court:
    """Give a place to read statements again in."""
    return court(with_rows(policy, "rides", "passenger", C), world, tiny["duckdb"])


def _proved(one: Court, sql: str, role: str = "owner") -> list[bool]:
    return [one.trial.is_proved(part, "passenger") for part in one.priced(sql, role).measurements]


@pytest.mark.parametrize("sql", PROVED)
def test_plain_forms_are_proved(sql: str, heart: Court) -> None:
    """Counts, sums, means and variances of one table, also by groups and with public tables."""
    assert all(_proved(heart, sql))


@pytest.mark.parametrize("sql", [of_the_heart.SUMS, of_the_heart.LONE, of_the_heart.BESIDE])
def test_sums_beside_counts_are_proved(sql: str, policy: Policy, world: World, tiny: Engines) -> None:
    """Where heavy units are weighed apart: those of a lone sum by what they add up to, others by a second weight."""
    assert all(_proved(court(policy, world, tiny["duckdb"]), sql))


@pytest.mark.parametrize("sql", NOT_READ)
def test_what_is_not_read_is_not_proved(sql: str, heart: Court) -> None:
    """That is said, and it rests on the trial alone."""
    assert not any(_proved(heart, sql))


def test_half_of_all_golden_statements_are_proved(policy: Policy, world: World, tiny: Engines) -> None:
    """Of those over DuckDB, with the bounds that the policy has."""
    one = court(policy, world, tiny["duckdb"])
    found: Mapping[str, list[bool]] = {
        golden.name: _proved(one, golden.sql)
        for golden in load()
        if golden.verdict == "answered"
        and golden.cost
        and golden.user == "ana"
        and golden.file in {"sums", "keys", "where"}
    }
    assert sum(map(all, found.values())) > len(found) / 2


def test_no_mistake_is_proved(heart: Court) -> None:
    """Of the heart: whichever moves a unit further than is claimed, by the claim or by what the engine is asked."""
    proved: list[str] = []
    for mutant, sql in of_the_heart.MUTANTS:
        if mutant is mutants.one_hides_another:
            continue  # in how the engine's rows are read, not in what it is asked
        role = "explorer" if "number, " in sql else "owner"
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch)
            if all(_proved(heart, sql, role)):
                proved.append(f"{mutant.__name__}: {sql}")
    assert proved == []


TAMPERED = (
    (") AS r GROUP BY k0 UNION ALL", ") AS r WHERE k0 > 1 GROUP BY k0 UNION ALL"),
    ("UNION ALL", "UNION"),
    ("FROM p JOIN h ON u = hu", "FROM p JOIN h ON TRUE"),
    ("FROM p JOIN h ON u = hu", "FROM p JOIN h ON u = hu WHERE u > 1"),
    ("HAVING count(*) > 20", "HAVING count(*) > 21"),
    ("// greatest(CAST(sum(n) AS BIGINT), 20)", "// greatest(CAST(sum(n) AS BIGINT), 19)"),
    ("1310720 //", "1310721 //"),
    ("65536 * CAST(count(*)", "65537 * CAST(count(*)"),
    ("(w - 65536)", "(w - 65535)"),
    ("<= CAST(1280000 AS UINTEGER) THEN", "<= CAST(1280001 AS UINTEGER) THEN"),
    ("// 2 IN (SELECT u FROM heavy)", "// 2 NOT IN (SELECT u FROM heavy)"),
    ("CAST(sum(s1) AS VARCHAR)", "CAST(2 * sum(s1) AS VARCHAR)"),
    ("FROM p GROUP BY 1)", "FROM p WHERE n < 9 GROUP BY 1)"),
    ("GROUP BY (u | 0), k0)", "GROUP BY (u | 0), k0 HAVING count(*) > 1)"),
)
"""What stands in the text for the engine, and what would be wrong there."""


@pytest.mark.parametrize(("right", "wrong"), TAMPERED)
def test_a_text_that_is_wrong_in_one_place_is_not_proved(
    right: str, wrong: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """Where rows are left out of one part and not of the other, counted twice, or weigh too much."""
    one = court(policy, world, tiny["duckdb"])
    (part,) = one.priced(of_the_heart.BESIDE, "owner").measurements
    assert one.trial.is_proved(part, "passenger")
    assert right in part.sql
    assert not one.trial.is_proved(replace(part, sql=part.sql.replace(right, wrong)), "passenger")
