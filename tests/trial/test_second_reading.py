"""The second reading of a price: what it proves is right, and no mistake that tests must catch is proved."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.properties import test_mutants as of_the_heart
from tests.support import mutants
from tests.support.beside import Beside
from tests.support.fix_engines import Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.golden import load
from tests.support.mutants import C
from tests.support.samples import spread
from tests.support.tried import Court, court
from tests.trial.wrong_texts import WRONG, WRONG_IN_ONE_PLACE

PROVED = (
    of_the_heart.COUNTS,
    of_the_heart.BY_SHARED,
    of_the_heart.LONE,
    of_the_heart.MEANS,
    of_the_heart.BESIDE,
    of_the_heart.SQUARES,
    of_the_heart.SUMS,
    of_the_heart.JOINED,
    of_the_heart.UNION,
    "SELECT count(DISTINCT rider) FROM rides",
    "SELECT avg(tip) FILTER (WHERE late), count(*) FILTER (WHERE late) FROM rides",
    "SELECT avg(n) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS t",
    "SELECT count(*) FROM rides WHERE from_zone IN (SELECT zone_id FROM zones WHERE borough = 'Queens')",
    "SELECT count(*) FROM rides r JOIN trips t ON t.passenger_id = r.rider WHERE t.fare > 3",
    "SELECT count(*) FROM rides r JOIN (SELECT rider, count(*) AS n FROM rides GROUP BY 1) g USING (rider) WHERE n > 3",
    "SELECT avg(n) FROM (SELECT rider, late, count(*) AS n FROM rides GROUP BY 1, 2) AS t WHERE late",
    "SELECT avg(n) FROM (SELECT rider, count(*) OVER (PARTITION BY rider) AS n FROM rides) AS t",
    "SELECT avg(n) FROM (SELECT rider, row_number() OVER (PARTITION BY rider ORDER BY picked) AS n FROM rides) AS t",
    of_the_heart.VALUES,
    "SELECT late, sum(DISTINCT stars) FROM rides GROUP BY 1",
    "SELECT late, count(DISTINCT rider) FROM rides GROUP BY 1",
    "SELECT late, count(*), sum(fare), sum(price) FROM rides GROUP BY 1",
    "SELECT late, count(*) FILTER (WHERE weight::numeric * 10 > 3) FROM rides GROUP BY 1",
)
NOT_READ = (of_the_heart.MEDIAN,)


@pytest.fixture(params=["duckdb", "kept", "postgres"])
def heart(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Iterator[Court]:
    """Give a place to read statements again in: for each engine, and for one that keeps heavy units' rows."""
    own = with_rows(policy, "rides", "passenger", C)
    if request.param != "kept":
        yield court(own, world, tiny[request.param])
        return
    engine = Beside(own)
    yield court(own, world, engine)
    engine.close()


def _proved(trial_court: Court, sql: str, role: str = "owner") -> list[bool]:
    return [trial_court.trial.is_proved(part, "passenger") for part in trial_court.priced(sql, role).measurements]


@pytest.mark.parametrize("sql", PROVED)
def test_plain_forms_are_proved(sql: str, heart: Court) -> None:
    """Counts, sums, means and variances of one table, also by groups, with public tables, and of what units come to."""
    assert all(_proved(heart, sql))


@pytest.mark.parametrize("sql", NOT_READ)
def test_what_is_not_read_is_not_proved(sql: str, heart: Court) -> None:
    """That is said, and it rests on the trial alone."""
    assert not any(_proved(heart, sql))


@pytest.mark.parametrize(
    ("engine", "one_of"),
    [("duckdb", 6), *(pytest.param(name, 1, marks=pytest.mark.slow) for name in ("duckdb", "postgres"))],
)
def test_nine_tenths_of_all_golden_statements_are_proved(
    engine: str, one_of: int, policy: Policy, world: World, tiny: Engines
) -> None:
    """Of what they sum, with the bounds that the policy has."""
    trial_court = court(policy, world, tiny[engine])
    proved = [
        trial_court.trial.is_proved(part, "passenger")
        for golden in load()
        if golden.verdict == "answered" and golden.cost and golden.user == "ana" and golden.file != "views"
        if spread(golden.sql, one_of) == 0
        for part in trial_court.priced(golden.sql, "owner").measurements
        if isinstance(part.measurement, Sums)
    ]
    assert sum(proved) > 0.9 * len(proved)


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


_IN_DUCKDB = (
    ("FROM r GROUP BY k0 UNION ALL", "FROM r WHERE k0 > 1 GROUP BY k0 UNION ALL"),
    ("FROM r GROUP BY k0 UNION ALL", "FROM r WHERE u > 1 GROUP BY k0 UNION ALL"),
    ("FROM r GROUP BY k0 UNION ALL", 'FROM r JOIN memory.main."zones" ON TRUE GROUP BY k0 UNION ALL'),
    ("FROM r WHERE u // 2 IN", "FROM r WHERE k0 > 1 AND u // 2 IN"),
    ("FROM r WHERE u // 2 IN", "FROM r WHERE u > 1 AND u // 2 IN"),
    ("FROM r WHERE u // 2 IN", "FROM r WHERE u > 1 OR u // 2 IN"),
    ("FROM r WHERE u // 2 IN", "FROM r WHERE f0 > 1 AND u // 2 IN"),
    ("FROM r WHERE u // 2 IN", "FROM r JOIN r AS q ON r.u = q.u WHERE r.u // 2 IN"),
    ('(SELECT s0."rider" AS u, list', '(SELECT s0."seats" AS u, list'),
    ('(SELECT s0."rider" AS u, list', '(SELECT s0."rider" // 2 AS u, list'),
    ('(SELECT s0."rider" AS u, list', '(SELECT DISTINCT s0."rider" AS u, list'),
    ('(SELECT s0."rider" AS u, list', '(SELECT s0."rider" AS u, s0."seats" AS u, list'),
    ("heavy AS MATERIALIZED (", "r AS NOT MATERIALIZED (SELECT 1 AS u, 1 AS k0, 1 AS f0), heavy AS MATERIALIZED ("),
    ("heavy AS MATERIALIZED (", "r AS MATERIALIZED (SELECT 1 AS u, 1 AS k0, 1 AS f0), heavy AS MATERIALIZED ("),
    ("<= CAST('Infinity' AS DOUBLE)), heavy", "<= CAST('Infinity' AS DOUBLE) LIMIT 9), heavy"),
    ("UNION ALL", "UNION"),
    ("FROM p JOIN h ON u = hu", "FROM p JOIN h ON TRUE"),
    ("FROM p JOIN h ON u = hu", "FROM p JOIN h ON u = hu WHERE u > 1"),
    ("HAVING count(*) > 20", "HAVING count(*) > 21"),
    ("// greatest(CAST(sum(n) AS BIGINT), 20)", "// greatest(CAST(sum(n) AS BIGINT), 19)"),
    ("1310720 //", "1310721 //"),
    ("65536 * CAST(count(*)", "65537 * CAST(count(*)"),
    ("(w - 65536)", "(w - 65535)"),
    ("THEN CAST(1280000 AS INTEGER) WHEN", "THEN CAST(1280001 AS INTEGER) WHEN"),
    ("// 2 IN (SELECT u FROM heavy)", "// 2 NOT IN (SELECT u FROM heavy)"),
    ("CAST(sum(s1) AS VARCHAR)", "CAST(2 * sum(s1) AS VARCHAR)"),
    ("FROM p GROUP BY 1)", "FROM p WHERE n < 9 GROUP BY 1)"),
    ("GROUP BY (u | 0), k0)", "GROUP BY (u | 0), k0 HAVING count(*) > 1)"),
)
"""What stands in the text for the engine, and what would be wrong there."""


_IN_POSTGRES = (
    ('hashint8(s0."rider") < 0', 'hashint8(s0."rider") < 1'),
    ('hashint8(s0."rider") >= 0', 'hashint8(s0."rider") > 0'),
    ("HAVING count(*) > 20 UNION", "HAVING count(*) > 21 UNION"),
    ("# 24", "# 16"),
    (">> 5", ">> 4"),
    ("generate_series(0, 63)", "generate_series(0, 62)"),
    ("coalesce(b, 0)", "coalesce(b & 1, 0)"),
    ("ORDER BY i)", "ORDER BY i DESC)"),
    ("(hashint8(u) & 2047)::bigint) = 1", "(hashint8(u) & 1023)::bigint) = 1"),
    ("(hashint8(u) & 2047)::bigint) = 1", "(hashint8(k0) & 2047)::bigint) = 1"),
    ("FROM r WHERE get_bit", "FROM r WHERE k0 > 1 AND get_bit"),
    ("FROM r WHERE get_bit", "FROM r WHERE u > 1 OR get_bit"),
    ("2047)::bigint) = 1", "2047)::bigint) = 0"),
    ("ORDER BY 1) AS a", "ORDER BY 1 LIMIT 9) AS a"),
    ("/ greatest(CAST(sum(n) AS BIGINT), 20)", "/ greatest(sum(n), 20)"),
    ("CAST(div(sum(coalesce", "CAST(div(9 * sum(coalesce"),
    ("(w - 65536)", "(w - 65535)"),
)
_OF_KEPT = (
    ('"dpsql 3" > 20', '"dpsql 3" > 21'),
    ('"dpsql 3" <= 20', '"dpsql 3" <= 21'),
    ('"dpsql 3" <= 20', '"dpsql 3" <= 20 AND s0."dpsql 3" > 3'),
    ('"dpsql 1" AS u', '"dpsql 3" AS u'),
    ('rides by rider" AS s0', 'rides by rider: in full" AS s0'),
    ('rides by rider: in full" AS s0', 'rides by rider" AS s0'),
    ('overlap"()', 'overlap"() * 2'),
    (' * kept.main."rides by rider: overlap"()', ""),
    ("// greatest(CAST(sum(n) AS BIGINT), 20)", "// greatest(CAST(sum(n) AS BIGINT), 19)"),
    ("FROM p JOIN h ON u = hu", "FROM p JOIN h ON u = hu WHERE u > 1"),
)
TAMPERED = {"duckdb": _IN_DUCKDB, "kept": _OF_KEPT, "postgres": _IN_POSTGRES}
"""What stands in the text for an engine, and what would be wrong there."""


@pytest.mark.parametrize("engine", TAMPERED)
def test_a_text_that_is_wrong_in_one_place_is_not_proved(
    engine: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """Where rows are left out of one part and not of the other, counted twice, or weigh too much."""
    kept = Beside(policy) if engine == "kept" else None
    trial_court = court(policy, world, kept or tiny[engine])
    (part,) = trial_court.priced(of_the_heart.BESIDE, "owner").measurements
    assert trial_court.trial.is_proved(part, "passenger")
    assert [right for right, _ in TAMPERED[engine] if right not in part.sql] == []
    proved = [
        (right, wrong)
        for right, wrong in TAMPERED[engine]
        for times in (-1, 1)
        if trial_court.trial.is_proved(replace(part, sql=part.sql.replace(right, wrong, times)), "passenger")
    ]
    if kept is not None:
        kept.close()
    assert proved == []


def test_no_text_of_unknown_meaning_is_proved(policy: Policy, world: World, tiny: Engines) -> None:
    """Rows made several of one, another unit's read beside, weights that are none: wherever it is put in."""
    proved = []
    for rows, sql, changes in WRONG:
        trial_court = court(with_rows(policy, "rides", "passenger", rows), world, tiny["duckdb"])
        (part,) = trial_court.priced(sql, "owner").measurements
        assert trial_court.trial.is_proved(part, "passenger")
        assert [right for right, _ in changes if right not in part.sql] == []
        for right, wrong in changes:
            texts = (wrong.join(part.sql.rsplit(right, 1)), part.sql.replace(right, wrong))
            if any(trial_court.trial.is_proved(replace(part, sql=text), "passenger") for text in texts):
                proved.append((rows, right, wrong))
    assert proved == []


def _said_everywhere(sql: str) -> str:
    """Return the same with the rows said wherever they are read, so that they may differ there.

    WITH r AS (SELECT s0.x AS u FROM t AS s0 WHERE …), heavy AS (…) … FROM r WHERE u // 2 IN (SELECT u FROM heavy) …
    →  WITH heavy AS (…) … FROM (SELECT s0.x AS u FROM t AS s0 WHERE … AND s0.x // 2 IN (SELECT u FROM heavy)) AS r …
    """
    rows, rest = sql.removeprefix("WITH r AS NOT MATERIALIZED (").split("), heavy AS MATERIALIZED (", 1)
    unit, of_tables = rows.split(" AS u")[0].removeprefix("SELECT "), rows[rows.index(" FROM ") :]
    marked = "u // 2 IN (SELECT u FROM heavy)"
    rest = rest.replace(f"FROM r WHERE {marked}", f"FROM ({rows} AND {marked.replace('u', unit, 1)}) AS r")
    rest = rest.replace("SELECT u // 2 AS u FROM r ", f"SELECT {unit} // 2 AS u{of_tables} ")
    return f"WITH heavy AS MATERIALIZED ({rest.replace('FROM r ', f'FROM ({rows}) AS r ')}"


def test_no_text_that_differs_in_one_place_is_proved(policy: Policy, world: World, tiny: Engines) -> None:
    """Other rows in a list of heavy units than are summed, or among these than are weighed: first, or last."""
    proved = []
    for rows, sql, changes in WRONG_IN_ONE_PLACE:
        trial_court = court(with_rows(policy, "rides", "passenger", rows), world, tiny["duckdb"])
        (part,) = trial_court.priced(sql, "owner").measurements
        said = _said_everywhere(part.sql)
        assert trial_court.trial.is_proved(replace(part, sql=said), "passenger")
        assert [right for right, _ in changes if right not in said] == []
        for right, wrong in changes:
            texts = {wrong.join(said.rsplit(right, 1)), said.replace(right, wrong, 1)}
            if any(trial_court.trial.is_proved(replace(part, sql=text), "passenger") for text in texts):
                proved.append((rows, right, wrong))
    assert proved == []
