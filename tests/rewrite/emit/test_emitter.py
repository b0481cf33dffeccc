"""What was written of a column is written again, but not of another column, nor of what is no longer kept."""

from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.binning import lattice_step
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.kept_columns import NOTHING, KeptColumns
from dpsql.rewrite.ir.expr import Ref

FARE = Column("fare", SqlType.DOUBLE, "double precision", Interval.of(0, 150))
REF = Ref(0, "trips", "fare", FARE)
STEPS = 2**20


def test_columns_of_one_name_are_written_as_each_is_declared() -> None:
    """Two statements may make columns of one name; to compare references their declarations do not count."""
    emitter = Emitter(DUCKDB, DeclaredFacts({}))
    other = replace(REF, column=replace(FARE, bounds=Interval.of(0, 7)))
    assert other == REF
    assert "150.0" in emitter.sql(REF)
    assert "150.0" not in emitter.sql(other)
    assert "150.0" not in emitter.sql(
        replace(REF, column=replace(FARE, type=SqlType.INTEGER, bounds=Interval.of(0, 7)))
    )


def test_columns_are_written_by_source_and_use() -> None:
    """Neither another place in FROM nor another use of the same column is mistaken for what was written."""
    emitter = Emitter(DUCKDB, DeclaredFacts({}))
    first, again = lattice_step(emitter, REF, FARE.bounds or Interval.of(0, 1), STEPS), emitter.sql(REF)
    assert lattice_step(emitter, REF, Interval.of(0, 150), 2 * STEPS) != first
    assert lattice_step(emitter, REF, Interval.of(0, 100), STEPS) != first
    assert emitter.present(REF) not in {first, again}
    assert emitter.sql(replace(REF, source=1)) == again.replace("s0.", "s1.")
    assert lattice_step(emitter, REF, Interval.of(0, 150), STEPS) == first


def test_what_is_no_longer_kept_is_computed() -> None:
    """A snapshot that is written anew may keep other columns, also where one is computed of another that is kept."""
    step = Fraction(1, 4)
    ref = replace(REF, column=replace(FARE, step=step))
    own = int(150 / step)
    plain = Emitter(DUCKDB, DeclaredFacts({}))
    text = lattice_step(plain, ref, Interval.of(0, 150), own)
    kept = {"trips": KeptColumns(texts={text: "_kept"})}
    emitter = Emitter(DUCKDB, DeclaredFacts({}), kept=lambda table: kept.get(table, NOTHING))
    assert "_kept" in lattice_step(emitter, ref, Interval.of(0, 150), own)
    assert "_kept" in lattice_step(emitter, ref, Interval.of(0, 150), own * 8, own=own)
    kept.clear()
    assert lattice_step(emitter, ref, Interval.of(0, 150), own) == text
    assert "_kept" not in lattice_step(emitter, ref, Interval.of(0, 150), own * 8, own=own)
