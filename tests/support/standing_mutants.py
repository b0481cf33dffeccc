"""Mistakes in what keeps standing questions to their bound, each as a patch: accounts, claims, terms, parts of copies."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from dpsql.accounting.ledger import LastMeasurement
from dpsql.accounting.sql import standing as ledger_standing
from dpsql.engines.base import SnapshotVersion
from dpsql.engines.snapshot import accounts, parts, writing
from dpsql.engines.snapshot.accounts import AccountedSums, HeldAccounts
from dpsql.engines.snapshot.directory import SnapshotDirectory
from dpsql.engines.snapshot.parts import PartsPlan
from dpsql.policy.growth import Grows
from dpsql.privacy.measurement import contribution, engine_sql
from dpsql.privacy.measurement.contribution import ContributionBound
from dpsql.standing import measuring, questions
from dpsql.standing.measuring import AskedQuestion
from dpsql.standing.questions import StandingPart


class _Rewriting:
    """A connection whose statements are others."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, rewritten: Callable[[str], str]) -> None:
        self._connection, self._rewritten = connection, rewritten

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, values: Sequence[object] = ()) -> Any:
        return self._connection.execute(self._rewritten(sql), values)


def _accounts_say(patch: pytest.MonkeyPatch, rewritten: Callable[[str], str]) -> None:
    right = HeldAccounts._add

    def add(held: HeldAccounts, question: str, to: LastMeasurement, statements: AccountedSums) -> None:
        itself = held._connection
        held._connection = _Rewriting(itself, rewritten)  # type: ignore[assignment]
        try:
            right(held, question, to, statements)
        finally:
            held._connection = itself

    patch.setattr(HeldAccounts, "_add", add)


def account_is_not_written(patch: pytest.MonkeyPatch) -> None:
    """Add nothing to accounts."""
    _accounts_say(patch, lambda sql: sql.replace("used = a.used + m.added", "used = a.used"))


def account_is_rounded_down(patch: pytest.MonkeyPatch) -> None:
    """Add whole rows alone, of what was weighed."""
    _accounts_say(patch, lambda sql: sql.replace("a.used + m.added", "a.used + m.added // 65536 * 65536"))


def account_is_read_empty(patch: pytest.MonkeyPatch) -> None:
    """Let a measurement read accounts as they were before the others: as two at the same time would."""
    _accounts_say(patch, lambda sql: sql.replace("max(used) AS used", "0 AS used"))


def account_in_memory(patch: pytest.MonkeyPatch) -> None:
    """Undo what was added once the sums are read: it would be written after the release."""
    right = HeldAccounts.measure

    def measure(held: HeldAccounts, question: str, to: LastMeasurement, *rest: Any, **more: Any) -> Any:
        answer = right(held, question, to, *rest, **more)
        held._connection.execute(f"UPDATE {accounts._table(question)} SET used = 0")
        return answer

    patch.setattr(HeldAccounts, "measure", measure)


def account_of_all_questions(patch: pytest.MonkeyPatch) -> None:
    """Keep one account for all questions of a copy."""
    patch.setattr(accounts, "_table", lambda _: f"{accounts._STORE}.main.accounts")
    _accounts_say(patch, lambda sql: sql.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "))


def account_by_a_number(patch: pytest.MonkeyPatch) -> None:
    """Keep accounts by a number that several units may have."""
    for module in (contribution, engine_sql):
        patch.setattr(module, "unit_text", lambda unit: f"CAST(hash({unit}) % 2 AS VARCHAR)")


def rows_of_each_period(patch: pytest.MonkeyPatch) -> None:
    """Weigh rows as if a unit had one of them."""
    right = ContributionBound.weights_left
    patch.setattr(ContributionBound, "weights_left", lambda *args: right(*args).replace("count(*) AS n", "1 AS n"))


def missing_accounts_are_empty(patch: pytest.MonkeyPatch) -> None:
    """Let whoever has no account count in full."""
    right = ContributionBound.weights_left

    def weights_left(bound: ContributionBound, rows: str, dialect: Any) -> str:
        text = right(bound, rows, dialect)
        return text.replace(" AS p JOIN ", " AS p LEFT JOIN ").replace("a.used", "coalesce(a.used, 0)")

    patch.setattr(ContributionBound, "weights_left", weights_left)


def erased_are_new(patch: pytest.MonkeyPatch) -> None:
    """Let who comes back after they were erased begin with an empty account."""
    _accounts_say(patch, lambda sql: re.sub(r"THEN \d+ ELSE 0 END", "THEN 0 ELSE 0 END", sql))


def stores_by_their_numbers(patch: pytest.MonkeyPatch) -> None:
    """Believe a store whose accounts stand at the right number, whichever way they came there."""
    patch.setattr(LastMeasurement, "__eq__", lambda one, other: one.number == other.number)
    patch.setattr(LastMeasurement, "__hash__", lambda one: hash(one.number))


def every_writer_is_newest(patch: pytest.MonkeyPatch) -> None:
    """Let a server go on to measure that another has taken over from."""
    patch.setattr(ledger_standing, "is_newest", lambda *_: True)


def periods_are_measured_twice(patch: pytest.MonkeyPatch) -> None:
    """Measure whatever has closed, whether it was measured or not."""

    def to_measure(asked: AskedQuestion, _: object, copied: Any) -> Any:
        return tuple(period for period in asked.part.periods if asked.part.grows.is_closed(period, copied))

    patch.setattr(measuring, "due_periods", to_measure)


def lost_periods_are_measured(patch: pytest.MonkeyPatch) -> None:
    """Measure again what failed after accounts were written."""
    patch.setattr(measuring, "lost_periods", lambda _: frozenset())


def terms_that_do_not_end(patch: pytest.MonkeyPatch) -> None:
    """Measure what is left of a term when nothing of it counts any more."""
    right = Grows.last_moment
    patch.setattr(Grows, "last_moment", lambda grows, term: right(grows, term).replace(year=9999))


def periods_close_early(patch: pytest.MonkeyPatch) -> None:
    """Measure a period before its last rows can have come."""
    patch.setattr(Grows, "is_closed", lambda _, start, at: start <= at.date())


def question_without_its_bound(patch: pytest.MonkeyPatch) -> None:
    """Take what was declared otherwise for the same question."""
    right = StandingPart.identity
    patch.setattr(StandingPart, "identity", lambda part, ledger, kind, _, __: right(part, ledger, kind))


def times_are_clamped(patch: pytest.MonkeyPatch) -> None:
    """Take times beyond the bounds for those of the first period and the last."""
    patch.setattr(StandingPart, "_compared", lambda part, how, day: questions.compared_with(part.by, how, day))


def parts_are_copied_again(patch: pytest.MonkeyPatch) -> None:
    """Copy the rows of kept parts beside them: a unit would have each of its rows twice."""
    patch.setattr(PartsPlan, "missing", None)


def parts_of_another_declaration(patch: pytest.MonkeyPatch) -> None:
    """Keep parts whatever they were made by."""
    right = parts.plan_parts

    def plan_parts(table: Any, types: Any, kept: Any, before: Any, now: Any) -> Any:
        anew = right(table, types, kept, None, now)
        same = before if before is None or anew is None else replace(before, basis=anew.basis)
        return right(table, types, kept, same, now)

    patch.setattr(writing, "plan_parts", plan_parts)


def parts_of_a_wrong_clock(patch: pytest.MonkeyPatch) -> None:
    """Keep parts that were copied when the clock was ahead."""
    patch.setattr(parts, "_fits", lambda *_: True)


def parts_with_units_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """Keep parts of a table whose units another one names, which is of another day."""
    patch.setattr(writing, "whole_because", lambda *_: None)


def parts_of_the_erased(patch: pytest.MonkeyPatch) -> None:
    """Keep parts with the rows of somebody who was erased."""
    patch.setattr(SnapshotDirectory, "is_whole_demanded", False)


def parts_that_cost_as_new(patch: pytest.MonkeyPatch) -> None:
    """Let what reads parts count since the copy was begun that has them."""
    patch.setattr(SnapshotVersion, "read_of", lambda edition, _: edition.read)
