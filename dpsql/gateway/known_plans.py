"""The gateway's memory of statements: their questions, their plans, and the prices of these."""

import enum
import gc
import hashlib
import sys
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import cast

from dpsql.gateway.aiming import PaidReleases
from dpsql.gateway.plans.statement_plan import StatementPlan
from dpsql.gateway.pricing import PricedPlan
from dpsql.gateway.request import Question, Reply, Request
from dpsql.policy.model import Column, Policy, Role, Table
from dpsql.privacy.release.profile import Profile
from dpsql.remembered import Remembered
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.bind.plain import counts_of
from dpsql.rewrite.bind.reading import KnownForms
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.syntax.read.parse import Statement
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement

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
        self.questions: Remembered[tuple[Question | None]] = Remembered(_MOST // 3, _by_length)
        """The question in a statement, by its text; None where it is the shadow's own business."""
        self.statements: Remembered[tuple[AnalyzedStatement | None]] = Remembered(_MOST // 3, _by_length)
        """The questions of statements, by all that decides how PostgreSQL binds them."""
        self.forms = KnownForms()
        """What the shadow said of texts, by their forms."""
        self.plans: Remembered[KnownPlan] = Remembered(_MOST, _weighed)
        self.replies: Remembered[Reply] = Remembered(_MOST_REPLIES, _written)
        """Replies by their plans and prices, and by the releases that they show."""
        self._through: Remembered[bool] = Remembered(_MOST_REPLIES, _by_length)
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
        prices = dict([*before, (_price(request), priced)][-_MOST_PRICES:])
        self.plans.keep(key, KnownPlan(priced.plan, prices, _size(request, priced, len(prices))))

    def was_run_through(self, request: Request) -> bool:
        """Return whether an equal request was run through, at the same price."""
        return self._through.get(_hashed(request)) is not None

    def keep_run_through(self, request: Request) -> None:
        """Remember that a plan was run through, if it is the same whenever it is made."""
        if self.get(request) is not None:
            self._through.keep(_hashed(request), value=True)

    def reply(self, request: Request, paid_releases: PaidReleases, profile: Profile) -> Reply | None:
        """Return the reply to an equal request that shows these releases, and no others."""
        return self.replies.get((_key(request), _price(request), _shown(paid_releases, profile)))

    def keep_reply(
        self, request: Request, priced: PricedPlan, paid_releases: PaidReleases, profile: Profile, reply: Reply
    ) -> None:
        """Remember what a plan that is the same whenever it is made replies with these releases.

        Nothing else makes a difference to it, unless there are inner answers, which the shadow has computed.
        """
        known_plan = self.get(request)
        if priced.inner or known_plan is None or known_plan.priced(request) is not priced:
            return
        self.replies.keep((_key(request), _price(request), _shown(paid_releases, profile)), reply)


def _shown(paid_releases: PaidReleases, profile: Profile) -> Hashable:
    """Return the releases with what they are stored under, and whose release the profile is."""
    return (*profile.releases, *((key, release) for key, (_, release) in paid_releases.items()))


def _written(value: object) -> int:
    """Return the bytes of a reply, or of its key."""
    match value:
        case Reply(text, told):
            return sum(map(sys.getsizeof, (text, *told)))
        case ((str() as text, tuple() as arguments, *_), _, tuple() as shown):
            entries = len(shown) + len(arguments)
            texts = (text, *(argument.text or "" for argument in arguments))
            return _PER_ENTRY * entries + sum(map(sys.getsizeof, texts)) + sum(len(release) for _, release in shown)
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
    settings = replace(
        request.settings,
        epsilon=None,
        error=None,
        empty_groups=None,
        clamp=None,
        reuse=None,
        digits=None,
        renew=None,
    )
    counts = tuple(counts_of(request.question.text, request.arguments).items())
    return request.question.text, tuple(argument.type for argument in request.arguments), counts, settings


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
