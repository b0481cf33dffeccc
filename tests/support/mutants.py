"""Mistakes in the heart, each as a patch: what the tests of privacy must catch."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.privacy.features import design
from dpsql.privacy.features.feature import blocks
from dpsql.privacy.features.lattice import EngineSum
from dpsql.privacy.measurement import engine_sql, sums
from dpsql.privacy.measurement.contribution import ContributionBound, Norms
from dpsql.privacy.measurement.sums import LatticeValues, Sums
from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.privacy.release import exact
from dpsql.rewrite.analysis.exclusion import Exclusion
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.dialects.duckdb import DuckDbDialect
from dpsql.rewrite.dialects.postgres import PostgresDialect
from dpsql.rewrite.emit import source
from dpsql.rewrite.emit.binning import lattice_step
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.source import from_where
from dpsql.rewrite.ir.expr import Expr, Ref
from tests.support.dialects import DUCKDB

C = 2
"""The bound for which those of weights are written."""
Break = Callable[[pytest.MonkeyPatch], None]
"""Puts one mistake in."""


def half(patch: pytest.MonkeyPatch) -> None:
    """Claim half of what a unit can do."""
    patch.setattr(Sums, "sensitivity", property(lambda s: s.bound.mass * s.row_norm // 2))


def forgotten_rows(patch: pytest.MonkeyPatch) -> None:
    """Claim one row for a unit that may have several; its weights stay right."""
    patch.setattr(ContributionBound, "mass", property(lambda b: b.weight))
    patch.setattr(ContributionBound, "weights", _weights(f"{C} * 65536 / greatest({{number}}, {C})"))


def forgotten_size(patch: pytest.MonkeyPatch) -> None:
    """Claim one lattice step for a row."""
    patch.setattr(Sums, "sensitivity", property(lambda s: s.bound.mass))


def forgotten_square(patch: pytest.MonkeyPatch) -> None:
    """Claim for squares what holds for values."""
    patch.setattr(Sums, "sensitivity", property(lambda s: s.bound.mass * s.lattice))


def no_cap(patch: pytest.MonkeyPatch) -> None:
    """Give every row its full weight."""
    patch.setattr(ContributionBound, "weights", _weights("65536"))


def cap_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """Let a unit have one row more than it may."""
    patch.setattr(ContributionBound, "weights", _weights(f"{C} * 65536 / greatest({{number}} - 1, {C})"))


def heavy_units_missed(patch: pytest.MonkeyPatch) -> None:
    """Mark only units that have one row more than those that have to be marked."""
    _marks(patch, lambda text: text.replace(f"HAVING count(*) > {C}", f"HAVING count(*) > {C + 1}"))


def marks_in_other_places(patch: pytest.MonkeyPatch) -> None:
    """Look for a unit's mark where another unit has it."""
    _marks(patch, lambda text: text.replace(") # 24", ")"))


def marks_turned_round(patch: pytest.MonkeyPatch) -> None:
    """Take the units that have no mark for the heavy ones."""
    _marks(patch, lambda text: text.replace("get_bit", "1 - get_bit").replace(" IN (SELECT u", " NOT IN (SELECT u"))


def _marks(patch: pytest.MonkeyPatch, broken: Callable[[str], str]) -> None:
    for dialect in (PostgresDialect, DuckDbDialect):
        patch.setattr(dialect, "maybe_heavy", _broken_marks(dialect.maybe_heavy, broken))


def _broken_marks(right: Callable[..., tuple[str, str] | None], broken: Callable[[str], str]) -> Callable[..., Any]:
    def maybe_heavy(*args: Any, **named: Any) -> tuple[str, str]:
        texts = right(*args, **named)
        assert texts is not None
        assert tuple(map(broken, texts)) != texts
        return broken(texts[0]), broken(texts[1])

    return maybe_heavy


def no_norms(patch: pytest.MonkeyPatch) -> None:
    """Take rows for such that add nothing, which all have their full weight."""
    patch.setattr(LatticeValues, "norm", lambda *_: "0")


def half_norms(patch: pytest.MonkeyPatch) -> None:
    """Take rows for half of what they add."""
    right = LatticeValues.norm
    patch.setattr(LatticeValues, "norm", lambda *args: f"({right(*args)}) / 2")


def best_group_for_all(patch: pytest.MonkeyPatch) -> None:
    """Weigh in sums by the group in which a unit's rows add least on average."""
    _two_weights(patch, "max(c)", "min(c)")


def no_cap_on_sums(patch: pytest.MonkeyPatch) -> None:
    """Give every row its full weight in sums beside a count."""
    _two_weights(patch, "greatest(w,", "greatest(65536,")


def half_means(patch: pytest.MonkeyPatch) -> None:
    """Take rows beside a count for half of what they add on average."""
    right = engine_sql.BoundedScan._above_mean
    patch.setattr(engine_sql.BoundedScan, "_above_mean", lambda *args: f"(({right(*args)} + 1) >> 1)")


def mean_of_all_groups(patch: pytest.MonkeyPatch) -> None:
    """Weigh in sums by what a unit's rows add on average, where they are not told apart by group."""
    mean, weights = engine_sql.BoundedScan._above_mean, ContributionBound.two_weights

    def above_mean(reading: engine_sql.BoundedScan, norm: Norms) -> str:
        return mean(reading, replace(norm, by_group=True))

    def two_weights(*args: Any, **named: Any) -> str:
        return weights(*args, **named).replace("max(c)", "CAST(sum(c * n) / sum(n) AS BIGINT)")

    patch.setattr(engine_sql.BoundedScan, "_above_mean", above_mean)
    patch.setattr(ContributionBound, "two_weights", two_weights)


def norms_without_groups(patch: pytest.MonkeyPatch) -> None:
    """Weigh in sums by what a unit's rows add up to, as if sums were alone: in other groups its rows are counted."""
    right = engine_sql.BoundedScan._above_mean

    def grouped(reading: engine_sql.BoundedScan, norm: Norms) -> str:
        return f"{right(reading, norm)} * count(*)"

    patch.setattr(engine_sql.BoundedScan, "_above_mean", grouped)
    _two_weights(patch, "max(c)", "greatest(CAST(sum(c) / sum(n) AS BIGINT), 1)")


def norms_without_blocks(patch: pytest.MonkeyPatch) -> None:
    """Weigh in sums by what a unit's rows add on average in a group, those of other blocks among them."""
    right = Sums._norms
    patch.setattr(Sums, "_norms", lambda *args, **named: _of_no_block(right(*args, **named)))


def _of_no_block(norm: Norms | None) -> Norms | None:
    return None if norm is None else replace(norm, block=None)


def _two_weights(patch: pytest.MonkeyPatch, wrong: str, by: str) -> None:
    right = ContributionBound.two_weights

    def two_weights(*args: Any, **named: Any) -> str:
        text = right(*args, **named)
        assert wrong in text
        return text.replace(wrong, by)

    patch.setattr(ContributionBound, "two_weights", two_weights)


def _weights(text: str, *, source: str | None = None) -> Callable[..., str]:
    def weights(
        _: ContributionBound,
        unit: str,
        from_where: str,
        dialect: Dialect,
        *,
        number: str = "count(*)",
        once: Sequence[str] | None = None,
        **__: int,
    ) -> str:
        weight = text.format(number=number).replace("/", "//" if dialect is DUCKDB else "/")
        place = "" if dialect is DUCKDB else "public."  # nothing is in the path of a session with PostgreSQL
        if source:
            each = f"SELECT rider AS hu, CAST({weight} AS BIGINT) AS w FROM {place}{source} GROUP BY 1"
            return f"h AS MATERIALIZED ({each if once is None else f'SELECT * FROM ({each}) AS e JOIN p ON u = hu'})"
        columns = ", ".join([f"{unit} AS hu", f"CAST({weight} AS BIGINT) AS w", *(once or ())])
        return f"h AS MATERIALIZED (SELECT {columns} {from_where}{' GROUP BY 1' if once is None else ''})"

    return weights


def cap_before_where(patch: pytest.MonkeyPatch) -> None:
    """Count the rows of the table, not of the measured relation: a join that doubles rows goes unnoticed."""
    text = f"{C} * 65536 / greatest(count(DISTINCT rider), {C})"
    patch.setattr(ContributionBound, "weights", _weights(text, source="rides"))


def no_clamp(patch: pytest.MonkeyPatch) -> None:
    """Let values be as large as they are."""
    patch.setattr(sums, "lattice_step", _unclamped)


def _unclamped(
    emitter: Emitter, expr: Expr, interval: Interval, steps: int, *, own: int | None = None, **__: object
) -> str:
    _ = own
    x = emitter.cast(emitter.raw(expr) if isinstance(expr, Ref) else emitter.sql(expr), SqlType.DOUBLE)
    low, width = emitter.double(interval.low), emitter.double(interval.width)
    # As far off as the integers that weigh it allow.
    return f"CAST(round(least(greatest(({x} - {low}) / {width}, -0.5), 1.5) * {steps}) AS BIGINT)"


def clamped_sum(patch: pytest.MonkeyPatch) -> None:
    """Clamp a group's sum instead of its rows."""
    right = Sums.reader

    def reader(self: Sums) -> Callable[[Sequence[int]], tuple[int, ...]]:
        read, most = right(self), 100 * self.sensitivity
        return lambda values: tuple(min(max(x, -most), most) for x in read(values))

    no_clamp(patch)
    patch.setattr(Sums, "reader", reader)


def clamped_to_the_wrong_bounds(patch: pytest.MonkeyPatch) -> None:
    """Clamp columns as declared, but not what is computed of them to its own interval."""
    right = lattice_step

    def lattice(
        self: Emitter, expr: Expr, interval: Interval, steps: int, *, own: int | None = None, **__: object
    ) -> str:
        return (right if isinstance(expr, Ref) else _unclamped)(self, expr, interval, steps, own=own)

    patch.setattr(sums, "lattice_step", lattice)
    patch.setattr(Emitter, "_clamped", lambda self, ref, **_: self.raw(ref))


def one_hides_another(patch: pytest.MonkeyPatch) -> None:
    """Take fractions for whole numbers: two groups of the engine are then one of ours, of which the later is seen."""
    patch.setattr(engine_sql, "returned_text", lambda name, _, __: f"CAST({name} AS BIGINT)")
    patch.setattr(exact, "add", lambda _, later: later)


def merged_units(patch: pytest.MonkeyPatch) -> None:
    """Compare units after a cast that makes several of them one."""
    for module in (engine_sql, source):
        patch.setattr(module, "identity", lambda ref, _: f'(s{ref.source}."{ref.name}" >> 1)')


def sums_in_floats(patch: pytest.MonkeyPatch) -> None:
    """Let the sums be rounded on their way."""
    for dialect in (DuckDbDialect, PostgresDialect):
        patch.setattr(dialect, "as_text", lambda _, text: f"CAST(CAST({text} AS DOUBLE PRECISION) AS VARCHAR)")


def unit_sums_in_floats(patch: pytest.MonkeyPatch) -> None:
    """Round what a unit's values add up to, not each of them."""

    def unrounded(
        emitter: Emitter, expr: Expr, interval: Interval, steps: int, *, own: int | None = None, **__: object
    ) -> str:
        _ = own
        x, low, width = emitter.sql(expr), emitter.double(interval.low), emitter.double(interval.width)
        return f"least(greatest(({x} - {low}) / {width}, 0), 1) * {steps}"

    patch.setattr(sums, "lattice_step", unrounded)


def squares_of_the_unclamped(patch: pytest.MonkeyPatch) -> None:
    """Count squares twice."""
    right = LatticeValues.summed

    def summed(values: LatticeValues, column: EngineSum, **how: bool) -> str:
        text = right(values, column, **how)
        return text.replace("sum(", "sum(2 * ") if len(column.factors) > 1 else text

    patch.setattr(LatticeValues, "summed", summed)


def blocks_by_conditions(patch: pytest.MonkeyPatch) -> None:
    """Let a row be in every block whose condition holds, with conditions of which nobody knows whether they overlap."""
    overlapping(patch)
    right = LatticeValues.__init__

    def init(
        self: LatticeValues,
        emitter: Emitter,
        bound: ContributionBound,
        points: int,
        block_conditions: Sequence[Expr],
        **__: bool,
    ) -> None:
        right(self, emitter, bound, points, ())
        self.conditions = [emitter.sql(where) for where in block_conditions]  # type: ignore[attr-defined]  # the mistake needs it

    patch.setattr(LatticeValues, "__init__", init)
    patch.setattr(LatticeValues, "block", lambda self, block: self._name(self.conditions[block]))


def overlapping(patch: pytest.MonkeyPatch) -> None:
    """Take all conditions for such that exclude each other: harmless, since a row is in the first block only."""
    patch.setattr(design, "exclusion", lambda _, __: Exclusion(exhaustive=True))


def a_block_for_each_coordinate(patch: pytest.MonkeyPatch) -> None:
    """Draw noise for each coordinate as if a row moved only one."""
    patch.setattr(sums, "blocks", lambda features: [Block((i,), Norm.LARGEST) for i in range(len(features))])


def independent_noise(patch: pytest.MonkeyPatch) -> None:
    """Take the coordinates of a cube for cells, which add up to no more than the row."""
    patch.setattr(sums, "blocks", lambda features: [replace(block, norm=Norm.TOTAL) for block in blocks(features)])


def null_as_zero(patch: pytest.MonkeyPatch) -> None:
    """Take a number that is missing for 0."""
    right = Emitter.raw

    def raw(self: Emitter, ref: Ref) -> str:
        text = right(self, ref)
        return f"coalesce({text}, 0)" if ref.type.is_number else text

    patch.setattr(Emitter, "raw", raw)


def no_condition(patch: pytest.MonkeyPatch) -> None:
    """Read rows of nobody."""
    right = from_where
    patch.setattr(
        engine_sql, "from_where", lambda *args, **how: right(*args, **how).replace('s0."rider" IS NOT NULL', "TRUE")
    )


def left_join(patch: pytest.MonkeyPatch) -> None:
    """Keep rows for which there is no weight, in full."""
    right = engine_sql.BoundedScan._weighed

    def weighed(reading: engine_sql.BoundedScan, *args: Any, **named: Any) -> str:
        return _left(right(reading, *args, **named))

    patch.setattr(engine_sql.BoundedScan, "_weighed", weighed)


def _left(sql: str) -> str:
    return re.sub(r"sum\(w\b", "sum(coalesce(w, 65536)", sql).replace(" JOIN h ", " LEFT JOIN h ")
