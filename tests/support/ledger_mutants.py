"""Mistakes in what is remembered and in what is asked when, each as a patch: ledger, reuse, order of stages, engines."""

from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from dpsql.accounting import balance, privacy_loss
from dpsql.accounting.balance import PrivacyFilter
from dpsql.accounting.sliding import ReadDays, SlidingTotal
from dpsql.accounting.sql import lines, releases
from dpsql.accounting.sql import opening as sql_opening
from dpsql.accounting.sql.balances import RunningTotals
from dpsql.accounting.sql.releases import StoredItem
from dpsql.accounting.sqlite.ledger import GroupCommit, SqliteLedger
from dpsql.accounting.zcdp import rho_within
from dpsql.engines import connect
from dpsql.engines.base import SnapshotVersion
from dpsql.engines.duckdb import opening
from dpsql.engines.postgres import pool
from dpsql.gateway import gateway, measuring
from dpsql.gateway.measuring import Measuring, PaidPlan, ReadyPlan
from dpsql.policy.model import Privacy
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.rewrite.analysis import same_rows
from dpsql.trial.trial import StatementTrial


def not_durable(patch: pytest.MonkeyPatch) -> None:
    """Take a charge for written before the disk has it."""
    patch.setattr(GroupCommit, "sync", lambda _: None)


def charges_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Count nothing of what was charged."""
    patch.setattr(RunningTotals, "enter", lambda *_: None)


def charged_after_run(patch: pytest.MonkeyPatch) -> None:
    """Ask the engine while it is made ready, before anything is paid."""
    right = ReadyPlan.prepare

    def prepare(plan: ReadyPlan, missing: AbstractSet[str]) -> None:
        right(plan, missing)
        for part in plan.priced.measurements:
            if plan.keys[part.identity] in missing:
                plan.prepared[plan.keys[part.identity]].run(part.sql, None)  # type: ignore[arg-type]

    patch.setattr(ReadyPlan, "prepare", prepare)


def failures_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Let whoever asks again what has failed hear something else."""

    def failing_alike(_: PaidPlan, __: object) -> Any:
        return ExitStack()

    patch.setattr(PaidPlan, "failing_alike", failing_alike)


def accounts_stay_open(patch: pytest.MonkeyPatch) -> None:
    """Close no account, whatever fails."""
    patch.setattr(lines, "is_closed", lambda *_: False)


def failures_do_not_count(patch: pytest.MonkeyPatch) -> None:
    """Count no failure of the engine's."""
    patch.setattr(lines, "_failures", lambda *_: 0)


def forms_are_refused_to_nobody(patch: pytest.MonkeyPatch) -> None:
    """Let a role that has met a bug try it with other constants."""
    patch.setattr(releases, "refuse_broken_forms", lambda *_: None)


def bugs_do_not_count(patch: pytest.MonkeyPatch) -> None:
    """Close no account for bugs."""
    patch.setattr(lines, "_MOST_BROKEN", 10**9)


def nothing_is_run_through(patch: pytest.MonkeyPatch) -> None:
    """Meet the mistakes of release and read-out after the engine was asked."""
    patch.setattr(gateway, "run_through", lambda *_: None)


def epoch_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Answer a new epoch's questions with an old one's releases."""
    right = Measuring._key
    patch.setattr(Measuring, "_key", lambda m, part, asker, _, kept_keys: right(m, part, asker, 0, kept_keys))


def epochs_never_end(patch: pytest.MonkeyPatch) -> None:
    """Begin no epoch."""
    patch.setattr(SqliteLedger, "_next_epoch", lambda *_: 1)


def reuse_across_roles(patch: pytest.MonkeyPatch) -> None:
    """Answer a role with what was released to one that protects another kind of unit."""
    right = Measuring._key

    def key(m: Measuring, part: Any, asker: Any, epoch: int, kept_keys: Any) -> str:
        kinds = {role: replace(each, protects="") for role, each in m.policy.roles.items()}
        return right(replace(m, policy=replace(m.policy, roles=kinds)), part, asker, epoch, kept_keys)

    patch.setattr(Measuring, "_key", key)


def free_for_others(patch: pytest.MonkeyPatch) -> None:
    """Show a role for nothing what another one has paid for."""
    right = releases.find_stored

    def find_stored(*args: Any) -> StoredItem:
        item = right(*args)
        return replace(item, paid=item.stored)

    patch.setattr(releases, "find_stored", find_stored)


def reuse_across_policies(patch: pytest.MonkeyPatch) -> None:
    """Answer with what was released under other bounds."""
    right = Measuring._key

    def key(m: Measuring, part: Any, asker: Any, epoch: int, kept_keys: Any) -> str:
        return right(replace(m, policy=replace(m.policy, fingerprint="")), part, asker, epoch, kept_keys)

    patch.setattr(Measuring, "_key", key)


def reuse_at_any_price(patch: pytest.MonkeyPatch) -> None:
    """Answer with what was released at another ε."""
    right = Measuring._key
    price = Fraction(1)
    patch.setattr(
        Measuring,
        "_key",
        lambda m, part, asker, epoch, kept_keys: right(m, part.paying(price), asker, epoch, kept_keys),
    )


def declared_is_kept(patch: pytest.MonkeyPatch) -> None:
    """Read answers off others as if every row had all that is declared."""
    patch.setattr(same_rows, "_may_leave_out", lambda *_: False)


def answers_move(patch: pytest.MonkeyPatch) -> None:
    """Read an answer off the best that there is, each time it is asked for."""
    patch.setattr(releases, "find_readings", lambda *_: {})
    patch.setattr(releases, "keep_readings", lambda _, __, readings: readings)


def ladders_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Answer with what was released for a C that another ladder chose."""
    patch.setattr(PricedMeasurement, "read", property(lambda part: part.awaits))


def read_too_late(patch: pytest.MonkeyPatch) -> None:
    """Read records long after the charge that has to cover them."""
    patch.setattr(measuring, "READ_WITHIN", timedelta(days=10_000))


def delta_without_end(patch: pytest.MonkeyPatch) -> None:
    """Look at ε alone where a budget is compared."""
    right = balance._shortfall

    def shortfall(budget: PrivacyFilter, costs: Any) -> str | None:
        return right(replace(budget, total=Privacy(budget.total.epsilon, Fraction(1))), costs)

    patch.setattr(balance, "_shortfall", shortfall)


def all_of_delta_for_rho(patch: pytest.MonkeyPatch) -> None:
    """Let the sum of ρ have all of δ, and the charges' own part of it once more."""
    right = PrivacyFilter.limit
    assert isinstance(right, property)
    assert right.fget is not None
    whole = right.fget

    def limit(budget: PrivacyFilter) -> Privacy:
        if budget.concentrated is None:
            return whole(budget)
        return Privacy(rho_within(budget.total.epsilon, budget.total.delta), whole(budget).delta)

    patch.setattr(PrivacyFilter, "limit", property(limit))


def budget_without_end(patch: pytest.MonkeyPatch) -> None:
    """Refuse nothing for what was spent."""
    patch.setattr(balance, "_shortfall", lambda *_: None)


def dataset_without_end(patch: pytest.MonkeyPatch) -> None:
    """Look at a role's budget alone."""
    patch.setattr(balance, "_afford_of_dataset", lambda *_: None)


def dearest_alone(patch: pytest.MonkeyPatch) -> None:
    """Take the largest of several losses for all of them."""

    def compose(losses: Any) -> Privacy:
        listed = [*losses]
        return Privacy(
            max((loss.epsilon for loss in listed), default=Fraction(0)),
            max((loss.delta for loss in listed), default=Fraction(0)),
        )

    patch.setattr(privacy_loss, "compose", compose)
    patch.setattr(balance, "compose", compose)


def spending_of_today(patch: pytest.MonkeyPatch) -> None:
    """Forget what a role has spent."""
    patch.setattr(RunningTotals, "by_role", lambda *_: Privacy(Fraction(0), Fraction(0)))


def window_of_a_day_less(patch: pytest.MonkeyPatch) -> None:
    """Let a charge count for less than a person stays."""
    right = SlidingTotal.fullest
    patch.setattr(SlidingTotal, "fullest", lambda total, read, window: right(total, read, window - 1))


def copies_are_read_today(patch: pytest.MonkeyPatch) -> None:
    """Take what a copy's statement reads for the records as they are now."""
    patch.setattr(SnapshotVersion, "read_of", lambda *_: None)


def read_before_midnight(patch: pytest.MonkeyPatch) -> None:
    """Leave out that a measurement may read records an hour after its charge."""
    patch.setattr(ReadDays, "of_now", classmethod(lambda cls, charged: cls(charged.date(), charged.date())))


def lost_ledgers_are_new(patch: pytest.MonkeyPatch) -> None:
    """Begin anew where a ledger is gone."""
    patch.setattr(sql_opening, "read_mark", lambda *_: None)


def nothing_is_tried(patch: pytest.MonkeyPatch) -> None:
    """Believe the engine, and every proof."""
    patch.setattr(StatementTrial, "see", lambda *_: None)


def all_optimizers(patch: pytest.MonkeyPatch) -> None:
    """Let DuckDB change statements in every way that it knows."""
    patch.setattr(opening, "other_optimizers", lambda *_: "")


def all_switches(patch: pytest.MonkeyPatch) -> None:
    """Let PostgreSQL plan statements in every way that it knows."""
    patch.setattr(pool, "without_switches", lambda *_: "")


def any_version(patch: pytest.MonkeyPatch) -> None:
    """Believe engines that nobody has tried."""
    patch.setattr(connect, "require_admitted", lambda *_, **__: None)
