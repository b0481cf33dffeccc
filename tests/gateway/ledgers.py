"""Policies with other amounts, and what a ledger says was paid."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.accounting.ledger import Entry
from dpsql.policy.model import Policy, Privacy, Role
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client


def costs(client: Client) -> list[Fraction]:
    """Return what was charged, oldest first."""
    return [entry.cost.epsilon for entry in entries(client)][::-1]


def entries(client: Client) -> Sequence[Entry]:
    """Return the ledger's lines."""
    return client.ledger.entries(None, 1000)


def with_total(policy: Policy, questions: int) -> Policy:
    """Return the policy with budgets for so many questions at ε = 1."""
    policy = with_epsilon(policy, Fraction(1))

    def limited(role: Role) -> Role:
        return replace(role, budget=replace(role.budget, total=Privacy(Fraction(questions))))

    return replace(policy, roles={name: limited(role) for name, role in policy.roles.items()})


def with_least(policy: Policy, least: Fraction | None) -> Policy:
    """Return the policy with ε = 1 for a statement and another least for a measurement."""
    policy = with_epsilon(policy, Fraction(1))
    return replace(policy, roles={name: replace(role, least=least) for name, role in policy.roles.items()})
