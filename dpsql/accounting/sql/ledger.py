"""A ledger in SQL tables, whichever database holds them: any number of threads and processes."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Any, Self

from dpsql.accounting.balance import Account, Balance, budget_notice, require_measurements_left
from dpsql.accounting.ledger import (
    AHEAD,
    REDATED,
    Beside,
    ChargeItem,
    ClaimDenial,
    DataSet,
    Entry,
    Event,
    Failure,
    FailureKind,
    LastMeasurement,
    MakeReady,
    PaidStatement,
    Redating,
    StandingClaim,
    StandingQuestion,
    ToldRelease,
    WantedClaim,
    presentable,
    without_engine,
)
from dpsql.accounting.privacy_loss import compose, first_day, issue
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql import lines, releases, standing
from dpsql.accounting.sql.balances import RunningTotals, balance_of, catch_up
from dpsql.accounting.sql.releases import LedgerLooks
from dpsql.accounting.sql.store import LedgerStore, MeasuringClaims, SqlConnection
from dpsql.clock import Clock
from dpsql.errors import InternalError
from dpsql.interrupt import pause, wait_for
from dpsql.policy.model import Period, Privacy
from dpsql.question import Cancellation

# Single flight: of those in this process who ask for the same measurement at once, one measures and the rest wait.


class SingleFlight:
    """The measurements under way in this process, by key."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: set[str] = set()

    def acquire(self, keys: AbstractSet[str], cancellation: Cancellation | None = None) -> "HeldKeys":
        """Wait until none of `keys` is under way, then take them all.

        Taking all or none keeps statements that share some keys from waiting for each other in a circle, provided that
        a thread has no more than one `HeldKeys` at a time.

        Raises:
            QueryCanceled: somebody has cancelled, and none is taken.
        """
        with self._changed:
            wait_for(self._changed, lambda: self._taken.isdisjoint(keys), cancellation)
            self._taken |= keys
        return HeldKeys(self, set(keys))

    def _release(self, keys: AbstractSet[str]) -> None:
        with self._changed:
            self._taken -= keys
            self._changed.notify_all()


class HeldKeys:
    """The keys that one statement has taken and not yet given back."""

    def __init__(self, single_flight: SingleFlight, keys: set[str]) -> None:
        self._single_flight = single_flight
        self._keys = keys

    def release(self, keys: AbstractSet[str]) -> None:
        """Give back those of `keys` that are still held, so that those who wait for them go on."""
        held = self._keys & keys
        self._keys -= held
        self._single_flight._release(held)  # noqa: SLF001  (the two classes are one thing)

    def release_all(self) -> None:
        """Give back all that is still held."""
        self.release(set(self._keys))


# The ledger's own clock: the system's, but that it never runs backwards.


class LedgerClock:
    """Where the system's clock was set back, it goes on from where it was by the time that passes."""

    def __init__(self, clock: Clock, passing: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._passing = clock, passing
        self._last = datetime.min.replace(tzinfo=UTC)
        self._passed = passing()

    def now(self, written: datetime | None = None) -> datetime:
        """Return the time in UTC: none earlier than it has told before, nor than what is `written` already."""
        now, passed = self._clock().astimezone(UTC), self._passing()
        if now < self._last:
            now = self._last + timedelta(seconds=passed - self._passed)
        self._last = now if written is None else max(now, written)
        self._passed = passed
        return self._last


# What of a ledger lies in the future, and the line that dates it up to now; see `dpsql.accounting.ledger`.

_AHEAD = """
SELECT max(s.time), max(c.first_read), min(c.id), count(*) FROM charges c JOIN statements s ON s.id = c.statement
WHERE c.id > ?1 AND (s.time > ?2 OR c.first_read > ?3)
"""
_BEFORE = """
SELECT s.time FROM charges c JOIN statements s ON s.id = c.statement WHERE c.id < ?1 OR ?1 IS NULL ORDER BY c.id DESC LIMIT 1
"""
_EVENTS = "SELECT max(time) FROM events WHERE id > ?1"


def time_ahead(connection: SqlConnection, totals: RunningTotals, refresh: Period, now: datetime) -> datetime | None:
    """Return until when lies in the future what was written since it was last dated; None where nothing does."""
    times = [_time_of(found) for found in _charges_ahead(connection, totals, now)[:2]]
    event = totals.redatings[-1].event if totals.redatings else 0
    times.append(_time_of(connection.execute(_EVENTS, (event,)).fetchone()[0]))
    if releases.is_ahead(connection, refresh, now):
        times.append(releases.last_began(connection))
    latest = max(times)
    return latest if latest > now + AHEAD else None


def enter_redating(connection: SqlConnection, totals: RunningTotals, now: datetime) -> Redating:
    """Write the line that dates up to now what lies in the future."""
    _, _, first, number = _charges_ahead(connection, totals, now)
    before = connection.execute(_BEFORE, (first,)).fetchone()
    begin = date.min if before is None else datetime.fromisoformat(before[0]).date()
    unwritten = Redating(0, now, begin, lines.last_event(connection), number)
    statement = lines.enter_statement(
        connection, now, "", ("", ""), f"dpsql ledger redate: {number} charges, from {begin}"
    )
    read = ReadDays.of_now(now)
    line = lines.enter_charge(connection, statement, unwritten.key, REDATED, compose(()), read, measured=False)
    return Redating(line, now, begin, unwritten.event, number)


def _charges_ahead(connection: SqlConnection, totals: RunningTotals, now: datetime) -> tuple[Any, Any, int | None, int]:
    """Return of the charges that lie in the future the latest time and day of reading, the first one, and how many."""
    line, until = totals.redatings[-1].line if totals.redatings else 0, now + AHEAD
    found = connection.execute(_AHEAD, (line, until.isoformat(), until.date().isoformat())).fetchone()
    latest, first_read, first, number = found
    return latest, first_read, first, int(number)


def _time_of(written: Any) -> datetime:
    return datetime.min.replace(tzinfo=UTC) if written is None else datetime.fromisoformat(written).replace(tzinfo=UTC)


# The ledger: every method is a look, or one transaction of the store.

_LOG = logging.getLogger("dpsql.ledger")
_CLAIM_AGAIN = 0.02
"""Seconds until it is looked for again what another process measures."""
_Asked = tuple[str, str | None]
"""The ledger's lines about a statement: its text, and the question that releases are kept by."""


class SqlLedger:
    """A `Ledger`; see there for what its methods promise."""

    def __init__(self, store: LedgerStore, claims: MeasuringClaims, clock: Clock) -> None:
        """Keep a data set's ledger in a store that is open."""
        self._clock = clock
        self._charged_at = LedgerClock(clock)
        self._store = store
        self._claims = claims
        if store.adopted is not None:
            # Releases of other records answer no questions about these.
            self.advance(f"dpsql adopt, from {store.adopted.name}")
        self._totals = RunningTotals()
        self._single_flight = SingleFlight()
        self._looks = LedgerLooks(store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def identity(self) -> str:
        """Return the ledger's and the data set's identity; see `Ledger.identity`."""
        return self._store.identity

    @property
    def adopted(self) -> DataSet | None:
        """Return whose ledger it was, if it was another's until it was opened."""
        return self._store.adopted

    def close(self) -> None:
        """Close the store."""
        self._claims.close()
        self._store.close()

    def require_writable_file(self) -> None:
        """Return if a charge could be made now: something is written, which changes nothing.

        Raises:
            DpsqlError: what whoever is to be charged would hear.
        """
        self._store.check()
        with self._store.write() as connection:
            self._store.require_owner(connection)
            self._store.touch(connection)

    @contextmanager
    def open_statement(
        self,
        account: Account,
        text: str,
        items: Sequence[ChargeItem],
        ready: MakeReady = without_engine,
        cancellation: Cancellation | None = None,
        question: str | None = None,
    ) -> Iterator[PaidStatement]:
        """Pay for a statement; see `Ledger.open_statement`."""
        keys = frozenset(item.key for item in items)
        if len(keys) < len(items):
            raise InternalError
        question = None if question is None else presentable(question)
        asked, missing, since = (presentable(text), question), frozenset[str](), time.monotonic()
        # Two things keep a measurement from being made twice: threads of this process wait here, other processes at the
        # claims below. Both take all keys of a statement or none, so that no two statements wait for each other.
        # The order of what follows is the ledger's promise: claim, make ready, charge (durable), measure, release. A
        # crash between any two of them leaves a claim that ends with its process, or a charge without a release, which
        # is never less than what was seen.
        held = self._single_flight.acquire(keys, cancellation)
        try:
            statement = None
            # Whether a release is stored is looked up, claims are taken, engines made ready, and then it is looked up again,
            # within the transaction that pays: somebody may have measured in between. `_pay` returns None then, and it begins
            # anew.
            while statement is None:
                self._claims.give_back(missing)
                missing = self._claimed(account, items, cancellation, since)
                if missing:
                    ready(missing)
                statement = self._pay(account, asked, items, missing, cancellation, since)
            # Who waits for what is stored already need not wait for what this statement is about to measure.
            held.release(statement.stored.keys())
            yield statement
        finally:
            held.release_all()
            self._claims.give_back(missing)

    def stored_releases(
        self, account: Account, items: Sequence[ChargeItem], cancellation: Cancellation | None = None
    ) -> Mapping[str, bytes] | FailureKind | None:
        """Return what is paid for and stored; see `Ledger.stored_releases`."""
        return self._looks.stored_releases(account, items, cancellation)

    def paid(
        self, account: Account, keys: Iterable[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, bytes]:
        """Return what is stored and paid for; see `Ledger.paid`."""
        wanted = tuple(keys)
        return self._looks.looked(lambda connection: releases.find_paid(connection, account, wanted), cancellation)

    def told(self, account: Account, after: int, cancellation: Cancellation | None = None) -> tuple[ToldRelease, ...]:
        """Return what a role was told; see `Ledger.told`."""
        return self._looks.looked(lambda connection: releases.find_told(connection, account, after), cancellation)

    def told_under(
        self, account: Account, keys: Iterable[str], cancellation: Cancellation | None = None
    ) -> tuple[ToldRelease, ...]:
        """Return what a role was told under some keys; see `Ledger.told_under`."""
        wanted = tuple(keys)
        return self._looks.looked(
            lambda connection: releases.find_told_under(connection, account, wanted), cancellation
        )

    def readings(
        self, account: Account, keys: Iterable[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, Sequence[str]]:
        """Return what answers were read off; see `Ledger.readings`."""
        wanted = tuple(keys)
        return self._looks.looked(lambda connection: releases.find_readings(connection, account, wanted), cancellation)

    def keep_readings(
        self, account: Account, readings: Mapping[str, Sequence[str]], cancellation: Cancellation | None = None
    ) -> Mapping[str, Sequence[str]]:
        """Store what answers are read off; see `Ledger.keep_readings`."""
        with self._store.write(cancellation, durable=False) as connection:
            return releases.keep_readings(connection, account, readings)

    def balance(
        self, account: Account, cancellation: Cancellation | None = None, read: ReadDays | None = None
    ) -> Balance:
        """Return what was spent; see `Ledger.balance`."""
        with self._store.read(cancellation) as connection:
            return self._balance(connection, account, self._now(), read)

    def entries(self, role: str | None, limit: int, cancellation: Cancellation | None = None) -> tuple[Entry, ...]:
        """Return the newest lines; see `Ledger.entries`."""
        with self._store.read(cancellation) as connection:
            return lines.newest_lines(connection, role, limit)

    def at_hand(
        self, account: Account, keys: Iterable[str], names: Iterable[str], refresh: Period
    ) -> tuple[int, Mapping[str, bytes]] | None:
        """Return what takes no time to find; see `Ledger.at_hand`."""
        found = self._looks.at_hand(account, keys, names)
        if found is None:
            return None
        (number, began), known = found
        return (number, known) if began >= first_day(refresh, self._now()) else None

    def epoch(self, refresh: Period, cancellation: Cancellation | None = None) -> int:
        """Return the epoch; see `Ledger.epoch`."""
        # The usual case reads nothing: the last epoch is known while this process writes.
        due = first_day(refresh, self._now())
        last = self._store.epoch()
        if last is None:
            with self._store.read(cancellation) as connection:
                last = releases.last_epoch(connection)
        number, began = last
        if number and began >= due:
            return number
        with self._store.write(cancellation) as connection:
            number, began = releases.last_epoch(connection)
            # Another process may have been first.
            return number if number and began >= due else self._next_epoch(connection, f"refresh: {refresh}")

    def advance(self, reason: str) -> int:
        """Begin the next epoch; see `Ledger.advance`."""
        with self._store.write() as connection:
            return self._next_epoch(connection, reason)

    def begin(self, reason: str) -> int:
        """Begin an epoch for a reason that no other has, unless it is the last one's; return the last one's number."""
        with self._store.write() as connection:
            # Several processes may see the same cause, such as a new snapshot: the first begins the epoch, the others
            # find it begun.
            if releases.last_reason(connection) == reason:
                return releases.last_epoch(connection)[0]
            return self._next_epoch(connection, reason)

    def begin_lineage(self, name: str) -> None:
        """Write that a writer begins; see `StandingLedger.begin_lineage`."""
        with self._store.write() as connection:
            standing.enter_lineage(connection, name, self._now())

    def standing_claims(
        self, account: Account, keys: Sequence[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, Sequence[StandingClaim]]:
        """Return the claims on questions that were paid for; see `StandingLedger.standing_claims`."""

        def look(connection: SqlConnection) -> Mapping[str, Sequence[StandingClaim]]:
            paid = standing.find_paid(connection, account, keys)
            return {key: standing.find_claims(connection, account, key) for key in paid}

        return self._looks.looked(look, cancellation)

    def claim(self, account: Account, wanted: WantedClaim) -> LastMeasurement | ClaimDenial:
        """Write a claim; see `StandingLedger.claim`."""
        self._store.check()
        with self._store.write() as connection:
            self._store.require_owner(connection)
            if wanted.key not in standing.find_paid(connection, account, (wanted.key,)):
                raise InternalError
            require_measurements_left(self._balance(connection, account, self._now(), None), 1)
            return standing.enter_claim(connection, account, wanted, self._charged_at.now(self._totals.latest))

    def keep_claim(self, account: Account, key: str, claim: LastMeasurement, lineage: str, release: bytes) -> bool:
        """Store the release of a claim; see `StandingLedger.keep_claim`."""
        with self._store.write() as connection:
            return standing.keep_release(connection, account, key, claim, lineage, release)

    def end_claim(
        self, account: Account, key: str, claim: LastMeasurement, text: str, failure: Failure | None, *, written: bool
    ) -> None:
        """End a claim without a release; see `StandingLedger.end_claim`."""
        role, closed = account.role.name, False
        with self._store.write() as connection:
            standing.end_claim(connection, account, key, claim, written=written, locked=failure is not None or written)
            if failure is not None:
                self._catch_up(connection)
                redatings = self._totals.redatings
                closed = lines.enter_failure(
                    connection, account, presentable(text), self._now(), failure, key, redatings=redatings
                )
        if closed:
            _LOG.error("the account of role %s is closed; once you have looked: dpsql unlock %s", role, role)
        elif failure is not None or written:
            _LOG.error("a standing question is locked; once you have looked: dpsql unlock %s", role)

    def note_standing(self, account: Account, question: StandingQuestion) -> None:
        """List a question; see `StandingLedger.note_standing`."""
        with self._store.write() as connection:
            standing.list_question(connection, account, question)

    def standing_questions(
        self, account: Account, cancellation: Cancellation | None = None
    ) -> tuple[StandingQuestion, ...]:
        """Return what a role has paid for; see `StandingLedger.standing_questions`."""
        with self._store.read(cancellation) as connection:
            return standing.find_questions(connection, account)

    def is_closed(self, role: str) -> bool:
        """Return whether an account is closed; see `Ledger.is_closed`."""
        with self._store.read() as connection:
            return lines.is_closed(connection, role)

    def unlock(self, role: str) -> None:
        """Open an account; see `Ledger.unlock`."""
        with self._store.write() as connection:
            lines.enter_opening(connection, role, self._now())
            standing.unlock(connection, role)

    def incidents(self, role: str) -> tuple[Event, ...]:
        """Return what befell an account; see `Ledger.incidents`."""
        with self._store.read() as connection:
            return lines.since_opening(connection, role)

    def grant(self, role: str, amount: Privacy, reason: str) -> None:
        """Let a role spend so much more in its present period; the data set's budget stays what it is."""
        with self._store.write() as connection:
            lines.enter_grant(connection, role, amount, presentable(reason), self._now())

    def correct(self, role: str, kind: str, amount: Privacy, reason: str) -> None:
        """Charge what was told without a charge: to a unit kind's budget and to a role's, or to none's if it is empty."""
        with self._store.write() as connection:
            self._catch_up(connection)
            at = self._charged_at.now(self._totals.latest)
            last = lines.enter_correction(connection, role, kind, amount, presentable(reason), at)
        self._store.note(last)

    def ahead(self, refresh: Period) -> datetime | None:
        """Return until when what is written lies in the future, by more than a clock that was set back a little explains."""
        with self._store.read() as connection:
            self._catch_up(connection)
            return time_ahead(connection, self._totals, refresh, self._now())

    def redate(self, refresh: Period) -> Redating | None:
        """Date what lies in the future up to now; return how, None if nothing does. The clock has to be right.

        An epoch that has begun in the future would last until then: the next one begins.
        """
        with self._store.write() as connection:
            self._catch_up(connection)
            now = self._now()
            if time_ahead(connection, self._totals, refresh, now) is None:
                return None
            redating = enter_redating(connection, self._totals, now)
            if releases.is_ahead(connection, refresh, now):
                self._next_epoch(connection, "dpsql ledger redate")
        self._store.note(redating.line)
        return redating

    def _claimed(
        self, account: Account, items: Sequence[ChargeItem], cancellation: Cancellation | None, since: float
    ) -> frozenset[str]:
        """Return the keys that have to be measured, once no other process does that; a role that can't pay hears so then."""
        claimed = frozenset[str]()
        try:
            while True:
                with self._store.read(cancellation, since) as connection:
                    stored = [releases.find_stored(connection, account, item) for item in items]
                    missing = releases.keys_to_measure(stored)
                    if missing <= claimed:
                        releases.to_be_paid(self._balance(connection, account, self._now(), _read_by(items)), stored)
                        self._claims.give_back(claimed - missing)
                        return missing
                self._claims.give_back(claimed)
                claimed = missing if self._claims.take(missing) else frozenset()
                if not claimed:
                    pause(_CLAIM_AGAIN, cancellation)
        except BaseException:
            self._claims.give_back(claimed)
            raise

    def _pay(
        self,
        account: Account,
        asked: _Asked,
        items: Sequence[ChargeItem],
        ready: frozenset[str],
        cancellation: Cancellation | None,
        since: float,
    ) -> PaidStatement | None:
        """Look up, check and charge in one transaction; None if something has to be measured that is not `ready`."""
        self._store.check()
        with self._store.write(cancellation, since) as connection:
            self._store.require_owner(connection)
            now = self._now()
            stored = [releases.find_stored(connection, account, item) for item in items]
            # Somebody's release may have been forgotten meanwhile, by a new epoch: then more is to be measured than was
            # made ready.
            if not ready.issuperset(releases.keys_to_measure(stored)):
                return None
            balance = self._balance(connection, account, now, _read_by(items))
            due = releases.to_be_paid(balance, stored)
            at = self._charged_at.now(self._totals.latest)
            last = releases.enter_charges(connection, account, asked[0], at, due) if due else None
        bought = [each for each in due if each.stored]
        if bought:
            # A reader finds the role's releases only once their charge lasts.
            with self._store.write(durable=False) as connection:
                releases.entitle(connection, account, bought, asked[1])
        if last is not None:
            self._store.note(last)
        costs, measured = [each.item.cost for each in due], [each.item.cost for each in due if not each.stored]
        return PaidStatement(
            issue(frozenset(each.item.key for each in due if not each.stored), compose(costs)),
            {each.item.key: each.release for each in stored if each.release is not None},
            next((each.failed for each in stored if each.failed), None),
            partial(self._keep, account, asked[1], cancellation),
            partial(self._mark, account, asked[0], {item.key: item.form for item in items}),
            budget_notice(balance, costs, measured),
        )

    def _keep(
        self,
        account: Account,
        question: str | None,
        cancellation: Cancellation | None,
        key: str,
        release: bytes,
        beside: Beside | None,
    ) -> bytes:
        """Store a release, and return the one that is stored; the first to be stored under a key stays.

        Another process may have been first. Its release is what the role has for its money, and the role's own, of which
        nobody will hear, is forgotten: else it would have paid for one and seen two, or numbers under another's keys.
        """
        # After a power cut it is measured, and charged, again.
        with self._store.write(cancellation, durable=False) as connection:
            return releases.keep_release(connection, account, key, release, beside, question)

    def _mark(
        self, account: Account, text: str, forms: Mapping[str, Callable[[], str]], key: str, failure: Failure
    ) -> None:
        """Store that a measurement failed; where another process was first, with a release, that stays."""
        role, form = account.role.name, forms[key]()
        with self._store.write() as connection:
            releases.mark_failed(connection, account, key, failure.how)
            self._catch_up(connection)
            redatings = self._totals.redatings
            closed = lines.enter_failure(connection, account, text, self._now(), failure, form, redatings=redatings)
        if closed:
            _LOG.error("the account of role %s is closed; once you have looked: dpsql unlock %s", role, role)
        elif failure.how is FailureKind.BROKEN:
            _LOG.error(
                "this form of statement is refused to role %s; once you have looked: dpsql unlock %s", role, role
            )

    def _catch_up(self, connection: SqlConnection) -> None:
        """Read the lines that are new; one that says that the clock was wrong changes what those before it count."""
        totals = catch_up(connection, self._totals)
        if totals is not self._totals:
            self._totals, self._charged_at = totals, LedgerClock(self._clock)

    def _balance(self, connection: SqlConnection, account: Account, now: datetime, read: ReadDays | None) -> Balance:
        self._catch_up(connection)
        at = self._charged_at.now(self._totals.latest)
        return balance_of(connection, account, now, self._totals, at, read)

    def _next_epoch(self, connection: SqlConnection, reason: str) -> int:
        self._looks = LedgerLooks(self._store)
        return releases.enter_epoch(connection, reason, self._now())

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _read_by(items: Sequence[ChargeItem]) -> ReadDays | None:
    """Return when the copies were made that measurements read; None where they read the records themselves."""
    copied = [item.read for item in items if item.read is not None]
    return ReadDays.of_all(copied) if copied else None
