"""The trial of a statement: its very text runs on made-up people before it runs on records for the first time.

Claim checked: without any one unit the measured numbers move no further than the noise is made for, in its norm; no order of
rows and no row of nobody moves them at all; groups that are found keep their order, and a unit is in no more of them than it
may be; nothing fails. It is no proof, but the property test of the one statement that is about to be asked, on the very kind
of engine: it catches a wrong proof, a wrong dialect and a wrong optimizer.

A trial reads no record, and asks nothing of the engine that has them.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpsql.errors import InternalError, TrialFailed
from dpsql.interrupt import stop_if_cancelled
from dpsql.policy.choices import TrialMode
from dpsql.policy.model import SqlType, Value
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.plan import Measured, with_relation
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.awaited_table import AnswerForm, AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable, TableRows
from dpsql.rewrite.ir.relation import awaiting, with_answers
from dpsql.trial.form import form_of
from dpsql.trial.ground import PATIENCE, TOO_LONG, Ground, GroundFailed, TrialPlace, trial_places
from dpsql.trial.moves import MeasuredNumbers, difference, reader
from dpsql.trial.records import MOST_TRIED_ROWS
from dpsql.trial.second_reading import is_proved
from dpsql.trial.subject import TrialSubject
from dpsql.trial.tried_forms import TriedForms
from dpsql.trial.turns import TrialTurns

_LOG = logging.getLogger("dpsql.trial")
_CHOSEN = (3, 24)
"""What is taken for C where a statement's own is chosen by releases: a small one, and one for which units are marked."""
_UNREADY = "databases"
"""What stands for the number where there is nothing to try statements on."""
_LONGEST = 5.0
"""Seconds that the trial of a measurement may take: on some hundred rows only one that makes millions takes as long."""
_REMEMBERED, _MOST_FAILURES = 600.0, 1_000
"""Seconds for which a failure is told again without a trial, and of how many."""
_SHOWN = 40
"""Made-up rows that the log shows of whoever moves too much."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a statement's trial."""

    forms: int = 0
    """How many forms of measurements it has."""
    new: int = 0
    """How many of them were tried now."""
    databases: int = 0
    """In how many made-up databases."""
    seconds: float = 0.0
    proved: int = 0
    """Of how many measurements the price was proved by a second reading, where it was looked for."""
    measurements: int = 0

    def __str__(self) -> str:
        """Return it for people."""
        how = f"in {self.seconds * 1000:,.0f} ms" if self.new else "before"
        price = f"{self.proved} of {self.measurements} prices" if self.measurements > 1 else "the price"
        proved = f"; {price} proved by a second reading" if self.proved else ""
        return f"passed on {self.databases} made-up databases, {how}{proved}"


class StatementTrial:
    """Tries statements for one engine, under one policy."""

    def __init__(
        self,
        subject: TrialSubject,
        prepare: Callable[[TrialSubject], Ground],
        edition: str,
        emitter: Emitter,
        tried: TriedForms,
        mode: TrialMode = TrialMode.FORMS,
    ) -> None:
        """Try on what `prepare` makes as soon as something is to be tried; `edition` is the engine's version, and ours."""
        self._subject, self._prepare, self._emitter, self._tried = subject, prepare, emitter, tried
        self._about = f"{edition} {subject.policy.fingerprint}"
        self._mode, self._making, self._turns = mode, threading.Lock(), TrialTurns()
        self._failures: dict[str, tuple[str, float]] = {}
        """By key the number of what failed lately, and until when that is told again."""
        self._ground: Ground | None = None
        self._places = trial_places(subject.records)

    def see(self, parts: Iterable[PricedMeasurement], kind: str, cancellation: Cancellation, user: str = "") -> Tried:
        """Try the measurements of a statement that have a new form, for those who protect units of a kind.

        Trying costs the user nothing, so that it is kept within bounds: few are tried at once, one of each user, and not for
        long. What fails is remembered for a while, too.

        Raises:
            TrialFailed: one of them does not hold what it claims.
            QueryCanceled: somebody cancelled, or it takes too long.
        """
        since, forms, new = time.monotonic(), set[str](), 0
        places = [place for place in self._places if place.kind == kind]
        for part in parts:
            form = form_of(part.measurement, part.sql)
            key = hashlib.sha256(f"{form} {kind} {self._about}".encode()).hexdigest()
            if key in forms or (self._mode is not TrialMode.ALWAYS and key in self._tried):
                forms.add(key)
                continue
            with self._turns.of(user, cancellation):
                self._see_form(key, part, places, cancellation)
            forms.add(key)
            self._tried.add(key)
            new += 1
        return Tried(len(forms), new, len(places), time.monotonic() - since)

    def is_proved(self, part: PricedMeasurement, kind: str) -> bool:
        """Return whether the text of a measurement proves by itself that a unit of a kind moves it as far as is claimed."""
        language = self._subject.language
        return is_proved(part.measurement, part.sql, language, self._subject.owned_tables(kind))

    def _see_form(
        self, key: str, part: PricedMeasurement, places: Sequence[TrialPlace], cancellation: Cancellation
    ) -> None:
        """Try a form unless it has failed lately, as it would again."""
        if self._mode is TrialMode.FORMS:
            if key in self._tried:
                return  # by somebody whose turn came before
            failed = self._failures.get(key)
            if failed is not None and time.monotonic() < failed[1]:
                raise _refused(failed[0])
        until = time.monotonic() + _LONGEST
        variants = list(self._variants(part))
        for number, (measurement, sql) in enumerate(variants):
            # Of two numbers of rows each is tried on a database of its own.
            own = places if len(variants) == 1 else [p for p in places if p.world % len(variants) == number]
            wrong = self._try(measurement, sql, own, cancellation, until)
            if wrong is not None:
                if len(self._failures) >= _MOST_FAILURES:
                    self._failures.clear()
                self._failures[key] = wrong, time.monotonic() + _REMEMBERED
                raise _refused(wrong)

    def _ready(self) -> Ground:
        """Return the made-up databases, which the first statement of a new form waits for."""
        with self._making:
            if self._ground is None:
                try:
                    self._ground = self._prepare(self._subject)
                except GroundFailed as failed:
                    _LOG.error("trial %s: %s", _UNREADY, failed)
                    raise _refused(_UNREADY) from None
            return self._ground

    def _variants(self, part: PricedMeasurement) -> Iterator[tuple[Measured, str]]:
        """Yield a measurement as it may be asked: what releases will say is made up, as answers and numbers of rows."""
        measurement, sql = part.measurement, part.sql
        if awaiting(measurement.relation):
            measurement = with_relation(measurement, with_answers(measurement.relation, _made_up_answer))
            sql = measurement.sql(self._emitter)
        bound = measurement.bound
        if not isinstance(measurement, (Sums, Histogram, KeySearch)) or (
            bound.up_to is None and bound.rows <= MOST_TRIED_ROWS
        ):
            yield measurement, sql
            return
        for rows in sorted(
            {min(rows, bound.up_to or bound.rows) for rows in (_CHOSEN if bound.up_to else _CHOSEN[1:])}
        ):
            settled = (
                replace(measurement, bound=bound.settled(rows))
                if isinstance(measurement, KeySearch)
                else measurement.settled(rows)
            )
            yield settled, settled.sql(self._emitter)

    def _try(
        self,
        measurement: Measured,
        sql: str,
        places: Sequence[TrialPlace],
        cancellation: Cancellation,
        until: float,
    ) -> str | None:
        """Try one measurement in all places; databases that are gone are made anew, once. Return a failure's number."""
        ground = self._ready()
        place, wrong = _what_is_wrong(ground, measurement, sql, places, cancellation, until)
        if wrong is not None and not ground.alive:
            with self._making:
                self._ground = None if self._ground is ground else self._ground
            place, wrong = _what_is_wrong(self._ready(), measurement, sql, places, cancellation, until)
        return None if wrong is None else self._logged(measurement, sql, place, wrong)

    def _logged(self, measurement: Measured, sql: str, place: TrialPlace, wrong: str) -> str:
        """Log why a statement is refused, with the statement and made-up rows, under a number; return that."""
        number = hashlib.sha256(f"{place.name} {sql}".encode()).hexdigest()[:8]
        read = {source.table.name for source in measurement.relation.sources}
        rows = {
            name: made.rows_of(place.kind, place.unit)
            for name, made in self._subject.records[place.world].tables.items()
            if name in read
        }
        shown = {name: own[:_SHOWN] for name, own in rows.items()}
        _LOG.error("trial %s: %s, in %s; made-up rows: %s; statement: %s", number, wrong, place.name, shown, sql)
        return number


def _left(until: float) -> float:
    """Return the seconds that are left for the next statement.

    Raises:
        GroundFailed: there are none.
    """
    left = until - time.monotonic()
    if left <= 0:
        raise GroundFailed(TOO_LONG)
    return min(left, PATIENCE)


def _what_is_wrong(
    ground: Ground,
    measurement: Measured,
    sql: str,
    places: Sequence[TrialPlace],
    cancellation: Cancellation,
    until: float,
) -> tuple[TrialPlace, str | None]:
    """Return what is wrong with a measurement, and where; None if nothing is in any place, `until` when all are tried."""
    text, read = ground.names.split(sql), reader(measurement)
    whole = MeasuredNumbers(())
    for place in places:
        stop_if_cancelled(cancellation)
        ask = partial(ground.asked, text.at(place.name), cancellation)
        try:
            numbers = read(ask(_left(until)))
            if place.whole:
                whole, plain = numbers, read(ask(_left(until), plainly=True))
                wrong = None if numbers.same(plain) else "the engine's optimizer changes what is measured"
            else:  # what is left of a database comes after it
                wrong = difference(measurement, whole, numbers, neighbour=place.unit is not None)
        except (GroundFailed, InternalError) as failed:
            wrong = f"it fails: {failed}"
        if wrong is not None:
            return place, wrong
    return places[0], None


def _refused(number: str) -> TrialFailed:
    """Return the refusal that names the `number` under which the operator's log has what shows why."""
    return TrialFailed(
        f"the trial of this statement on made-up people failed (trial {number}); no record was read, nothing was charged",
        hint=f"Tell whoever runs dpsql: its log shows why under trial {number}. Write the statement in another way.",
    )


def _made_up_answer(table: AwaitedTable) -> ConstantTable:
    """Return some rows for the answer of an inner query."""
    if table.form is AnswerForm.FACTS:
        return table.answered(((1,), (None,)))
    columns = [_made_up_values(column.type) for column in table.columns.values()]
    rows: TableRows = tuple(zip(*columns, strict=True))
    return table.answered(rows[: 1 if table.is_single or not table.several else len(rows)])


def _made_up_values(type_: SqlType) -> tuple[Value | None, ...]:
    if type_ is SqlType.BOOLEAN:
        return (True, False, None)
    if type_ is SqlType.UUID:
        return ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002", None)
    if type_.is_text:
        return ("a", "cash", None)
    if type_.is_integer or type_.is_temporal or type_.is_span:
        return (1, 2, None)
    return (Fraction(1), Fraction(5, 2), None)
