"""The gateway: a question goes in, a statement over released rows comes out, and nothing exact leaves.

Promise: whatever is measured was charged before the engine was asked; only a `Release` is put into the text.
"""

import hashlib
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpsql.accounts import NAMED, reads_accounts, with_accounts
from dpsql.engines.base import Engine
from dpsql.errors import InternalError, Unsupported
from dpsql.explain import as_query, explain
from dpsql.plan import Planner, StatementPlan
from dpsql.policy.model import Period, Policy
from dpsql.privacy import present
from dpsql.privacy.balance import Account
from dpsql.privacy.buckets import Buckets
from dpsql.privacy.entropy import Entropy
from dpsql.privacy.exact import Row, exact_buckets, exact_sums
from dpsql.privacy.ledger import Item, Ledger, Statement
from dpsql.privacy.measure import World
from dpsql.privacy.outline import Plan
from dpsql.privacy.price import Part, shares, statement_epsilon
from dpsql.privacy.release import Release, release_buckets, release_sums
from dpsql.privacy.sums import Sums
from dpsql.question import Argument, Asker, Cancellation, Field, Question, Settings
from dpsql.rewrite import parse
from dpsql.rewrite.asked import Asked, column_probe, take_apart
from dpsql.rewrite.declared import Declared
from dpsql.rewrite.emit import Emitter
from dpsql.rewrite.groups import PublicRows
from dpsql.rewrite.oracle import Oracle
from dpsql.rewrite.scopes import Kind
from dpsql.shadow import splice

V = TypeVar("V")
_UNKNOWN = object()
_AMOUNT = re.compile(r"\s*(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,2})?\s*", re.ASCII)
"""How ε may be written: not so large or small that calculating with it takes long."""
_REMEMBERED = 1_000
"""How many statements are kept taken apart, and how many planned."""


@dataclass(frozen=True, slots=True)
class Deps:
    """What the gateway works with; handed in by the server."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    oracle: Callable[[Settings], Oracle]
    declared: Declared
    rows: PublicRows
    entropy: Entropy
    refresh: Period
    timeout: float
    """Seconds a measurement may take: the same for every statement, so that it says nothing about data."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A planned statement: for each scope its priced plan and its parts."""

    plan: StatementPlan
    scopes: tuple[tuple[Plan, tuple[Part, ...]], ...]


class Gateway:
    """Answers questions about protected tables; see `dpsql.question.Answers`."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        names = sorted(t.name for t in deps.policy.tables.values() if not t.public)
        self._named = re.compile("|".join(map(re.escape, names)) or r"(?!)", re.IGNORECASE)
        self._asked: dict[Hashable, object] = {}
        self._plans: dict[Hashable, StatementPlan] = {}
        self._ready: dict[Hashable, Ready] = {}

    def statements(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return where each statement of a simple query begins and ends."""
        return parse.statements(text)

    def examine(self, text: str, asker: Asker) -> Question | None:
        """Return the question in a statement, None if it names no protected table."""
        _ = asker
        if NAMED.search(text) and (statement := parse.parse(text)) and reads_accounts(statement):
            return Question(text, (statement.query,), statement)
        if self._named.search(text) is None:
            return None
        asked = self._asked.get(text, _UNKNOWN)
        if asked is _UNKNOWN:
            asked = take_apart(text, self._deps.policy)
            _keep(self._asked, text, asked)
        return Question(text, asked.probes, asked) if isinstance(asked, Asked) else None

    def answer(
        self,
        question: Question,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
        cancellation: Cancellation,
    ) -> str:
        """Return the statement over released rows that answers the question."""
        asked = question.plan
        if isinstance(asked, parse.Statement):
            return with_accounts(asked, _account(self._deps.policy, asker), self._deps.ledger)
        if not isinstance(asked, Asked):
            raise InternalError
        if asked.refusal is not None:
            raise asked.refusal
        if asked.kind is Kind.ROWS and asked.statement is not None:
            return column_probe(asked.statement)
        ready = self._planned(asked, question.text, described, arguments, settings, asker)
        if asked.statement is not None and asked.statement.wrap is parse.Wrap.EXPLAIN:
            return as_query(explain(ready.scopes, statements="verbose" in asked.statement.prefix.lower()))
        releases = self._releases(ready, question.text, asker, cancellation)
        clamp = self._deps.policy.roles[asker.role].clamp
        tables = [
            splice.table(
                s.columns, s.types, present.rows(plan, [releases[p.identity] for p in parts], s.types, clamp=clamp)
            )
            for s, (plan, parts) in zip(ready.plan.scopes, ready.scopes, strict=True)
        ]
        return ready.plan.text(tables)

    def _planned(
        self,
        asked: Asked,
        text: str,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
    ) -> Ready:
        zone = (settings.time_zone, settings.search_path)
        key = (text, described, arguments, zone, asker.role)
        try:
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plan(asked, described, arguments, settings, asker, key)
            return self._priced(plan, key, settings, asker)
        except RecursionError:
            raise Unsupported(
                "an expression over private rows is nested too deeply", hint="Nest fewer operations in each other."
            ) from None

    def _plan(
        self,
        asked: Asked,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
        key: Hashable,
    ) -> StatementPlan:
        deps, role = self._deps, self._deps.policy.roles[asker.role]
        world = World(role, deps.declared, deps.rows, deps.engine.unique_columns)
        oracle = deps.oracle(settings)
        plan = Planner(deps.policy, world, oracle).plan(asked, described, arguments)
        if not oracle.moving:
            _keep(self._plans, key, plan)
        return plan

    def _priced(self, plan: StatementPlan, key: Hashable, settings: Settings, asker: Asker) -> Ready:
        """Return the plan with its parts at the ε that the session asks for."""
        known = self._ready.get((key, settings.epsilon))
        if known is not None and known.plan is plan:
            return known
        role, plans = self._deps.policy.roles[asker.role], [scope.plan for scope in plan.scopes]
        epsilon = _epsilon(settings, role.per_query.epsilon, statement_epsilon(role, plans))
        emitter = Emitter(self._deps.engine.dialect, self._deps.declared)
        ready = Ready(plan, shares(plans, epsilon, emitter))
        _keep(self._ready, (key, settings.epsilon), ready)
        return ready

    def _releases(self, ready: Ready, text: str, asker: Asker, cancellation: Cancellation) -> Mapping[str, Release]:
        """Return a release for every part, by identity: stored ones, or measured and stored now that they are paid."""
        parts = {part.identity: part for _, scope in ready.scopes for part in scope}
        if not parts:
            return {}
        epoch = self._deps.ledger.epoch(self._deps.refresh)  # one for all parts, which belong together
        keys = {identity: self._key(part, asker, epoch) for identity, part in parts.items()}
        items = [Item(keys[identity], part.cost, part.note) for identity, part in parts.items()]
        found: dict[str, Release] = {}
        with self._deps.ledger.open_statement(_account(self._deps.policy, asker), text, items) as statement:
            for identity, part in parts.items():
                finder = found[part.finds_keys.identity] if part.finds_keys else None
                found[identity] = self._release(keys[identity], part, finder, statement, cancellation)
        return found

    def _release(
        self, key: str, part: Part, finder: Release | None, statement: Statement, cancellation: Cancellation
    ) -> Release:
        stored = statement.stored.get(key)
        if stored is not None:
            return Release.from_bytes(stored)
        deps = self._deps
        rows = deps.engine.run(part.sql, statement.charge, timeout=deps.timeout, cancellation=cancellation)
        release = _released(part, rows, finder, deps.entropy)
        statement.store(key, release.to_bytes())
        return release

    def _key(self, part: Part, asker: Asker, epoch: int) -> str:
        """Return what a release is stored under: everything that it depends on."""
        policy = self._deps.policy
        kind = policy.roles[asker.role].protects
        parts: tuple[object, ...] = (kind, policy.fingerprint, epoch, part.cost.epsilon, part.cost.delta, part.identity)
        if part.finds_keys is not None:
            parts = (*parts, part.finds_keys.cost.epsilon, part.finds_keys.cost.delta)
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _released(part: Part, rows: Sequence[Row], finder: Release | None, entropy: Entropy) -> Release:
    """Return what may be shown of the engine's rows; they end here."""
    measurement = part.measurement
    keys = None if finder is None else finder.keys
    match measurement:
        case Sums():
            exact = exact_sums(measurement, rows)
            return release_sums(measurement, exact if keys is None else exact.at(keys), entropy)
        case Buckets():
            return release_buckets(measurement, exact_buckets(measurement, rows, keys), entropy)


def _keep(cache: dict[Hashable, V], key: Hashable, value: V) -> None:
    """Remember `value`; forget everything when there is too much of it."""
    if len(cache) >= _REMEMBERED:
        cache.clear()
    cache[key] = value


def _account(policy: Policy, asker: Asker) -> Account:
    role = policy.roles[asker.role]
    return Account(asker.user, role, policy.budgets[role.protects])


def _epsilon(settings: Settings, most: Fraction, usual: Fraction) -> Fraction:
    """Return the statement's ε: what the session has set, at most what the role may pay for a statement."""
    if not settings.epsilon:
        return usual
    asked = Fraction(settings.epsilon) if _AMOUNT.fullmatch(settings.epsilon) else Fraction(0)
    if not 0 < asked <= most:
        raise Unsupported(
            f'dpsql.epsilon is "{settings.epsilon}", it must be a number above 0 and at most {float(most):g}',
            hint=f"SET dpsql.epsilon = '{float(most):g}'",
        )
    return asked
