"""Buckets are read off finer ones that are kept: the very same, whatever is stored."""

import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.emit.binning import bucket
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.kept_columns import KeptColumns
from dpsql.rewrite.ir.expr import Ref
from tests.engines.nasty import DECLARED, REF, Engines
from tests.support.dialects import DUCKDB

NUMBER = 128
GRIDS = [
    (REF[name], interval)
    for name in ("x", "xn", "wide", "xv", "r", "n", "m", "i", "b")
    for interval in (DECLARED.facts_of(REF[name]).interval, Interval.of(-1, 1), Interval.of(0, 7))
    if interval is not None
]


def _both(ref: Ref, interval: Interval, parts: int) -> tuple[str, str]:
    """Return the bucket as it is computed, and as it is read off a column that has finer ones, which is written out."""
    usual = Emitter(DUCKDB, DECLARED)
    finer = bucket(usual, ref, interval, NUMBER * parts, single=False)
    kept = KeptColumns(texts={finer: "finer"})
    read = bucket(Emitter(DUCKDB, DECLARED, kept=lambda _: kept), ref, interval, NUMBER, single=False)
    return bucket(usual, ref, interval, NUMBER, single=False), read.replace('s0."finer"', finer)


@pytest.mark.parametrize("parts", [2, 4, 16])
def test_finer_buckets_say_it_too(engines: Engines, parts: int) -> None:
    """Also of infinities, of values at the ends, and of those that doubles can't tell from them."""
    pairs = [_both(ref, interval, parts) for ref, interval in GRIDS]
    assert sum(computed != read for computed, read in pairs) > len(GRIDS) // 2
    computed, read = zip(*pairs, strict=True)
    assert engines.ask(DUCKDB, computed) == engines.ask(DUCKDB, read)


def test_they_don_t_where_the_ends_are_too_near() -> None:
    """Of an interval that is as wide as the rounding of its ends each is computed by itself."""
    narrow = Interval.of("99.99999999999997", "99.99999999999999")
    computed, read = _both(REF["x"], narrow, 2)
    assert computed == read
