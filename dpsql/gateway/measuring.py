"""From priced parts to releases: paid for, measured, given their noise and stored.

Promise: whatever is measured was charged before the engine was asked for a row, and what the engine does not take costs
nothing; only a `Release` comes out, or one of a few errors that are the same every time, which are counted.
"""

import hashlib
import logging
import traceback
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from dpsql.accounting.balance import Account
from dpsql.accounting.failures import Failing, Failure
from dpsql.accounting.ledger import Beside, ChargeItem, Ledger, PaidStatement
from dpsql.engines.base import Engine, PreparedMeasurements
from dpsql.errors import EngineFailed, EngineLost, LedgerBusy, LedgerFailed, LedgerFull, QueryCanceled
from dpsql.interrupt import check, interruptible
from dpsql.policy.model import Period, Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release.exact import EngineRow, exact_buckets, exact_sums
from dpsql.privacy.release.release import Release, release_buckets, release_sums
from dpsql.question import Asker, Cancellation

_LOG = logging.getLogger("dpsql.gateway")
_OURS = Path(__file__).parent.parent


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

    def stored(
        self, wanted: Iterable[PricedMeasurement], asker: Asker, cancellation: Cancellation
    ) -> Mapping[str, Release] | None:
        """Return a release for every part, by identity, if all are paid for and stored; else None.

        Raises:
            DpsqlError: as one of them failed, before.
        """
        parts = {part.identity: part for part in wanted}
        if not parts:
            return {}
        keys, items = self._items(parts, asker, cancellation)
        known = self.ledger.known(account(self.policy, asker), items, cancellation)
        if isinstance(known, Failing):
            raise known.error()
        return None if known is None else {identity: Release.from_bytes(known[key]) for identity, key in keys.items()}

    def releases(
        self, wanted: Iterable[PricedMeasurement], text: str, asker: Asker, cancellation: Cancellation
    ) -> Mapping[str, Release]:
        """Return a release for every part, by identity: stored ones, or measured and stored now that they are paid."""
        parts = {part.identity: part for part in wanted}
        if not parts:
            return {}
        keys, items = self._items(parts, asker, cancellation)
        kept: dict[str, bytes] = {}
        with (
            _Held(self, {keys[identity]: part for identity, part in parts.items()}, cancellation) as held,
            self.ledger.open_statement(
                account(self.policy, asker), text, items, held.make_ready, cancellation
            ) as statement,
        ):
            if statement.failed is not None:
                raise statement.failed.error()
            for identity, part in parts.items():
                key = keys[identity]
                finder = None if part.finds_keys is None else keys[part.finds_keys.identity]
                beside = None if finder is None else (finder, kept[finder])
                stored = statement.stored.get(key)
                kept[key] = self._measured(key, part, beside, statement, held) if stored is None else stored
        return {identity: Release.from_bytes(kept[key]) for identity, key in keys.items()}

    def _measured(
        self, key: str, part: PricedMeasurement, beside: Beside | None, statement: PaidStatement, held: "_Held"
    ) -> bytes:
        """Measure, and store what may be shown of it, or that it failed.

        From the moment the engine is asked nothing may depend on data but the release. So whatever goes wrong, of which a
        row may be the cause, goes wrong in the same way for whoever asks the same again, and is counted. What a client
        does, and an engine that goes away, are no row's doing: they leave nothing but the charge.
        """
        prepared = held.prepared[key]
        try:
            rows = prepared.run(part.sql, statement.charge)
            finder = None if beside is None else Release.from_bytes(beside[1])
            check(held.cancellation)
            release = _released(part, rows, finder, interruptible(self.entropy, held.cancellation)).to_bytes()
        except EngineLost:
            raise
        except Exception as error:  # whatever it is
            failure = _failure(error, held.cancellation)
            if failure is None:
                raise
            statement.fail(key, failure)
            raise failure.how.error() from None
        try:
            return statement.store(key, release, beside)
        except (LedgerFull, LedgerBusy, LedgerFailed):
            _LOG.error("a release could not be stored: it is told once, and will be charged again")
            return release

    def _items(
        self, parts: Mapping[str, PricedMeasurement], asker: Asker, cancellation: Cancellation
    ) -> tuple[Mapping[str, str], Sequence[ChargeItem]]:
        """Return what each part is stored under, by its identity, and what the ledger is asked for."""
        epoch = self.ledger.epoch(self.refresh, cancellation)  # one for all parts, which belong together
        keys = {identity: self._key(part, asker, epoch) for identity, part in parts.items()}
        return keys, [ChargeItem(keys[identity], part.cost, part.note) for identity, part in parts.items()]

    def _key(self, part: PricedMeasurement, asker: Asker, epoch: int) -> str:
        """Return what a release is stored under: everything that it depends on."""
        kind = self.policy.roles[asker.role].protects
        cost, print_ = part.cost, self.policy.fingerprint
        whose = (self.ledger.identity, kind, print_, epoch)
        parts: tuple[object, ...] = (*whose, cost.epsilon, cost.delta, part.identity)
        if part.finds_keys is not None:
            parts = (*parts, part.finds_keys.cost.epsilon, part.finds_keys.cost.delta)
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


@dataclass(slots=True)
class _Held:
    """What the engine holds ready for one statement."""

    measuring: Measuring
    parts: Mapping[str, PricedMeasurement]
    cancellation: Cancellation
    prepared: dict[str, PreparedMeasurements] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)

    def make_ready(self, missing: AbstractSet[str]) -> None:
        """Make ready what nothing is stored for, instead of what was made ready before."""
        self._stack.close()
        ready = self.measuring.engine.ready(
            [part.sql for key, part in self.parts.items() if key in missing],
            timeout=self.measuring.timeout,
            cancellation=self.cancellation,
        )
        self.prepared = dict.fromkeys(missing, self._stack.enter_context(ready))


def account(policy: Policy, asker: Asker) -> Account:
    """Return who pays for what somebody asks."""
    role = policy.roles[asker.role]
    return Account(asker.user, role, policy.budgets[role.protects])


def _failure(error: Exception, cancellation: Cancellation) -> Failure | None:
    """Return how a measurement failed; None if somebody has stopped it."""
    match error:
        case QueryCanceled():
            return None if cancellation.requested else Failure(Failing.LATE, "the time limit was met")
        case EngineFailed():
            return Failure(Failing.ENGINE, "the engine could not run the statement")
        case _:
            _LOG.exception("a measurement failed after the engine was asked")
            frames = [f for f in traceback.extract_tb(error.__traceback__) if _OURS in Path(f.filename).parents]
            where = Path(frames[-1].filename).relative_to(_OURS)
            return Failure(Failing.BROKEN, f"{type(error).__name__} in {where}, line {frames[-1].lineno}")


def _released(part: PricedMeasurement, rows: Sequence[EngineRow], finder: Release | None, entropy: Entropy) -> Release:
    """Return what may be shown of the engine's rows; they end here."""
    measurement = part.measurement
    keys = None if finder is None else finder.keys
    match measurement:
        case Sums():
            exact = exact_sums(measurement, rows)
            return release_sums(measurement, exact if keys is None else exact.at(keys), entropy, part.rule)
        case Histogram():
            return release_buckets(measurement, exact_buckets(measurement, rows, keys), entropy)
