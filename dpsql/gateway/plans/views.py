"""Whether the policy's views can be asked about at all, found out before anything serves: no record is read.

What PostgreSQL has to say of their queries it says when the shadow makes them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from dpsql.errors import ConfigError, DpsqlError, InternalError
from dpsql.gateway.plans.planning import Planner
from dpsql.policy.config import Config
from dpsql.policy.model import Policy, Role
from dpsql.policy.view import View
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.question import ColumnDescription
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.whose.owners import owners
from dpsql.rewrite.ir.facts import Facts
from dpsql.rewrite.ir.spelled import quoted_name
from dpsql.rewrite.syntax.read.parse import parsed
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement, analyze
from dpsql.rewrite.syntax.whole.found import Kind
from dpsql.rewrite.syntax.whole.views import columns_of, with_views


class _ShadowNeededError(Exception):
    """There are constants to evaluate, for which the shadow has to be there."""


class _NoShadow:
    """A `PlanningShadow` that evaluates nothing."""

    volatile = False
    time_zone = "UTC"
    dates_in_iso = True

    def constant(self, *_: object) -> NoReturn:
        """Give up."""
        raise _ShadowNeededError

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> NoReturn:
        """Give up."""
        _ = query, types, again
        raise _ShadowNeededError

    column = rows = over = constant

    def described(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Say nothing of the columns: nothing here depends on them."""
        _ = types
        return ((),) * len(queries)


def with_checked_views(config: Config) -> Config:
    """Return the configuration with the queries of its views read.

    Raises:
        ConfigError: with a line for each that can't be read or asked about: file, line, view and reason.
    """
    policy = with_views(config.policy)
    found = [(view, reason) for view in policy.views.values() if (reason := _unanswerable(view, policy)) is not None]
    if found:
        lines = (f'{view.file}:{view.line}: view: "{view.name}" can\'t be asked about: {why}' for view, why in found)
        raise ConfigError("\n".join(sorted(lines)), hint="docs/configuration.md says what a view may be.")
    return replace(config, policy=policy)


def _unanswerable(view: View, policy: Policy) -> str | None:
    """Return why nobody can ask about a view; None if some role can, or it is public."""
    if view.public:
        return None
    reasons = []
    for kind in sorted({role.protects for role in policy.roles.values()}):
        role = next(role for role in policy.roles.values() if role.protects == kind)
        try:
            _ask(view, replace(policy, roles={}), replace(role, tables=None))
        except _ShadowNeededError:
            return None
        except DpsqlError as failed:
            reasons.append(failed.message)
        else:
            return None
    return reasons[0] if reasons else None


def _ask(view: View, policy: Policy, role: Role) -> None:
    """Follow a question about all columns of a view as far as whose its rows are."""
    columns = columns_of(view, policy)
    outputs = ", ".join(f"count({quoted_name(name)})" for name in columns)
    for text in (
        f"SELECT {outputs or 'count(*)'} FROM {quoted_name(view.name)}",  # noqa: S608  # names in quotes
        f"SELECT * FROM {quoted_name(view.name)}",  # noqa: S608
    ):
        analyzed = analyze(text, policy, parsed)
        if analyzed is not None and analyzed.kind is Kind.ANSWER:
            _follow(analyzed, policy, role)
            return
        if analyzed is not None and analyzed.refusal is not None:
            raise analyzed.refusal.error()
    raise InternalError


def _follow(analyzed: AnalyzedStatement, policy: Policy, role: Role) -> None:
    unknown = {
        (table.name, name): Facts(nullable=True, interval=None)
        for table in policy.tables.values()
        if table.public
        for name in table.columns
    }
    keys = {table.name: table.keys for table in policy.tables.values()}
    unique = keys.__getitem__
    context = PlanningContext(role, Declared(unknown), {}, unique, policy.tables)
    planner = Planner(policy, context, _NoShadow())
    resolved = planner.resolve(analyzed, ())
    for _, scopes in planner.track(resolved, ()).queries:
        for scope in scopes:
            owners(scope.relation, role.protects, policy.tables, unique)
