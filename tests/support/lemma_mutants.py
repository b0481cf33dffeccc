"""Mistakes in what surrounds the mathematics, each as a patch: what may not depend on exact values does, or counts twice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import EngineFailed
from dpsql.gateway import measuring
from dpsql.policy.model import UniqueKey
from dpsql.privacy.measurement import contribution, engine_sql, planner
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import FromCount, SelectionRule, selection_rule
from dpsql.privacy.measurement.planner import Builder, PlanningContext
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release import exact, release
from dpsql.privacy.release.exact import EngineRow, ExactBuckets, ExactSums, KeyRow
from dpsql.privacy.release.release import Release, release_sums
from dpsql.rewrite.analysis import declared_facts, groups, owners
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.analysis.owners import Finders
from dpsql.rewrite.emit.binning import _Reading
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.functions.function import Cell, order_of
from dpsql.rewrite.ir.relation import Relation
from tests.gateway.engines import WatchedPrepared

Break = Callable[[pytest.MonkeyPatch], None]


def listed_by_exact_value(patch: pytest.MonkeyPatch) -> None:
    """List a group for each exact value, however many the engine returns as one."""
    right = groups._part

    def part(members: tuple[int, ...], exprs: Sequence[Any], relation: Any, env: Any, *rest: Any) -> Any:
        made = right(members, exprs, relation, env, *rest)
        source = groups._source_of(exprs[members[0]], relation)
        if not source:
            return made
        cells = set(groups._public_cells([exprs[i] for i in members], source, relation, env, rest[0]))
        rows = sorted(cells, key=lambda row: [*map(order_of, row)])
        pairs = [tuple((k.returned(c), c) for k, c in zip(made.keys, row, strict=True)) for row in rows]
        return replace(made, combinations=pairs)

    patch.setattr(groups, "_part", part)
    patch.setattr(Groups, "__post_init__", lambda _: None)


def a_lookup_that_may_miss(patch: pytest.MonkeyPatch) -> None:
    """Look up a group that has no rows, as if all had."""

    def at(self: ExactSums, keys: Sequence[KeyRow]) -> ExactSums:
        by_key = dict(zip(self.keys or (), self.coordinates, strict=True))
        return replace(self, keys=None, coordinates=[by_key[key] for key in keys])

    patch.setattr(ExactSums, "at", at)


def any_comparison_matches_once(patch: pytest.MonkeyPatch) -> None:
    """Trust that a unique key is unique in every comparison."""
    patch.setattr(owners, "finders", _found_by_any)


def a_threshold_only_for_groups(patch: pytest.MonkeyPatch) -> None:
    """Compute by which rule groups are shown once there are some."""

    def late(measurement: Sums, exact: ExactSums, entropy: Any, _: SelectionRule | None = None) -> Release:
        rule = selection_rule(measurement) if exact.coordinates else None
        return release_sums(measurement, exact, entropy, rule) if rule or exact.keys is None else Release([], [])

    patch.setattr(release, "release_sums", late)


def ordered_as_floats(patch: pytest.MonkeyPatch) -> None:
    """Order found keys by what double precision makes of them."""

    def order(cell: Cell) -> tuple[bool, str, float]:
        text = isinstance(cell, str)
        return (cell is None, str(cell) if text else "", 0.0 if text else float(Fraction(cell or 0)))

    patch.setattr(exact, "order_of", order)


def ordered_by_the_engine(patch: pytest.MonkeyPatch) -> None:
    """Leave found keys in the order in which the engine returns them."""
    patch.setattr(exact, "order_of", lambda _: 0)


def two_zeros(patch: pytest.MonkeyPatch) -> None:
    """Rank rows by the text of either zero."""
    patch.setattr(Emitter, "one_text", lambda _, text, __: text)


def decimals_in_double_precision(patch: pytest.MonkeyPatch) -> None:
    """Compare the units of two rows in double precision, where neighbours beyond 2^53 are one."""
    patch.setattr("dpsql.rewrite.emit.emitter.are_exact_numbers", lambda _, __: False)


def a_unit_of_many_texts(patch: pytest.MonkeyPatch) -> None:
    """Rank a unit's rows by how the unit happens to be written."""
    patch.setattr(engine_sql, "salt", lambda _, unit, __: unit)


def one_row_hides_another(patch: pytest.MonkeyPatch) -> None:
    """Take the last of several rows of the engine for one group."""
    patch.setattr(exact, "add", lambda _, later: later)


def one_step_too_far(patch: pytest.MonkeyPatch) -> None:
    """Let a value beyond the upper end reach one step further."""
    right = _Reading.case

    def case(self: _Reading, first: str, inside: str, last: str, steps: int) -> str:
        return right(self, first, inside, f"({last} + 1)", steps)

    patch.setattr(_Reading, "case", case)


def no_rows_are_an_error(patch: pytest.MonkeyPatch) -> None:
    """Read a sum of nothing as a number."""
    patch.setattr(exact, "whole_number", int)


def a_bucket_too_few(patch: pytest.MonkeyPatch) -> None:
    """Forget the last bucket: a row in it has no place."""
    right = exact.exact_buckets

    def exact_buckets(measurement: Histogram, rows: Sequence[EngineRow], keys: Sequence[KeyRow] | None) -> ExactBuckets:
        if any(whole_bucket(row) == measurement.number - 1 for row in rows):
            raise IndexError
        return right(measurement, rows, keys)

    def whole_bucket(row: EngineRow) -> int | None:
        return None if row[-2] is None else int(row[-2])

    patch.setattr(release, "exact_buckets", exact_buckets)


def keys_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """Let a measurement at keys that were found out have groups of its own."""
    patch.setattr(ExactSums, "at", lambda self, _: self)


def empty_answers_are_failures(patch: pytest.MonkeyPatch) -> None:
    """Take an engine that returns nothing for one that failed."""
    right = release.release_of

    def failing(part: Any, rows: Sequence[EngineRow], *rest: Any) -> Release:
        if not rows:
            raise EngineFailed
        return right(part, rows, *rest)

    patch.setattr(measuring, "release_of", failing)


def a_unit_in_one_group(patch: pytest.MonkeyPatch) -> None:
    """Claim that a unit is in one group, however many there are."""
    patch.setattr(Builder, "_unit_bound", lambda self: replace(self._bound, rows=1, form=Form.UNIQUE))


def every_column_is_unique(patch: pytest.MonkeyPatch) -> None:
    """Take every column for one that the engine keeps unique."""
    right = planner.contribution_bound

    def bounded(relation: Any, world: PlanningContext) -> tuple[Relation, ContributionBound]:
        return right(relation, replace(world, unique=lambda name: frozenset(_columns(relation, name))))

    patch.setattr(planner, "contribution_bound", bounded)


def _columns(relation: Any, name: str) -> Iterator[UniqueKey]:
    return (frozenset({c}) for source in relation.sources if source.table.name == name for c in source.table.columns)


def _found_by_any(relation: Any, index: int, _: object) -> Finders:
    return frozenset({(frozenset(range(len(relation.sources))) - {index},)})


def any_column_is_a_key(patch: pytest.MonkeyPatch) -> None:
    """Join on whatever is compared, and take it for a key."""
    patch.setattr(owners, "finders", _found_by_any)


def the_first_row_wins(patch: pytest.MonkeyPatch) -> None:
    """Take the first of several rows of the engine for one group."""
    patch.setattr(exact, "add", lambda earlier, later: earlier or later)


def only_units_of_the_table(patch: pytest.MonkeyPatch) -> None:
    """Refuse to group by units, and not by their public copies."""
    right = declared_facts.identifying_columns
    patch.setattr(
        "dpsql.privacy.measurement.plan.identifying_columns",
        lambda *args: frozenset(c for c in right(*args) if c[0] == 0),
    )


def noise_only_for_rows(patch: pytest.MonkeyPatch) -> None:
    """Release a group without rows as it is."""

    def quiet(measurement: Sums, exact: ExactSums, entropy: Any, rule: SelectionRule | None = None) -> Release:
        noisy = release_sums(measurement, exact, entropy, rule)
        if exact.keys is not None:
            return noisy
        pairs = zip(exact.coordinates, noisy.numbers, strict=True)
        return Release([row if any(of) else of for of, row in pairs])

    patch.setattr(release, "release_sums", quiet)


def the_exact_count_decides(patch: pytest.MonkeyPatch) -> None:
    """Compare the threshold with the count before its noise."""

    def compared(measurement: Sums, exact: ExactSums, entropy: Any, rule: SelectionRule | None = None) -> Release:
        if not isinstance(rule, FromCount) or exact.keys is None:
            return release_sums(measurement, exact, entropy, rule)
        kept = [i for i, row in enumerate(exact.coordinates) if row[0] >= rule.least]
        less = replace(exact, keys=[exact.keys[i] for i in kept], coordinates=[exact.coordinates[i] for i in kept])
        return release_sums(measurement, less, entropy, FromCount(-(10**30)))

    patch.setattr(release, "release_sums", compared)


def empty_answers_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    """Ask the engine again for what had no rows."""
    right = WatchedPrepared.run

    def run(self: WatchedPrepared, sql: str, charge: Any) -> Sequence[EngineRow]:
        rows = right(self, sql, charge)
        return rows or right(self, sql, charge)

    patch.setattr(WatchedPrepared, "run", run)


def an_extra_statement(patch: pytest.MonkeyPatch) -> None:
    """Fetch what does not fit into the first answer by another."""
    right = WatchedPrepared.run

    def run(self: WatchedPrepared, sql: str, charge: Any) -> Sequence[EngineRow]:
        return right(self, sql, charge) if len(right(self, sql, charge)) > 2 else []

    patch.setattr(WatchedPrepared, "run", run)


def nothing_found_costs_nothing(patch: pytest.MonkeyPatch) -> None:
    """Write the charge down once there is something to be paid for."""
    _entries(patch, lambda lines, rows: lines if rows else [])


def the_ledger_counts_groups(patch: pytest.MonkeyPatch) -> None:
    """Note in the ledger how many groups there were."""
    _entries(
        patch, lambda lines, rows: [replace(line, note=f"{line.note}, of which {rows} have rows") for line in lines]
    )


def _entries(patch: pytest.MonkeyPatch, change: Callable[[list[Any], int], list[Any]]) -> None:
    right, release_of = SqliteLedger.entries, release.release_of
    numbers: list[int] = []

    def noticed(part: Any, rows: Sequence[EngineRow], *rest: Any) -> Release:
        numbers.append(len(rows))
        return release_of(part, rows, *rest)

    patch.setattr(measuring, "release_of", noticed)
    patch.setattr(SqliteLedger, "entries", lambda *args: change(list(right(*args)), numbers[-1] if numbers else 0))


def in_the_order_of_their_counts(patch: pytest.MonkeyPatch) -> None:
    """Put the largest groups first."""
    right = exact._candidates

    def discovered(*args: Any) -> ExactSums:
        sums = right(*args)
        pairs = sorted(zip(sums.coordinates, sums.keys or (), strict=True), key=lambda pair: -pair[0][0])
        return replace(sums, keys=[key for _, key in pairs], coordinates=[numbers for numbers, _ in pairs])

    patch.setattr(exact, "_candidates", discovered)


def not_ranked(patch: pytest.MonkeyPatch) -> None:
    """Keep whichever rows come first."""
    _selected(patch, lambda sql, _: sql[: sql.index(" ORDER BY")] + ") AS place" + sql.split(") AS place")[1])


def ranked_within_groups(patch: pytest.MonkeyPatch) -> None:
    """Keep so many rows of a unit in every group."""
    _selected(patch, lambda sql, columns: sql.replace("PARTITION BY u", f"PARTITION BY u, {columns[0]}"))


def _selected(patch: pytest.MonkeyPatch, change: Callable[[str, Sequence[str]], str]) -> None:
    right = contribution.rows_within_bound

    def selected(rows: str, columns: Sequence[str], most: int, salt: str) -> str:
        head, tail = right("__rows__", columns, most, salt).split("__rows__")
        return (
            change(head + "__rows__" + tail, columns).replace("__rows__", rows)
            if columns
            else right(rows, columns, most)
        )

    patch.setattr(engine_sql, "rows_within_bound", selected)
