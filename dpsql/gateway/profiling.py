"""The profile of a unit kind: the measurements of whole tables, once an epoch, and the facts that follow from them.

SELECT dpsql.take_profile()  measures and pays for the caller's role; what comes of it stands in `dpsql.profile` and
`dpsql.columns`, and tells what a declared C takes off. No release depends on it: other roles may be told the same ones.

Each table of the kind has a part of the ε for the rows of its units, and one for its values beyond bounds, so that all roles
of the kind share releases, whichever tables they may use: a role pays for those of its own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.privacy_loss import compose, equal_share, show_down
from dpsql.errors import Unsupported
from dpsql.gateway.measuring import Measuring
from dpsql.gateway.plans.statement_plan import StatementPlan
from dpsql.gateway.pricing import PricedPlan
from dpsql.gateway.request import ProfileStatement, Request
from dpsql.policy.model import Column, Policy, Role, Table, TableName
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.plan import Searched
from dpsql.privacy.measurement.pricing import PricedScope, outside_of, search_of
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.draws import Draws
from dpsql.privacy.release.profile import NOTHING_KNOWN, Profile
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.syntax.whole.analyze import tokens_of
from dpsql.shadow.splice import shadow_literal

_NAMED = "take_profile"
_ASKED = re.compile(
    r'(EXPLAIN (?:VERBOSE |\( [^()]* \) )*)?SELECT "?dpsql"? \. "?take_profile"? \( \)( ;)*', re.IGNORECASE
)
_LADDER = 1 << 20
"""The most rows that a unit is taken to have where the policy says nothing of a table's size."""


def profile_statement(text: str) -> ProfileStatement | None:
    """Return the statement if it takes the profile, or explains that, else None; comments of tools do not count."""
    if _NAMED not in text.lower():
        return None
    asked = _ASKED.fullmatch(" ".join(token.text for token in tokens_of(text) or ()))
    return None if asked is None else ProfileStatement(asked[1] or "")


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """The measurements of a role's profile, by the table that they are of."""

    tables: Mapping[str, PricedScope]

    @property
    def priced(self) -> PricedPlan:
        """Return them as one plan, measured and paid for together."""
        return PricedPlan(StatementPlan((), ("",)), tuple(self.tables.values()))

    def reply(self) -> str:
        """Return the statement that says that the profile was taken."""
        cost = show_down(compose(part.cost for part in self.priced.measurements).epsilon)
        said = f"the profile is taken, for ε = {cost} once an epoch; dpsql.profile has it"
        return f"SELECT {shadow_literal(said)}::text AS take_profile"  # a literal only

    def read(self, stored: Mapping[str, bytes]) -> Profile:
        """Return the profile by the releases that are there, by the measurements' identities."""
        profile = NOTHING_KNOWN
        for table, scope in self.tables.items():
            for part in scope.parts:
                release, measured = stored.get(part.identity), part.measurement
                if release is not None and isinstance(measured, Searched):
                    profile = profile.with_release(table, part.identity, measured, release)
        return profile


class Profiles:
    """The profiles of all roles."""

    def __init__(
        self, policy: Policy, measuring: Measuring, planned: Callable[[str, Request], PricedPlan], emitter: Emitter
    ) -> None:
        """Plan with `planned`, which plans a statement for a client that asks something else."""
        self._policy, self._measuring, self._planned, self._emitter = policy, measuring, planned, emitter
        self._plans: dict[str, ProfilePlan] = {}

    def plan(self, request: Request) -> ProfilePlan:
        """Return what the profile of the asker's role measures.

        Raises:
            Unsupported: the policy has no profile for the role's unit kind.
        """
        role = self._policy.roles[request.asker.role]
        plan = self._plans.get(role.name)
        if plan is None:
            plan = profile_plan(self._policy, role, lambda text: self._planned(text, request), self._emitter)
            self._plans[role.name] = plan
        return plan

    def of(self, request: Request) -> Profile:
        """Return what the asker's role has paid for, and is stored: of this epoch alone."""
        role = self._policy.roles[request.asker.role]
        if self._policy.budgets[role.protects].profile is None:
            return NOTHING_KNOWN
        plan = self.plan(request)
        return plan.read(self._measuring.stored(plan.priced, request, self._measuring.epoch(request)))


def profile_plan(policy: Policy, role: Role, planned: Callable[[str], PricedPlan], emitter: Emitter) -> ProfilePlan:
    """Return what a role's profile measures; `planned` plans a statement for the role.

    Raises:
        Unsupported: the policy has no profile for the role's unit kind.
    """
    kind = role.protects
    epsilon = policy.budgets[kind].profile
    if epsilon is None:
        raise Unsupported(
            f'the policy has no profile of unit kind "{kind}"',
            because="no-profile",
            hint=f"The owner of the data allows one in config.yaml, budget: {{{kind}: {{profile: 0.1, …}}}}.",
        )
    tables = [table for table in policy.tables.values() if kind in table.units]
    each = equal_share(epsilon, sum(1 + bool(_bounded(table)) for table in tables))
    usable = [table for table in tables if role.may_use(table.name)]
    return ProfilePlan({table.name: _scope(table, role, planned, each, emitter) for table in usable})


def _scope(
    table: Table, role: Role, planned: Callable[[str], PricedPlan], each: Fraction, emitter: Emitter
) -> PricedScope:
    """Return the measured scope of a table: the rows that the role sees, however their units are reached."""
    every = f"SELECT count(*) FROM {TableName.of(table.name).called}"  # noqa: S608  # a name only
    (scope,) = planned(every).scopes
    counted = scope.parts[0].measurement
    assert isinstance(counted, Sums)
    searches = []
    if counted.bound.form is not Form.UNIQUE:
        ladder = counted.bound.up_to or 1 << max((table.expected_rows or _LADDER) - 1, 1).bit_length()
        further = replace(counted.bound, up_to=max(ladder, counted.bound.rows + 1))
        declared = counted.bound.rows if counted.bound.up_to is None else 1
        searches.append(search_of(replace(counted, bound=further), emitter, declared).paying(each))
    columns = [
        Ref(0, table.name, column.name, column)
        for column in _bounded(table)
        if role.may_name(table.name, column.stored_name)
    ]
    plan = replace(scope.plan, outputs=())
    return replace(
        scope, plan=plan, parts=(*searches, *([outside_of(counted, columns, each, emitter)] if columns else []))
    )


def _bounded(table: Table) -> list[Column]:
    return [column for column in (*table.columns.values(), *table.paths) if column.bounds is not None]


def with_profile(drawn: Mapping[str, Draws], priced: PricedPlan, profile: Profile) -> Mapping[str, Draws]:
    """Return what was released, with the profile of the table where that tells what a C takes off."""
    profiled = dict(drawn)
    for scope in priced.scopes:
        for part in scope.parts:
            bound, draws = part.measurement.bound, drawn.get(part.identity)
            if draws is None or (bound.form not in {Form.REWEIGHT, Form.EUCLIDEAN} and part.bound_by is None):
                continue
            table_profile = profile.of(bound.unit.table) if bound.once else None
            profiled[part.identity] = draws if table_profile is None else draws.bounded_by(table_profile)
    return profiled
