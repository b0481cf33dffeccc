"""From priced parts to releases: paid for, measured, given their noise and stored.

Promise: whatever is measured was charged before the engine was asked; only a `Release` comes out.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpsql.engines.base import Engine
from dpsql.policy.model import Period, Policy
from dpsql.privacy.balance import Account
from dpsql.privacy.buckets import Buckets
from dpsql.privacy.entropy import Entropy
from dpsql.privacy.exact import Row, exact_buckets, exact_sums
from dpsql.privacy.ledger import Item, Ledger, Statement
from dpsql.privacy.price import Part
from dpsql.privacy.release import Release, release_buckets, release_sums
from dpsql.privacy.sums import Sums
from dpsql.question import Asker, Cancellation


@dataclass(frozen=True, slots=True)
class Measuring:
    """What measurements are made with."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    entropy: Entropy
    refresh: Period
    timeout: float
    """Seconds a measurement may take: the same for every statement, so that it says nothing about data."""

    def releases(
        self, wanted: Iterable[Part], text: str, asker: Asker, cancellation: Cancellation
    ) -> Mapping[str, Release]:
        """Return a release for every part, by identity: stored ones, or measured and stored now that they are paid."""
        parts = {part.identity: part for part in wanted}
        if not parts:
            return {}
        epoch = self.ledger.epoch(self.refresh)  # one for all parts, which belong together
        keys = {identity: self._key(part, asker, epoch) for identity, part in parts.items()}
        items = [Item(keys[identity], part.cost, part.note) for identity, part in parts.items()]
        found: dict[str, Release] = {}
        with self.ledger.open_statement(account(self.policy, asker), text, items) as statement:
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
        rows = self.engine.run(part.sql, statement.charge, timeout=self.timeout, cancellation=cancellation)
        release = _released(part, rows, finder, self.entropy)
        statement.store(key, release.to_bytes())
        return release

    def _key(self, part: Part, asker: Asker, epoch: int) -> str:
        """Return what a release is stored under: everything that it depends on."""
        kind = self.policy.roles[asker.role].protects
        cost, print_ = part.cost, self.policy.fingerprint
        parts: tuple[object, ...] = (kind, print_, epoch, cost.epsilon, cost.delta, part.identity)
        if part.finds_keys is not None:
            parts = (*parts, part.finds_keys.cost.epsilon, part.finds_keys.cost.delta)
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def account(policy: Policy, asker: Asker) -> Account:
    """Return who pays for what somebody asks."""
    role = policy.roles[asker.role]
    return Account(asker.user, role, policy.budgets[role.protects])


def _released(part: Part, rows: Sequence[Row], finder: Release | None, entropy: Entropy) -> Release:
    """Return what may be shown of the engine's rows; they end here."""
    measurement = part.measurement
    keys = None if finder is None else finder.keys
    match measurement:
        case Sums():
            exact = exact_sums(measurement, rows)
            return release_sums(measurement, exact if keys is None else exact.at(keys), entropy, part.rule)
        case Buckets():
            return release_buckets(measurement, exact_buckets(measurement, rows, keys), entropy)
