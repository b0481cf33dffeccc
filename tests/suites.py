"""Which suites `make test` leaves to `make test-long`: files, rooms or tests, by the beginning of their names.

`make test` is for whoever has just changed a line: each room's own tests, golden statements on one engine, neighbours,
transcripts and attacks, in a few minutes. What starts servers and kills them, compares hundreds of statements with
PostgreSQL, or draws thousands of examples is here. docs/development.md says what is in each.
"""

LONG = """
accounting/postgres accounting/sql/test_window accounting/sqlite/test_trouble
agents
attack/test_agents attack/test_catalogue attack/test_frozen attack/test_growing attack/test_long_conditions
attack/test_one_analyst attack/test_rights attack/test_superuser
attack/test_statements::test_rows_that_fail_where_make_nothing_overflow
audit/test_canaries audit/test_keys audit/test_transcripts::test_what_is_wrong
benchmarks canaries
cli/test_five_schemas cli/test_init cli/test_planned cli/test_plot_command cli/test_profile
cli/test_schemas_later cli/test_user
demo/test_growing
clients
docs/test_configuration_page docs/test_deploy docs/test_examples docs/test_helpers_page docs/test_sessions
docs/test_reader::test_what_is_said_of_tests docs/test_site docs/test_thirty_minutes
engines/test_any_expression engines/test_both_engines engines/test_database_values engines/test_declared_otherwise
engines/test_heavy_rows
engines/test_narrowing engines/test_same_integers engines/test_schemas engines/test_snapshot engines/test_spark
engines/test_spill engines/test_total_forms
epsilon/test_advice_by_brute_force epsilon/test_outputs epsilon/test_total_rule
faults flights
gateway/reuse/test_contained::test_what_no_release_says_is_charged gateway/reuse/test_dashboard
gateway/reuse/test_meaning gateway/reuse/test_nothing_else_is_read gateway/reuse/test_shop gateway/test_aiming
gateway/test_computed_margins::test_margins_cover_what_a_chosen_bound_cuts
gateway/test_cut gateway/test_distinct_counts gateway/test_kill gateway/test_known_rows gateway/test_min_units
gateway/test_previews gateway/test_public_values gateway/test_remembered gateway/test_served
gateway/test_standing_transcripts::test_no_year gateway/test_together
gateway/test_values_of_one_row gateway/test_views
lists metrics
policy/test_load_any_text
privacy/accuracy privacy/mechanisms/test_entropy privacy/mechanisms/test_independence
privacy/mechanisms/test_quantile_width privacy/mechanisms/test_threshold privacy/release/test_noisy_ladder
privacy/mechanisms/test_extreme
properties/test_any_statement properties/test_compared_once properties/test_finer_buckets properties/test_heavy_rows
properties/test_lemma_mutants::test_what_is_right properties/test_messages properties/test_names_of_columns
properties/test_json properties/test_order properties/test_prepared properties/test_shop properties/test_transcripts
properties/test_types properties/test_weighed properties/test_wide properties/test_chosen_bounds::test_a_large_bound
properties/test_chosen_bounds::test_no_unit_moves_statistics
properties/test_chosen_bounds::test_no_unit_moves_what_is_measured properties/test_chosen_bounds::test_nor_
queries/test_any_ queries/test_date_styles queries/test_forms queries/test_found_types queries/test_golden_prepared
queries/test_keys_that_occur queries/test_names queries/test_nearest queries/test_respelled queries/test_rights
queries/test_rounding queries/test_shells queries/test_shop queries/test_spark queries/test_spellings
queries/test_types queries/test_zones
rewrite/emit/test_halving rewrite/emit/test_outermost rewrite/syntax/test_forms rewrite/translate/test_every_class
rewrite/translate/values/test_context
shadow/test_binder::test_what_takes_long shadow/test_left_behind shadow/test_oracle_hangs shadow/test_place
shadow/test_priorities shadow/test_uninterrupted shadow/test_warden
test_collector test_frames test_local test_noising test_parallel test_quiet_end test_retired test_snapshot_keeper
test_watchdog
trial/test_admission trial/test_changed_texts trial/test_trial_engine trial/test_json trial/test_mutants
trial/test_right::test_statements_over_the_shop trial/test_second_reading trial/test_spark trial/test_subject trial/test_types
web/test_visits web/test_whole
wire/server wire/test_bound_paths wire/test_half_closed wire/test_hostile wire/test_kept wire/test_limits wire/test_pipelines
wire/test_reading wire/test_refusals wire/test_same_as_plain wire/test_timeouts wire/test_vanished
""".split()
"""What `make test-long` has, but for what is in `SHORT`."""

SHORT = (
    "accounting/postgres/test_store",
    "clients/test_matrix::test_driver_does_what_the_page_says[psycopg 3]",
    "clients/test_psql",
    "docs/test_sessions::test_sessions_are_as_psql_shows_them[README",
    "faults/test_life::test_kill_loses_nothing",
)
"""What `make test` has nevertheless: a ledger on PostgreSQL, a driver, psql, README's session, a kill."""

FIRST = """
faults/test_chaos properties/test_shop_generated queries/test_golden properties/test_sensitivity
attack/test_hidden_statements audit/test_transcripts queries/test_spark queries/test_types clients/test_matrix
audit/test_canaries faults/test_life engines/test_total_forms properties/test_prepared
faults/test_statement_timeout lists/test_benchmarks docs/test_examples flights/test_flights faults/test_stalls
properties/test_shop engines/test_snapshot attack/test_statements properties/test_order web/test_visits
faults/test_strangers audit/test_keys gateway/test_aiming properties/test_shop_transcripts
faults/test_processes privacy/mechanisms/test_discrete_laplace test_layers test_local
queries/test_keys_that_occur engines/test_same_integers privacy/accuracy/test_margin engines/test_spill
policy/test_load_mistakes clients/test_not_for_nothing gateway/test_kill properties/test_mutants
queries/test_shop test_parallel privacy/mechanisms/test_gaussian_selection wire/server/test_login_throttle
faults/test_cancel wire/test_hostile queries/test_shells properties/test_weighed shadow/test_place
test_snapshot_keeper properties/test_lemma_mutants rewrite/translate/test_every_class wire/test_limits
shadow/test_nothing_fails privacy/mechanisms/test_extreme queries/test_any_statement_means web/test_login
faults/test_certificates faults/test_reload_under_load queries/test_rights
faults/test_process_numbers plots/test_gallery wire/test_timeouts faults/test_outages
""".split()
"""The files whose tests take longest, which are begun first, so that none is left alone at the end."""


def is_long(nodeid: str) -> bool:
    """Return whether a test, by the name that pytest gives it, is left to `make test-long`."""
    name = nodeid.removeprefix("tests/").replace(".py::", "::", 1)
    return name.startswith(tuple(LONG)) and not name.startswith(SHORT)


def rank(nodeid: str) -> int:
    """Return the place of a test's file in the order of beginning."""
    return _RANKS.get(nodeid.partition("::")[0], len(_RANKS))


_RANKS = {f"tests/{name}.py": place for place, name in enumerate(FIRST)}
