"""Which mistakes there are, and which files of tests are to catch each: the likeliest first, since one failure is enough."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from tests.support import (
    euclidean_mutants,
    key_mutants,
    ledger_mutants,
    lemma_mutants,
    mutants,
    noise_mutants,
    rights_mutants,
    rows_mutants,
    shop_mutants,
    standing_mutants,
    unit_mutants,
    word_mutants,
)
from tests.support.mutants import Break

HARMLESS: Mapping[str, str] = {
    "left_join": "rows without a unit are kept out by a condition, too",
    "overlapping": "a row is in one block whatever the conditions are: it would cost meaning, and no privacy",
    "reuse_across_roles": "the ledger looks for a release by its key and by the kind of unit that it was paid for",
}
"""Mistakes that change nothing of what is released, and why: something else stands beside what is wrong."""
_HEART = (
    "properties/test_mutants.py",
    "trial/test_right.py",
    "queries/test_golden.py",
    "engines/test_same_integers.py",
)
_LEMMAS = ("properties/test_lemma_mutants.py", "properties/test_order.py", *_HEART)
_SHOP = ("trial/test_right.py", "attack/test_rows_of_several_tables.py", "properties/test_shop_generated.py", *_HEART)
_UNITS = ("attack/test_rows_of_units.py", *_SHOP)
_WORDS = ("attack/test_other_words.py", *_SHOP)
_LAWS = (
    "privacy/mechanisms/test_known_mechanisms.py",
    "privacy/mechanisms/test_independence.py",
    "privacy/mechanisms/test_discrete_laplace.py",
    "audit/test_canaries.py",
)
_KEYS = (
    "privacy/mechanisms/test_threshold.py",
    "privacy/mechanisms/test_gaussian_selection.py",
    "privacy/mechanisms/test_partition_selection.py",
    "audit/test_keys.py",
)
_PAID = ("gateway/test_gateway.py", "gateway/test_paying.py", "audit/test_transcripts.py")
_LEDGER = ("accounting/test_balance.py", "accounting/sql/test_ledger.py", *_PAID)
_FAILING = ("gateway/test_failing.py", "accounting/test_failures.py", *_LEDGER)
_STANDING = (
    "standing/test_histories.py",
    "gateway/test_standing.py",
    "accounting/sql/test_standing.py",
    "gateway/test_standing_reading.py",
    "gateway/test_standing_forgotten.py",
)
_REUSE = (
    "gateway/test_gateway.py",
    "gateway/test_editions.py",
    "accounting/sql/test_ledger.py",
    "audit/test_transcripts.py",
)
_EUCLIDEAN = (
    "properties/test_euclidean.py",
    "properties/test_lengths.py",
    "privacy/mechanisms/test_gaussian.py",
    "gateway/test_counting_rho.py",
)
FILES: Mapping[ModuleType, Sequence[str]] = {
    euclidean_mutants: _EUCLIDEAN,
    mutants: _HEART,
    key_mutants: ("properties/test_mutants.py", "audit/test_keys.py", *_HEART),
    lemma_mutants: _LEMMAS,
    shop_mutants: _SHOP,
    unit_mutants: _UNITS,
    word_mutants: _WORDS,
    noise_mutants: _LAWS,
    rights_mutants: ("attack/test_rights.py", "queries/test_rights.py"),
    ledger_mutants: _LEDGER,
    standing_mutants: _STANDING,
    rows_mutants: ("properties/test_heavy_rows.py", "trial/test_mutants.py"),
}
"""By the module of a mistake."""
_PARTS = ("engines/test_snapshot_parts.py", "gateway/test_standing.py", "gateway/test_standing_forgotten.py")
OWN: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        (
            "parts_are_copied_again",
            "parts_of_another_declaration",
            "parts_of_a_wrong_clock",
            "parts_with_units_elsewhere",
            "parts_that_cost_as_new",
        ),
        _PARTS,
    ),
    "parts_of_the_erased": _PARTS[::-1],
    **dict.fromkeys(
        (
            "threshold_by_one",
            "selection_by_one",
            "least_sigma_of_all_delta",
            "delta_for_each_key",
            "keys_by_their_units",
            "no_noise_on_keys",
        ),
        _KEYS,
    ),
    "remainders_that_lean": ("privacy/mechanisms/test_entropy.py",),
    "no_noise_on_cells": ("privacy/release/test_noisy_ladder.py", "privacy/mechanisms/test_independence.py"),
    **dict.fromkeys(("half_scale_of_shares", "half_scale_of_ladders"), ("privacy/release/test_cells.py",)),
    "ladders_are_forgotten": ("gateway/test_chosen_bounds.py",),
    "all_of_delta_for_rho": ("accounting/test_privacy_filter.py",),
    "choice_of_half": ("privacy/mechanisms/test_quantile.py", "audit/test_choices.py"),
    **dict.fromkeys(
        ("noise_of_a_seed", "noise_once_more"), ("gateway/test_together.py", *_PAID, "audit/test_canaries.py")
    ),
    **dict.fromkeys(("all_of_epsilon_for_each", "free_delta", "half_price"), _PAID),
    **dict.fromkeys(
        ("not_durable",),
        ("accounting/sqlite/test_group_commit.py", "accounting/sqlite/test_file.py", *_LEDGER),
    ),
    "charged_after_run": ("gateway/test_stages.py", "gateway/test_ready.py", *_PAID),
    **dict.fromkeys(("failures_are_forgotten", "accounts_stay_open", "failures_do_not_count"), _FAILING),
    **dict.fromkeys(
        ("forms_are_refused_to_nobody", "bugs_do_not_count", "nothing_is_run_through"),
        ("attack/test_closed_accounts.py",),
    ),
    **dict.fromkeys(
        ("epoch_forgotten", "epochs_never_end", "free_for_others", "reuse_across_policies", "reuse_at_any_price"),
        _REUSE,
    ),
    "declared_is_kept": ("gateway/reuse/test_dirty.py",),
    "answers_move": ("gateway/reuse/test_rules.py",),
    "read_too_late": (
        "accounting/sql/test_window.py",
        "gateway/test_paying.py",
        "gateway/test_gateway.py",
        "gateway/test_stages.py",
    ),
    **dict.fromkeys(("charges_are_forgotten", "spending_of_today"), ("accounting/test_running_totals.py", *_LEDGER)),
    **dict.fromkeys(
        ("window_of_a_day_less", "read_before_midnight"),
        ("accounting/test_sliding.py", "accounting/sql/test_window.py"),
    ),
    "copies_are_read_today": ("gateway/test_editions.py",),
    "lost_ledgers_are_new": ("accounting/test_mark.py", "accounting/sqlite/test_file.py"),
    "dearest_alone": ("accounting/test_composition.py", *_LEDGER),
    **dict.fromkeys(("noise_only_for_rows", "the_exact_count_decides"), ("audit/test_transcripts.py", *_LEMMAS)),
    "nothing_is_tried": ("trial/test_ending.py", "trial/test_right.py"),
    "all_optimizers": ("engines/test_optimizers.py",),
    "all_switches": ("engines/test_pg_session.py",),
    "any_version": ("engines/test_admitted.py",),
}
"""By name, for those that other files catch than their module's."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake."""

    name: str
    put_in: Break
    files: Sequence[str]
    """Below `tests`."""


def _found() -> Iterator[Mistake]:
    for module, files in FILES.items():
        for name, put_in in vars(module).items():
            own = getattr(put_in, "__module__", "") == module.__name__ and not name.startswith("_")
            if own and getattr(put_in, "__annotations__", {}).keys() == {"patch", "return"} and name not in HARMLESS:
                yield Mistake(name, put_in, tuple(dict.fromkeys(OWN.get(name, files))))


MISTAKES: Mapping[str, Mistake] = {mistake.name: mistake for mistake in _found()}
"""By name."""
