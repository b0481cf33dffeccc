"""From a question to a priced plan: the stages that read no record, and what is remembered of them."""

import enum
import gc
import hashlib
import re
import sys
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import cast

from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.engines.tables import unique_as_declared
from dpsql.errors import DpsqlError, QueryCanceled, Unsupported
from dpsql.gateway.catalogue.virtual_tables import ACCOUNTS, accounts_statement
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.measuring import profile_statement, read_question
from dpsql.gateway.plans.planning import Planner
from dpsql.gateway.plans.tracked_scopes import StatementPlan
from dpsql.gateway.pricing import PricedPlan, price
from dpsql.gateway.request import Question, Reply, Request
from dpsql.gateway.reuse.reading_off import PlannedBefore
from dpsql.gateway.session_settings import asked_of_empty_groups, session_epsilon
from dpsql.interrupt import ended_when_overdue, uninterruptible
from dpsql.policy.model import Column, Policy, Role, Table, UniqueKey, bare_names
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.privacy.release.release import Profile
from dpsql.question import Asker, Cancellation, Settings
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.bind.bound_reader import BoundReader, KnownForms, is_moving
from dpsql.rewrite.bind.deparsed import counts_of
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.syntax.read.parse import Statement, mentions
from dpsql.rewrite.syntax.read.trees import take_apart
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement, AskedStatement, analyze, asked_statement, tokens_of

# The gateway's memory of statements: their questions, their plans, and the prices of these.

# How much memory a value takes, roughly: of long sequences a few members are weighed for all.

_FEW = 16
"""Collections with twice as many members are weighed by a sample of them."""
_SHARED = (
    type, enum.Enum, BuiltinFunctionType, FunctionType, MethodType, ModuleType, Policy, Role, Table, Column, type(None),
)  # fmt: skip
"""Kinds of values that exist anyway, and weigh nothing."""
_LONG = frozenset({list, tuple, dict, set, frozenset})
_KNOWN = set[type[object]]()
"""The kinds that were met."""
_NOTHING = set[type[object]]()
"""Those of them that weigh nothing."""


def weight(value: object) -> int:
    """Return the bytes of a value with all that it refers to. The result may be too large, and is never much too small.

    Every new plan waits for this, so that the garbage collector's own functions take values apart, many at a time.
    """
    return _weight([value], set())


def _weight(level: Iterable[object], seen: set[int]) -> int:
    """Return the bytes of values with all that they refer to, without the values in `seen`."""
    total, pending = 0, list(level)
    while pending:
        _learn(set(map(type, pending)) - _KNOWN)
        # By identity, so that what several values share is weighed once.
        fresh = {at: item for at, item in zip(map(id, pending), pending, strict=True) if type(item) not in _NOTHING}
        for at in fresh.keys() & seen:
            del fresh[at]
        seen.update(fresh)
        total += sum(map(sys.getsizeof, fresh.values()))
        collections = cast("list[Collection[object]]", [item for item in fresh.values() if type(item) in _LONG])
        long = [collection for collection in collections if len(collection) >= 2 * _FEW]
        for large in long:
            del fresh[id(large)]
            step = len(large) // _FEW
            # A few stand for all: their weight counts as often as there are members for each.
            total += step * _weight(_sample(large, step), seen)
        pending = gc.get_referents(*fresh.values())
    return total


def _learn(kinds: Collection[type[object]]) -> None:
    """Remember which kinds weigh nothing, before other threads take them for known."""
    _NOTHING.update(kind for kind in kinds if issubclass(kind, _SHARED))
    _KNOWN.update(kinds)


def _sample(long: Collection[object], step: int) -> Iterable[object]:
    if isinstance(long, Mapping):
        return chain.from_iterable(islice(long.items(), 0, None, step))
    return islice(long, 0, None, step)


_MOST = 16 * 2**20
"""Bytes for the plans with their prices, and a third of that for questions."""
_SHORT = 300
"""Characters of a statement that is examined in a tenth of a millisecond, and in one at the most."""
_MOST_PRICES = 16
"""Prices of one plan."""
_MOST_REPLIES = 4 * 2**20
"""Bytes for replies."""
_PER_CHARACTER = 200
"""Bytes that a question takes for each character of its statement."""
_PER_WRITTEN_CHARACTER = 12
"""Bytes that a plan takes, roughly, for each character that is written of it."""
_PER_ENTRY, _FEW_ENTRIES = 300, 100
"""Bytes for each group or value of a key, where there are few: then they need not be weighed."""
_PER_PRICE = 20_000
"""Bytes of what a plan has in any case, and of what it pays."""


@dataclass(frozen=True, slots=True)
class KnownPlan:
    """A plan, and what it pays for each ε and error that was asked for lately."""

    plan: StatementPlan
    prices: Mapping[Hashable, PricedPlan]
    size: int
    """The bytes of both parts, with shared ones counted once, and of the request that it answers."""

    def priced(self, request: Request) -> PricedPlan | None:
        """Return what the plan pays for the ε that the session asks for."""
        return self.prices.get(_price(request))


class KnownPlans:
    """Plans by all that they depend on."""

    def __init__(self) -> None:
        self.questions: ByteLimitedCache[tuple[Question | None]] = ByteLimitedCache(_MOST // 3, _by_length)
        """The question in a statement, by its text; None where it is the shadow's own business."""
        self.statements: ByteLimitedCache[tuple[AnalyzedStatement | None]] = ByteLimitedCache(_MOST // 3, _by_length)
        """The questions of statements, by all that decides how PostgreSQL binds them."""
        self.forms = KnownForms()
        """What the shadow said of texts, by their forms."""
        self.plans: ByteLimitedCache[KnownPlan] = ByteLimitedCache(_MOST, _weighed)
        self.replies: ByteLimitedCache[KnownReply] = ByteLimitedCache(_MOST_REPLIES, _written)
        """Replies by their plans and prices: those of the releases that were shown last."""
        self._through: ByteLimitedCache[bool] = ByteLimitedCache(_MOST_REPLIES, _by_length)
        """The plans and prices that were run through."""

    def analyzed(self, request: Request) -> tuple[AnalyzedStatement | None] | None:
        """Return what an equal request was found to ask; None where that is not remembered."""
        return self.statements.get(_bound(request))

    def keep_analyzed(self, request: Request, analyzed: tuple[AnalyzedStatement | None]) -> None:
        """Remember what a statement asks."""
        self.statements.keep(_bound(request), analyzed)

    def get(self, request: Request) -> KnownPlan | None:
        """Return the plan of an equal request."""
        return self.plans.get(_key(request))

    def keep(self, request: Request, known_plan: KnownPlan | None, priced: PricedPlan) -> None:
        """Remember the prices of a plan that are the same whenever it is made; `known_plan` is its remembered part."""
        key, before = _key(request), () if known_plan is None else known_plan.prices.items()
        # The newest prices: who tries many values of ε leaves no more than these.
        prices = dict([*before, (_price(request), priced)][-_MOST_PRICES:])
        self.plans.keep(key, KnownPlan(priced.plan, prices, _size(request, priced, len(prices))))

    def was_run_through(self, request: Request) -> bool:
        """Return whether an equal request was run through, at the same price."""
        return self._through.get(_hashed(request)) is not None

    def keep_run_through(self, request: Request) -> None:
        """Remember that a plan was run through, if it is the same whenever it is made."""
        if self.get(request) is not None:
            self._through.keep(_hashed(request), value=True)

    def reply(self, request: Request) -> "KnownReply | None":
        """Return the last reply to an equal request."""
        return self.replies.get((_key(request), _price(request)))

    def keep_reply(self, request: Request, priced: PricedPlan, reply: "KnownReply") -> None:
        """Remember what a plan that is the same whenever it is made replies with some releases.

        Nothing else makes a difference to it, unless there are inner answers, which the shadow has computed.
        """
        # An error that is aimed at may have changed the plan on its way (`affordable`): then it is not the one that is
        # remembered.
        known_plan = self.get(request)
        if priced.inner or known_plan is None or known_plan.priced(request) is not priced:
            return
        self.replies.keep((_key(request), _price(request)), reply)


@dataclass(frozen=True, slots=True)
class KnownReply:
    """A reply, and all that it was made of beside the plan and its price."""

    reply: Reply
    shown: Mapping[str, bytes]
    """The releases, by what they are stored under."""
    profile: tuple[object, ...]
    """Whose release the profile is."""
    epoch: int
    names: tuple[str, ...] | None
    """What would be kept under these names if it was read off others; None where more than that has to be looked at."""

    def is_of(self, shown: Mapping[str, bytes], profile: Profile) -> bool:
        """Return whether it shows these releases, and no others."""
        return self.shown == shown and self.profile == tuple(profile.releases)


def _written(value: object) -> int:
    """Return the bytes of a reply, or of its key."""
    match value:
        case KnownReply(Reply(text, told), shown, profile):
            releases = sum(map(len, shown.values())) + _PER_ENTRY * (len(shown) + len(profile))
            return sum(map(sys.getsizeof, (text, *told))) + releases
        case ((str() as text, tuple() as arguments, *_), _):
            texts = (text, *(argument.text or "" for argument in arguments))
            return _PER_ENTRY * len(arguments) + sum(map(sys.getsizeof, texts))
        case _:
            return 0


def _key(request: Request) -> Hashable:
    """Return all that a plan depends on, but for the policy: ε and errors decide its price, and not its measurements."""
    settings = request.settings
    if settings.epsilon is not None or settings.error is not None or settings.renew is not None:
        settings = replace(settings, epsilon=None, error=None, renew=None)
    return request.question.text, request.arguments, settings, request.asker.role


def _hashed(request: Request) -> str:
    """Return a hash of all that a plan and its price depend on."""
    return hashlib.sha256(repr((_key(request), _price(request))).encode()).hexdigest()


def _bound(request: Request) -> Hashable:
    """Return all that decides how a statement is bound: of parameters their types, and of a few whether they end anything."""
    counts = tuple(counts_of(request.question.text, request.arguments).items())
    types = tuple(argument.type for argument in request.arguments)
    return request.question.text, types, counts, _of_binding(request.settings)


def _of_binding(settings: Settings) -> Settings:
    """Return the settings of a session by which a statement is bound: none of dpsql's own."""
    return replace(
        settings, epsilon=None, error=None, empty_groups=None, clamp=None, reuse=None, digits=None, renew=None
    )


def _price(request: Request) -> Hashable:
    """Return what a price depends on beside the plan and the role."""
    return request.settings.epsilon, request.settings.error


def _size(request: Request, priced: PricedPlan, prices: int) -> int:
    """Return the bytes of a plan with so many prices, and of the request that it answers: not much less than it takes.

    Every new plan waits for that. Its expressions and constants stand in the engine's statements, whose length is known;
    what is not written there, the groups and the rules by which they are selected, is weighed.
    """
    stages = list(priced.stages())
    parts = [part for stage in stages for scope in stage.scopes for part in scope.parts]
    engines = sum(len(each.sql) for part in parts for each in (part, part.bound_by) if each is not None)
    texts = (request.question.text, *(piece for stage in stages for piece in stage.plan.pieces))
    groups = [scope.plan.groups for stage in stages for scope in stage.scopes]
    rules = [part.rule for part in parts if part.rule is not None]
    entries = sum(len(values) for group in groups for values in (group.grouped, group.shown, *_values(group)))
    listed = [(group.grouped, group.shown, _values(group)) for group in groups]
    return (
        (_PER_ENTRY * entries if entries <= _FEW_ENTRIES and not rules else weight((listed, rules)))
        + _PER_WRITTEN_CHARACTER * (sum(map(len, texts)) + engines)
        + prices * (_PER_PRICE + engines)
    )


def _values(groups: Groups) -> list[Mapping[Cell, Cell]]:
    """Return the values of each key that has some."""
    return [key.shown for key in groups.keys if key.shown is not None]


def _weighed(value: object) -> int:
    """Return the bytes of a plan, its key's included, which were counted when it was kept."""
    return value.size if isinstance(value, KnownPlan) else 0


def _by_length(value: object) -> int:
    """Return the bytes of a text or a question; a question is estimated by its text, which is quick."""
    match value:
        case str():
            return len(value)
        case (Question(text=text),):
            return len(text)
        case (AnalyzedStatement(statement=Statement() as statement),):
            return _PER_CHARACTER * sum(len(query.text) for query in statement.queries)
        case _:
            return 0


# Refuses statements that are nested more deeply than Python's stack allows.


@contextmanager
def nesting_refused() -> Iterator[None]:
    """Turn the end of the stack into a refusal.

    Raises:
        Unsupported: instead of RecursionError.
    """
    try:
        yield
    except RecursionError:
        raise Unsupported(
            "an expression over private rows is nested too deeply",
            because="nested-too-deeply",
            hint="Nest fewer operations in each other.",
        ) from None


class PlannedQuestions:
    """Questions, each examined, bound, planned and priced once, while it is remembered."""

    def __init__(self, deps: GatewayDependencies) -> None:
        self._deps = deps
        self._emitter = Emitter(deps.engine.dialect, deps.declared, deps.engine.named, deps.engine.kept)
        self._names = bare_names(deps.policy.protected)
        written = sorted(name.replace('"', '""') for name in self._names)
        # Most statements name no protected table, which this tells faster than their tokens do.
        self._named = re.compile("|".join((*map(re.escape, written), ACCOUNTS)), re.IGNORECASE)
        self._known = KnownPlans()
        self._unique = cache(self._unique_now)
        self._enforced = cache(self._enforced_now)

    def _unique_now(self, table: str) -> frozenset[UniqueKey]:
        engine, declared = self._deps.engine, self._deps.policy.tables.get(table)
        if declared is None:  # rows that a statement makes, of which the engine knows nothing
            return frozenset()
        # Planning may be ended anywhere, but not in the middle of what it asks the engine.
        with uninterruptible():
            return unique_as_declared(declared, engine.unique_keys(table), engine.columns)

    def _enforced_now(self, table: str) -> frozenset[str]:
        declared = self._deps.policy.tables.get(table)
        if declared is None:
            return frozenset()
        with uninterruptible():
            return self._deps.engine.enforced_columns(declared)

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Return the question in a statement that names no table of ours, was examined before, or is short; else None."""
        if self._named.search(text) is None:
            return (None,)
        kept = self._known.questions.get(text)
        if kept is None and len(text) <= _SHORT:
            try:
                kept = self._examined(text)
            except Exception:  # noqa: BLE001 # `examine` meets it again, where it can be told
                return None
        return kept

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:
        """Return the question in a statement, None if it names no protected table."""
        _ = asker
        kept = self.recall(text) or ended_when_overdue(partial(self._examined, text), cancellation)
        return kept[0]

    def _examined(self, text: str) -> tuple[Question | None]:
        """Return the question in a statement, which is remembered: a tuple of one, since None is an answer as well."""
        kept = (self._question(text),)
        self._known.questions.keep(text, kept)
        return kept

    def _question(self, text: str) -> Question | None:
        if (own := profile_statement(text) or accounts_statement(text)) is not None:
            return Question(text, own)
        asked = asked_statement(text) if mentions(text, self._names, tokens_of(text)) else None
        return None if asked is None else Question(text, asked)

    def analyzed(self, request: Request) -> AnalyzedStatement | None:
        """Return what a statement asks of protected tables, bound by PostgreSQL; None where it asks nothing of them."""
        kept = self._known.analyzed(request)
        if kept is None:
            with self._deps.times.timed("bind"):
                statement, volatile = ended_when_overdue(partial(self._bound, request), request.cancellation)
            kept = (statement,)
            # Texts such as 'now' and 'today' mean another time when they are bound again.
            if not volatile:
                self._known.keep_analyzed(request, kept)
        return kept[0]

    @nesting_refused()
    def _bound(self, request: Request) -> tuple[AnalyzedStatement | None, bool]:
        text = request.question.text
        lists = request.settings.temporary
        return analyze(text, self._deps.policy, self._reader(request), lists), is_moving(tokens_of(text) or ())

    def _reader(self, request: Request) -> BoundReader:
        shadow = self._deps.evaluator(request.settings, request.asker.user)
        counts = counts_of(request.question.text, request.arguments)
        types = [argument.type for argument in request.arguments]
        own, session = _own_tables(request.settings), _of_binding(request.settings)
        return BoundReader(shadow, types, counts, self._known.forms, own, session)

    @nesting_refused()
    def priced(self, analyzed: AnalyzedStatement, request: Request) -> PricedPlan:
        """Return what a statement measures and what it pays: the stages up to `price`, unless it is remembered."""
        known_plan = self._known.get(request)
        if known_plan is not None and (kept := known_plan.priced(request)) is not None:
            return kept
        plan = None if known_plan is None else known_plan.plan
        with self._deps.times.timed("plan"):
            # A plan that is remembered is priced again only, for another ε.
            priced, volatile = ended_when_overdue(partial(self._planned, analyzed, request, plan), request.cancellation)
        if not volatile:
            self._known.keep(request, known_plan, priced)
        return priced

    def _planned_for(self, text: str, request: Request) -> PricedPlan:
        """Return what a statement of ours measures, for a client that asks something else."""
        question = self._question(text)
        assert question is not None
        # Without the settings of the client: it is to be the same for whoever asks.
        asked = Request(question, (), Settings(), request.asker, request.cancellation)
        analyzed = self.analyzed(asked)
        assert analyzed is not None
        return self.priced(analyzed, asked)

    def _planned_again(self, text: str, request: Request) -> PlannedBefore | None:
        """Return what a question measures that the asker's role has asked before; see `PlannedAgain`."""
        read, role = read_question(text), self._deps.policy.roles[request.asker.role]
        if read is None:
            return None
        try:
            question = self.examine(read.statement, request.asker, request.cancellation)
            if question is None or not isinstance(question.parsed, AskedStatement):
                return None
            asked = Request(question, read.arguments, read.settings, request.asker, request.cancellation)
            analyzed = self.analyzed(asked)
            if analyzed is None or analyzed.refusal is not None or analyzed.statement is None:
                return None
            priced = self.priced(analyzed, asked)
            return PlannedBefore(read.statement, priced, session_epsilon(read.settings, role, role.per_query.epsilon))
        except QueryCanceled:  # which says nothing of the question, and the next who asks plans it
            raise
        except DpsqlError:
            return None

    def _planned(
        self, analyzed: AnalyzedStatement, request: Request, plan: StatementPlan | None
    ) -> tuple[PricedPlan, bool]:
        """Return a priced plan, from `plan` if there is one, and whether a constant in it changes by itself."""
        role, settings, volatile = self._deps.policy.roles[request.asker.role], request.settings, False
        if plan is None:
            planner = self._planner(role, request)
            resolved = planner.resolve(analyzed, request.arguments)
            try:
                tracked = planner.track(resolved, request.arguments)
                plan = planner.measure(tracked)
            finally:
                # Trees refer to themselves, by their parents. Taken apart, they go at once, also where planning fails.
                for query in resolved.queries:
                    take_apart(query.nodes)
            volatile = planner.evaluator.volatile or is_moving(tokens_of(request.question.text) or ())
        counts_rho = self._deps.policy.counts_rho(role)
        return price(plan, role, settings, self._emitter, counts_rho=counts_rho), volatile

    def _planner(self, role: Role, request: Request) -> Planner:
        deps, settings = self._deps, request.settings
        empty = asked_of_empty_groups(settings, role)
        context = PlanningContext(role, deps.declared, deps.rows, self._unique, deps.policy.tables, empty)
        shadow = deps.evaluator(settings, request.asker.user)
        return Planner(deps.policy, context, shadow, self._known.forms, _own_tables(settings))


def _own_tables(settings: Settings) -> Hashable:
    """Return all of a session's own tables that names and types depend on."""
    return tuple((table.name, table.columns, table.key) for table in settings.temporary)
