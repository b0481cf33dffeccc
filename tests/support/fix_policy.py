"""The tests' policy: the demo's tables, and one more with every type; budgets so large that they never end."""

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.policy.load import load
from dpsql.policy.model import Policy, Privacy, Reuse, RoleLimits, Table
from tests.support.demo_schemas import copy_with_numbers
from tests.support.schema import are_meant, configured, of, put_apart

NO_NOISE = Fraction(10**12)
"""An ε at which noise is far below one row and below the last digit that is shown."""

_LEAST = Fraction(1, 10**6)
_MANY = RoleLimits(runs=10**9)

_CONFIG = """\
dataset: taxi
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
refresh: daily
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  passenger: {epsilon: 1e30, delta: 0.5}
  driver: {epsilon: 1e30}
roles:
  owner: {protects: passenger, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}}
  clamped: {protects: passenger, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}, clamp: true, tables: [trips]}
  narrow: {protects: passenger, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}, tables: [card_rides, card_zones]}
  third_party: {protects: driver, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}}
  auditor: {protects: passenger, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}, mechanism: laplace}
  explorer: {protects: passenger, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
users: {}
"""


def read_policy(directory: Path) -> Policy:
    """Return `trips`, `zones` (as in the demo) and `rides`, and views of them; the files are put together in `directory`.

    But for `max_rows`, which are numbers here.
    """
    copy_with_numbers(directory / "schemas")
    shutil.copy(Path(__file__).parent.parent / "schemas" / "rides.yaml", directory / "schemas")
    shutil.copytree(Path(__file__).parent.parent / "schemas" / "views", directory / "schemas", dirs_exist_ok=True)
    put_apart(directory / "schemas")
    (directory / "config.yaml").write_text(configured(_CONFIG), encoding="utf-8")
    policy = load(directory / "config.yaml").policy
    roles = {name: replace(role, least=_LEAST, limits=_MANY) for name, role in policy.roles.items()}
    return replace(policy, roles=roles)


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """The tests' policy."""
    return read_policy(tmp_path_factory.mktemp("policy"))


def with_rows(policy: Policy, table: str, kind: str, most: int) -> Policy:
    """Return the policy with another `max_rows`."""
    old = policy.tables[of(table)]
    units = {**old.units, kind: replace(old.units[kind], max_rows=most, max_groups=None)}
    return replace(policy, tables={**policy.tables, old.name: replace(old, units=units)})


def with_chosen_rows(policy: Policy, table: str, kind: str, up_to: int = 2**20, most: int = 20) -> Policy:
    """Return the policy with `max_rows: auto`; `most` is what C is taken for until it is chosen."""
    old = policy.tables[of(table)]
    units = {**old.units, kind: replace(old.units[kind], max_rows=most, max_groups=None, up_to=up_to)}
    return replace(policy, tables={**policy.tables, old.name: replace(old, units=units)})


def without_reuse(policy: Policy) -> Policy:
    """Return the policy under which all is measured that was not asked before in the same way."""
    roles = {name: replace(role, reuse=Reuse.OFF) for name, role in policy.roles.items()}
    return replace(policy, roles=roles)


def of_unknown_size(policy: Policy, table: str) -> Policy:
    """Return the policy that does not say how many rows to expect: sums beside counts are then weighed like these."""
    of_any_size = replace(policy.tables[of(table)], expected_rows=None)
    return replace(policy, tables={**policy.tables, of_any_size.name: of_any_size})


def with_epsilon(policy: Policy, epsilon: Fraction) -> Policy:
    """Return the policy with another ε for every question of every role."""
    roles = {
        name: replace(role, per_query=Privacy(epsilon, role.per_query.delta)) for name, role in policy.roles.items()
    }
    return replace(policy, roles=roles)


def protected(policy: Policy) -> tuple[Table, ...]:
    """Return the tables with records."""
    return tuple(table for table in are_meant(policy.tables.values()) if not table.public)


def counting_rho(policy: Policy, *names: str) -> Policy:
    """Return the policy in which some roles, and what all roles may spend of the kinds that they protect, count ρ."""
    roles = {
        name: replace(role, budget=replace(role.budget, total=_CONCENTRATED, concentrated=_CONCENTRATED.delta))
        for name, role in policy.roles.items()
        if name in names
    }
    kinds = {role.protects for role in roles.values()}
    budgets = {
        kind: replace(budget, total=_CONCENTRATED, concentrated=_CONCENTRATED.delta) if kind in kinds else budget
        for kind, budget in policy.budgets.items()
    }
    return replace(policy, roles={**policy.roles, **roles}, budgets=budgets)


_CONCENTRATED = Privacy(Fraction(10**9), Fraction(1, 10**6))
