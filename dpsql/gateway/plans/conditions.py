"""Whether the conditions of roles can be asked under, decided before anything serves: no record is read."""

from collections.abc import Iterator
from dataclasses import replace

from dpsql.errors import ConfigError, DpsqlError
from dpsql.gateway.plans.views import tracked_relations
from dpsql.policy.model import Policy, Role, TableName
from dpsql.rewrite.analysis.bounds import assumed, facts
from dpsql.rewrite.analysis.narrowing import narrowed
from dpsql.rewrite.bind.reading import BoundReader, PlanningShadow, is_moving
from dpsql.rewrite.ir.expr import TRUE, conjuncts, refs
from dpsql.rewrite.syntax.whole.analyze import analyze, tokens_of
from dpsql.rewrite.syntax.whole.conditions import bound_conditions


def with_checked_conditions(policy: Policy, shadow: PlanningShadow) -> Policy:
    """Return the policy with its roles' conditions bound, which the shadow has taken.

    Raises:
        ConfigError: with a line for each that can't be read, or under which nothing can be asked.
    """
    policy = bound_conditions(policy, BoundReader(shadow))
    wrong = sorted(line for role in policy.roles.values() for line in _wrong(role, policy, shadow))
    if wrong:
        raise ConfigError("\n".join(wrong), hint="docs/configuration.md says what a condition may be.")
    return policy


def _wrong(role: Role, policy: Policy, shadow: PlanningShadow) -> Iterator[str]:
    """Yield the mistakes in a role's conditions, each by itself."""
    for table, condition in role.where.items():
        if is_moving(tokens_of(condition.text) or ()):
            yield f"{condition.place}: names a time that moves; write a date, or let a column say it"
            continue
        alone = replace(role, tables=None, columns={}, where={table: condition})
        try:
            decided = _decided(table, alone, policy, shadow)
        except DpsqlError as failed:
            yield f"{condition.place}: {failed.message}"
        else:
            if decided is not None:
                yield f"{condition.place}: holds of {decided} row, by the bounds and values that {table} declares"


def _decided(table: str, role: Role, policy: Policy, shadow: PlanningShadow) -> str | None:
    """Return of which rows a condition holds, where that is known without any: every, or no."""
    analyzed = analyze(f"SELECT count(*) FROM {TableName.of(table).called}", policy, BoundReader(shadow))  # noqa: S608  # a name only
    assert analyzed is not None
    ((relation, declared),) = tracked_relations(analyzed, policy, role, shadow)
    condition = relation.condition
    env = declared.env(refs(condition))
    if narrowed(refs(condition), condition, declared) is None:
        return "no"
    fails = any(assumed(part, env, holds=False, chosen=False)[1] for part in conjuncts(condition))
    return None if (fails and condition != TRUE) or facts(condition, env).nullable else "every"
