"""What an engine can't tell apart is one group, released once for one charge, and nothing tells whether it has rows."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Measurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release.exact import EngineRow, exact_buckets, exact_sums
from dpsql.privacy.release.release import release_buckets, release_sums
from tests.support.exactness import Measured, measurements
from tests.support.fix_engines import ENGINES
from tests.support.fix_wide import KEYS, LARGE, PUBLIC, Engines, Wide, plain
from tests.support.records import Row

COPIES = " ".join(f"WHEN p.key = {row['key']} THEN 0.1{'0' * 20}{n + 1}" for n, row in enumerate(PUBLIC["by_big"]))
ATTACKS = (
    f"SELECT CASE {COPIES} ELSE 0.1 END, count(*) FROM visits v JOIN by_big p ON p.key = place GROUP BY 1",
    f"SELECT CASE {COPIES} ELSE 0.1 END, median(iv) FROM visits v JOIN by_big p ON p.key = place GROUP BY 1",
    f"SELECT CASE {COPIES} ELSE 0.1 END, max(iv) FROM visits v LEFT JOIN by_big p ON p.key = place GROUP BY 1",
    "SELECT p.num, count(*) FROM visits v JOIN by_big p ON p.key = place GROUP BY 1",
    "SELECT p.share, count(*), sum(iv) FROM visits v JOIN by_big p ON p.key = place GROUP BY 1",
    "SELECT p.num, q.num, count(*) FROM visits v JOIN by_big p ON p.key = place JOIN by_big q ON q.key = place GROUP BY 1, 2",
    "SELECT p.num, q.share, max(iv) FROM visits JOIN by_big p ON p.key = place JOIN by_txt q ON q.key = txt GROUP BY 1, 2",
    "SELECT p.num, count(*) FROM visits v LEFT JOIN by_num p ON p.key = place GROUP BY 1",
    "SELECT p.key, count(DISTINCT person) FROM visits v JOIN by_num p ON p.key = place GROUP BY 1",
    "SELECT p.key, min(iv) FROM visits v JOIN by_num p ON p.key = v.num GROUP BY 1",
    "SELECT coalesce(p.num, p.share), median(iv) FROM visits v JOIN by_day p ON p.key = v.day GROUP BY 1",
    "SELECT p.dbl, count(*), avg(iv) FROM visits v LEFT JOIN by_moment p ON p.key = v.moment GROUP BY 1",
    "SELECT v.num, median(iv) FROM visits v JOIN by_num p ON p.key = v.num GROUP BY 1",
    "SELECT v.dbl, count(*) FROM visits v JOIN by_dbl p ON p.key = v.dbl GROUP BY 1",
    "SELECT p.moment, p.day, p.flag, p.big, median(iv) FROM visits v JOIN by_flag p ON p.key = v.flag GROUP BY 1, 2, 3, 4",
    "SELECT v.moment, count(*) FROM visits v JOIN by_moment p ON p.key = v.moment GROUP BY 1",
    "SELECT p.num = 9007199254740992, p.share, max(iv) FROM visits v JOIN by_big p ON p.key = place GROUP BY 1, 2",
)


def _near() -> list[Row]:
    """Return rows of three units, one of which has more than it may, around what double precision can't tell apart."""
    cells = [
        {name: keys[n] for name, keys in KEYS.items() if name not in {"big", "flag"}} | {"place": KEYS["big"][n]}
        for n in range(6)
    ]
    return [plain("person", 1 + n // 2 % 3, iv=n % 4, flag=n % 2 == 0, **cells[n % 6]) for n in range(12)]


def _released(part: Measurement, answer: Sequence[EngineRow], entropy: Entropy) -> Sequence[Sequence[int]]:
    match part:
        case Sums():
            return release_sums(part, exact_sums(part, answer), entropy).numbers
        case Histogram():
            return release_buckets(part, exact_buckets(part, answer, None), entropy).numbers
        case KeySearch():
            return []  # it releases no number


def _numbers(wide: Wide, sql: str) -> Sequence[tuple[int, int]]:
    """Return for each measurement how many cells it has, and how many of them can be told apart by the engine's groups."""
    numbers = []
    for part in measurements(sql, wide.policy, wide.world, wide.engine):
        grouped = part.groups.grouped
        returned = {tuple(k.returned(c) for k, c in zip(part.groups.keys, cells, strict=True)) for cells in grouped}
        numbers.append((len(grouped), len(returned)))
    return numbers


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", ATTACKS, ids=range(len(ATTACKS)))
def test_no_group_of_the_engine_is_released_twice(sql: str, dialect: str, wide: Engines) -> None:
    """Constants, numerics and doubles that double precision takes for one are one group, however many joins list them."""
    assert all(cells == apart for cells, apart in _numbers(wide[dialect], sql))


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", ATTACKS, ids=range(len(ATTACKS)))
def test_a_unit_moves_what_is_released_by_no_more_than_claimed(sql: str, dialect: str, wide: Engines) -> None:
    """The cells together, as they are released and not as the engine returns them, move by the claim at most."""
    setting = wide[dialect]
    rows = _near()
    for part in measurements(sql, setting.policy, setting.world, setting.engine):
        measured = Measured.of(part, setting.engine, setting.world)
        assert max(measured.moves("visits", rows, "person")) <= measured.claim


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", ATTACKS, ids=range(len(ATTACKS)))
def test_whether_a_group_has_rows_makes_no_error(sql: str, dialect: str, wide: Engines) -> None:
    """With rows in one such group, in all and in none, a release comes out, and it has a line for each group."""
    setting = wide[dialect]
    parts = measurements(sql, setting.policy, setting.world, setting.engine)
    for rows in ([], [plain("person", 1, place=LARGE)], [plain("person", 1, place=LARGE + 1)], _near()):
        setting.engine.fill("visits", rows)
        for part in parts:
            answer = Measured.of(part, setting.engine, setting.world).rows()
            entropy = random.Random(1).randbytes  # noqa: S311  (noise of a test)
            assert len(_released(replace(part, epsilon=Fraction(1)), answer, entropy)) == len(part.groups.grouped)


def test_no_histogram_is_too_large(wide: Engines) -> None:
    """However many rows are in a bucket, and whichever bucket the engine says, a histogram comes out that can be added up."""
    setting = wide["duckdb"]
    (part,) = measurements("SELECT median(iv) FROM visits", setting.policy, setting.world, setting.engine)
    assert isinstance(part, Histogram)
    for answer in ([(3, str(2**63))], [(3, str(2**62)), (3, str(2**62))], [(99, "5"), (-1, "5")]):
        histogram = exact_buckets(part, answer, None).histogram
        assert 0 < histogram.sum() <= 2**62
        assert len(_released(replace(part, epsilon=Fraction(1)), answer, random.Random(1).randbytes)) == 1  # noqa: S311
