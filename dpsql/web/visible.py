"""The budgets and questions that a visitor may see: the one place that decides it."""

from dpsql.policy.model import Policy, Role


def visible(policy: Policy, role: Role) -> tuple[Role, ...]:
    """Return the roles whose charges a role may see: every one for an owner, and else its own."""
    return tuple(policy.roles.values()) if role.owner else (role,)
