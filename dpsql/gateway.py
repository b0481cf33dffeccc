"""The gateway: a question goes in, a statement over released rows comes out, and nothing exact leaves.

Promise: whatever is measured was charged before the engine was asked; only a `Release` is put into the text.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.engines.base import Engine
from dpsql.errors import InternalError, Unsupported
from dpsql.plan import Answered, Planner, StatementPlan
from dpsql.policy.model import Period, Policy, Privacy
from dpsql.privacy import present
from dpsql.privacy.balance import Account
from dpsql.privacy.entropy import Entropy
from dpsql.privacy.exact import exact_sums
from dpsql.privacy.ledger import Item, Ledger, Statement
from dpsql.privacy.measure import Plan, World
from dpsql.privacy.release import Release, release_sums
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

_LOG = logging.getLogger("dpsql.gateway")
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
class Part:
    """One measurement of a statement with its share of ε, ready to be paid and run."""

    sums: Sums
    sql: str
    identity: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A planned statement with its distinct measurements; scopes that ask the same share one."""

    plan: StatementPlan
    parts: tuple[Part, ...]
    place: tuple[int | None, ...]
    """For each scope, which part answers it; None if nothing has to be measured."""


class Gateway:
    """Answers questions about protected tables; see `dpsql.question.Answers`."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        names = sorted(t.name for t in deps.policy.tables.values() if not t.public)
        self._named = re.compile("|".join(map(re.escape, names)) or r"(?!)", re.IGNORECASE)
        self._asked: dict[str, Asked | None] = {}
        self._ready: dict[tuple[object, ...], Ready] = {}

    def statements(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return where each statement of a simple query begins and ends."""
        return parse.statements(text)

    def examine(self, text: str, asker: Asker) -> Question | None:
        """Return the question in a statement, None if it names no protected table."""
        _ = asker
        if self._named.search(text) is None:
            return None
        if text not in self._asked:
            _make_room(self._asked)
            self._asked[text] = take_apart(text, self._deps.policy)
        asked = self._asked[text]
        return None if asked is None else Question(text, asked.probes, asked)

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
        if not isinstance(asked, Asked):
            raise InternalError
        if asked.refusal is not None:
            raise asked.refusal
        if asked.kind is Kind.ROWS and asked.statement is not None:
            return column_probe(asked.statement)
        ready = self._planned(asked, question.text, described, arguments, settings, asker)
        releases = self._releases(ready, question.text, asker, cancellation)
        clamp = self._deps.policy.roles[asker.role].clamp
        chosen = [None if i is None else releases[i] for i in ready.place]
        pairs = zip(ready.plan.scopes, chosen, strict=True)
        return ready.plan.text([_table(scope, release, clamp=clamp) for scope, release in pairs])

    def _planned(
        self,
        asked: Asked,
        text: str,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
    ) -> Ready:
        key = (text, described, arguments, settings, asker.role)
        if key in self._ready:
            return self._ready[key]
        deps, role = self._deps, self._deps.policy.roles[asker.role]
        world = World(role, deps.declared, deps.rows, deps.engine.unique_columns)
        oracle = deps.oracle(settings)
        planner = Planner(deps.policy, world, oracle)
        plan = planner.plan(asked, described, arguments)
        ready = self._shared(plan, _epsilon(settings, role.per_query.epsilon))
        if not oracle.moving:
            _make_room(self._ready)
            self._ready[key] = ready
        return ready

    def _shared(self, plan: StatementPlan, epsilon: Fraction) -> Ready:
        """Give each distinct measurement of the statement an equal share of its ε."""
        emitter = Emitter(self._deps.engine.dialect, self._deps.declared)
        texts = [None if s.plan.sums is None else s.plan.sums.sql(emitter) for s in plan.scopes]
        known = [None if t is None else _identity(s.plan, t) for s, t in zip(plan.scopes, texts, strict=True)]
        distinct = list(dict.fromkeys(identity for identity in known if identity is not None))
        parts = {}
        for scope, text, identity in zip(plan.scopes, texts, known, strict=True):
            sums = scope.plan.with_epsilon(epsilon / max(len(distinct), 1)).sums
            if sums is not None and text is not None and identity is not None:
                parts[identity] = Part(sums, text, identity)
        place = tuple(None if identity is None else distinct.index(identity) for identity in known)
        return Ready(plan, tuple(parts[identity] for identity in distinct), place)

    def _releases(self, ready: Ready, text: str, asker: Asker, cancellation: Cancellation) -> list[Release]:
        """Return a release for every part: stored ones, or measured and stored now that they are paid."""
        if not ready.parts:
            return []
        deps = self._deps
        account = _account(deps.policy, asker)
        items = {self._key(part, asker): part for part in ready.parts}
        paid = [Item(key, Privacy(part.sums.epsilon), _note(part)) for key, part in items.items()]
        with deps.ledger.open_statement(account, text, paid) as statement:
            return [self._release(key, part, statement, cancellation) for key, part in items.items()]

    def _release(self, key: str, part: Part, statement: Statement, cancellation: Cancellation) -> Release:
        stored = statement.stored.get(key)
        if stored is not None:
            return Release.from_bytes(stored)
        deps = self._deps
        rows = deps.engine.run(part.sql, statement.charge, timeout=deps.timeout, cancellation=cancellation)
        release = release_sums(part.sums, exact_sums(part.sums, rows), deps.entropy)
        statement.store(key, release.to_bytes())
        return release

    def _key(self, part: Part, asker: Asker) -> str:
        """Return what a release is stored under: everything that it depends on."""
        policy, sums = self._deps.policy, part.sums
        epoch = self._deps.ledger.epoch(self._deps.refresh)
        kind = policy.roles[asker.role].protects
        parts = (kind, policy.fingerprint, epoch, sums.mechanism, sums.bound.mass, sums.epsilon, part.identity)
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _make_room(cache: dict[str, Asked | None] | dict[tuple[object, ...], Ready]) -> None:
    if len(cache) >= _REMEMBERED:
        cache.clear()


def _identity(plan: Plan, sql: str) -> str:
    """Return a hash of what is measured: the engine's statement, the groups and the features read off it."""
    sums = plan.sums
    if sums is None:
        raise InternalError
    parts = (sql, repr(sums.groups.grouped), repr([(f.shape, f.where, f.x, f.y) for f in sums.features]))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _note(part: Part) -> str:
    return f"{len(part.sums.features)} sums over {len(part.sums.groups.grouped)} groups"


def _account(policy: Policy, asker: Asker) -> Account:
    role = policy.roles[asker.role]
    return Account(asker.user, role, policy.budgets[role.protects])


def _table(scope: Answered, release: Release | None, *, clamp: bool) -> str:
    return splice.table(scope.columns, scope.types, present.rows(scope.plan, release, scope.types, clamp=clamp))


def _epsilon(settings: Settings, most: Fraction) -> Fraction:
    """Return the statement's ε: what the session has set, at most what the role may pay for a statement."""
    if not settings.epsilon:
        return most
    try:
        asked = Fraction(settings.epsilon)
    except (ValueError, ZeroDivisionError):
        asked = Fraction(0)
    if not 0 < asked <= most:
        raise Unsupported(
            f'dpsql.epsilon is "{settings.epsilon}", it must be a number above 0 and at most {float(most):g}',
            hint=f"SET dpsql.epsilon = '{float(most):g}'",
        )
    return asked
