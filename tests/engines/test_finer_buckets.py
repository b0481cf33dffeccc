"""Buckets are read off finer ones that are kept: the very same, whatever is stored."""

from dataclasses import replace
from functools import partial

import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.emit.binning import bucket
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.halving import Grid
from dpsql.rewrite.emit.kept import KeptColumns
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


def _always(kept: KeptColumns, table: str) -> KeptColumns:
    """Return what is kept, of any table."""
    _ = table
    return kept


def test_finer_halves_say_it_too(engines: Engines) -> None:
    """Buckets that are finer near the lower end are those of twice as many, by twos, and of eight times as many."""
    usual, grid, ref = Emitter(DUCKDB, DECLARED), Grid.of(Interval.of(0, 7), 2048), REF["x"]
    assert grid.kept(usual, ref) is None
    for times in (1, 2, 8):
        finer = replace(grid, number=grid.number * times).of_column(usual, ref)
        kept = KeptColumns(texts={finer: "finer"})
        read = grid.kept(Emitter(DUCKDB, DECLARED, kept=partial(_always, kept)), ref)
        assert read is not None
        assert engines.ask(DUCKDB, [grid.of_column(usual, ref)]) == engines.ask(
            DUCKDB, [read.replace('s0."finer"', finer)]
        )


def test_they_don_t_where_the_ends_are_too_near() -> None:
    """Of an interval that is as wide as the rounding of its ends each is computed by itself."""
    narrow = Interval.of("99.99999999999997", "99.99999999999999")
    computed, read = _both(REF["x"], narrow, 2)
    assert computed == read
