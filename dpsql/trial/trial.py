"""The trial of a statement: its very text runs on synthetic people before it runs on records for the first time.

The trial checks a claim. Without any one unit the measured numbers move no further than the noise is made for, in its
norm. No order of rows and no row of nobody moves them at all. Groups that the engine finds keep their order, and a unit
is in no more of them than it may be. Nothing fails. The trial is no proof, but the property test of the one statement
that is about to be asked, on the very kind of engine. It catches a wrong proof, a wrong dialect and a wrong optimizer.

A trial reads no record, and asks nothing of the engine that has them.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from dpsql.errors import TrialFailed
from dpsql.policy.model import SqlType, TrialMode, Value
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Measured, with_relation
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.constant_table import AnswerForm, ConstantTable, DeferredTable, TableRows
from dpsql.rewrite.ir.relation import awaited_tables, with_answers
from dpsql.trial.database_comparison import Outcome, TimeLimit, what_is_wrong
from dpsql.trial.engine import DatabaseVariant, TrialEngine, TrialEngineFailed, database_variants
from dpsql.trial.records import MOST_TRIED_ROWS
from dpsql.trial.second_reading import is_proved
from dpsql.trial.subject import TrialSubject
from dpsql.trial.tried_forms import TriedForms, form_of

_LOG = logging.getLogger("dpsql.trial")
# Up to some number of rows the engine's text has no marks of heavy units: there are none of them to weigh apart (see
# privacy/measurement/engine_sql.py). Both texts are tried.
_CHOSEN = (3, 24)
"""Values of C where a statement's own is chosen by releases: a small one, and one for which units are marked."""
_UNREADY = "databases"
"""It stands for the number where there is nothing to try statements on."""
_LONGEST = 20.0
"""Seconds that the trial of a measurement may take: on some hundred rows only one that makes millions takes seconds.

They are of the processor, where this process does the work.
"""
# A failure is told again for some time: else a client that retries would keep the engine of the trial at work.
_REMEMBERED, _LATE, _MOST_FAILURES = 600.0, 30.0, 1_000
"""Seconds for which a failure is told again without a trial; the same of what took too long; and of how many."""
_SHOWN = 40
"""Made-up rows that the log shows of a unit that moves too much."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A trial that failed."""

    number: str
    """Under which the operator's log has what shows why."""
    late: bool = False
    """Whether it took too long, and nothing else is known to be wrong."""

    def error(self) -> TrialFailed:
        """Return what the client is told."""
        late = f"It took longer than {_LONGEST:g} seconds: try again when less goes on, or ask for less at once."
        return failed_trial(self.number, late if self.late else None)


def failed_trial(number: str, hint: str | None = None) -> TrialFailed:
    """Return what a client is told of a trial that failed; the operator's log says more under its number."""
    log = f"Tell the operator of dpsql: its log shows why under trial {number}. Write the statement in another way."
    return TrialFailed(
        f"the trial of this statement on synthetic data failed (trial {number}); no record was read, nothing was charged",
        hint=hint or log,
    )


class StatementTrial:
    """Tries statements for one engine, under one policy."""

    def __init__(
        self,
        subject: TrialSubject,
        prepare: Callable[[TrialSubject], TrialEngine],
        edition: str,
        emitter: Emitter,
        tried: TriedForms,
        mode: TrialMode = TrialMode.FORMS,
    ) -> None:
        """Try on what `prepare` makes as soon as something is to be tried; `edition` is the engine's version, and ours."""
        self._subject, self._prepare, self._emitter, self._tried = subject, prepare, emitter, tried
        # A form that has passed has done so for this engine's version, this version of dpsql, and this policy. With any
        # other of them it is tried again.
        self._about = f"{edition} {subject.policy.fingerprint}"
        self._mode, self._making = mode, threading.Lock()
        self._failures: dict[str, tuple[_Failure, float]] = {}
        """By key the number of what failed lately, and until when that is told again."""
        self._trial_engine: TrialEngine | None = None
        self._places = database_variants(subject.records)

    def key(self, part: PricedMeasurement, kind: str) -> str:
        """Return what stands for a measurement's form, with what it is tried for."""
        return hashlib.sha256(f"{form_of(part.measurement, part.sql)} {kind} {self._about}".encode()).hexdigest()

    def has_passed(self, key: str) -> bool:
        """Return whether a form needs no trial any more."""
        return self._mode is not TrialMode.ALWAYS and key in self._tried

    def rows(self, key: str) -> Sequence[EngineRow]:
        """Return the engine's rows of a form, over synthetic people; the constants may have been others."""
        return self._tried.rows(key)

    def was_proved(self, key: str) -> bool:
        """Return whether the price of a form was proved when it was tried."""
        return _of_proof(key) in self._tried

    def was_short(self, key: str) -> bool:
        """Return whether the trial of a form did not go through all databases, for want of time; its price was proved."""
        return _of_shortness(key) in self._tried

    def places(self, kind: str) -> Sequence[DatabaseVariant]:
        """Return where statements are tried for a kind."""
        return [place for place in self._places if place.kind == kind]

    def see(self, key: str, part: PricedMeasurement, kind: str, cancellation: Cancellation) -> None:
        """Try a form, unless it has failed lately, as it would again.

        One that takes too long passes if its price is proved by the second reading, and it has gone through one database with
        and without units of one row, of some, and of more than C. Else whoever writes slow statements would get round both.

        Raises:
            TrialFailed: it does not hold what it claims.
            QueryCanceled: somebody cancelled, or it takes too long.
        """
        if self._mode is TrialMode.FORMS:
            failed = self._failures.get(key)
            if failed is not None and time.monotonic() < failed[1]:
                raise failed[0].error()
        # Two independent opinions: the proof reads the text and runs nothing, the trial runs it and reads nothing. A
        # text that is wrong has to deceive both in the same way.
        with ThreadPoolExecutor(1) as reading:
            proof = reading.submit(self.is_proved, part, kind)  # while the engine works
            outcomes = self._asked(key, part, kind, cancellation)
            proved = proof.result()
        late = next((outcome for outcome in outcomes if outcome.late), None)
        # Time runs out for two reasons, a slow machine and a statement that is made slow on purpose. They can't be told
        # apart, so that lateness alone never lets a text pass.
        if late is not None and not (proved and all(outcome.databases for outcome in outcomes)):
            raise self._failed(key, part, late).error()
        self._tried.add(key, outcomes[0].rows)
        if proved:
            self._tried.add(_of_proof(key))
        if late is not None:
            _LOG.warning(
                "a trial took too long, and has gone through %d databases; the price is proved", late.databases
            )
            self._tried.add(_of_shortness(key))

    def _asked(self, key: str, part: PricedMeasurement, kind: str, cancellation: Cancellation) -> Sequence[Outcome]:
        """Ask the engine for a form's variants, and remember what is wrong; return what came of each."""
        trial_engine = self._ready()  # for which the first of all statements waits, and which is no fault of it
        limit, places = TimeLimit(_LONGEST, in_process=trial_engine.in_process), self.places(kind)
        variants, outcomes = list(self._variants(part)), list[Outcome]()
        for number, (measurement, sql) in enumerate(variants):
            # Of two numbers of rows each is tried on a database of its own.
            own = places if len(variants) == 1 else [p for p in places if p.world % len(variants) == number]
            outcome = self._try(measurement, sql, own, cancellation, limit)
            if outcome.wrong is not None and not outcome.late:
                raise self._failed(key, part, outcome, measurement, sql).error()
            outcomes.append(outcome)
        return outcomes

    def _failed(
        self,
        key: str,
        part: PricedMeasurement,
        outcome: Outcome,
        measurement: Measured | None = None,
        sql: str | None = None,
    ) -> _Failure:
        """Log what failed and remember it; return that."""
        number = self._logged(measurement or part.measurement, sql or part.sql, outcome)
        failed = _Failure(number, late=outcome.late)
        if len(self._failures) >= _MOST_FAILURES:
            self._failures.clear()
        self._failures[key] = failed, time.monotonic() + (_LATE if failed.late else _REMEMBERED)
        return failed

    def is_proved(self, part: PricedMeasurement, kind: str) -> bool:
        """Return whether the text of a measurement proves by itself that a unit of a kind moves it as far as is claimed.

        Where C will be chosen, or an inner answer is awaited, that is of the texts that are tried.
        """
        tables = self._subject.unit_tables(kind)
        texts = self._variants(part)
        return all(is_proved(measurement, sql, self._subject.language, tables) for measurement, sql in texts)

    def _ready(self) -> TrialEngine:
        """Return the synthetic databases, which the first statement of a new form waits for."""
        with self._making:
            if self._trial_engine is None:
                try:
                    self._trial_engine = self._prepare(self._subject)
                except TrialEngineFailed as failed:
                    _LOG.error("trial %s: %s", _UNREADY, failed)
                    raise _Failure(_UNREADY).error() from None
            return self._trial_engine

    def _variants(self, part: PricedMeasurement) -> Iterator[tuple[Measured, str]]:
        """Yield a measurement as it may be asked: what releases will say is made up, as answers and numbers of rows."""
        measurement, sql = part.measurement, part.sql
        if awaited_tables(measurement.relation):
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
        places: Sequence[DatabaseVariant],
        cancellation: Cancellation,
        limit: TimeLimit,
    ) -> Outcome:
        """Try one measurement in all places; databases that are gone are made anew, once."""
        trial_engine = self._ready()
        outcome = what_is_wrong(trial_engine, measurement, sql, places, cancellation, limit)
        if outcome.wrong is not None and not trial_engine.alive:
            with self._making:
                self._trial_engine = None if self._trial_engine is trial_engine else self._trial_engine
            outcome = what_is_wrong(self._ready(), measurement, sql, places, cancellation, limit)
        return outcome

    def _logged(self, measurement: Measured, sql: str, outcome: Outcome) -> str:
        """Log why a statement is refused, with the statement and made-up rows, under a number; return that.

        What took too long is no mistake on certain rows, and its statement is long.
        """
        place = outcome.place
        # To look into a failed trial: search the log for this number. The line has the statement in the words of the
        # trial's engine and the made-up rows of the unit that moved it; nothing in it is anybody's. The same statement
        # gets the same number again.
        number = hashlib.sha256(f"{place.name} {sql}".encode()).hexdigest()[:8]
        read = {source.table.name for source in measurement.relation.sources}
        rows = {
            name: made.rows_of(place.kind, place.unit)
            for name, made in self._subject.records[place.world].tables.items()
            if name in read
        }
        shown = {} if outcome.late else {name: own[:_SHOWN] for name, own in rows.items()}
        _LOG.error(
            "trial %s: %s, in %s; synthetic rows: %s; statement: %s", number, outcome.wrong, place.name, shown, sql
        )
        return number


def _of_proof(key: str) -> str:
    """Return what stands for a form whose price was proved."""
    return hashlib.sha256(f"proved {key}".encode()).hexdigest()


def _of_shortness(key: str) -> str:
    """Return what stands for a form of which not all was tried."""
    return hashlib.sha256(f"short {key}".encode()).hexdigest()


def _made_up_answer(table: DeferredTable) -> ConstantTable:
    """Return some rows for the answer of an inner query."""
    if table.form is AnswerForm.FACTS:
        return table.answered(((1,), (None,)))
    columns = [_made_up_values(column.type) for column in table.columns.values()]
    rows: TableRows = tuple(zip(*columns, strict=True))
    return table.answered(rows[: 1 if table.is_single or not table.several else len(rows)])


def _made_up_values(type_: SqlType) -> tuple[Value | None, ...]:
    match type_:
        case SqlType.BOOLEAN:
            return (True, False, None)
        case SqlType.UUID:
            return ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002", None)
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.ENUM:
            return ("a", "cash", None)
        case SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT:
            return (1, 2, None)
        case SqlType.DATE | SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ | SqlType.TIME | SqlType.INTERVAL:
            return (1, 2, None)
        case SqlType.NUMERIC | SqlType.REAL | SqlType.DOUBLE | SqlType.JSON:
            return (Fraction(1), Fraction(5, 2), None)
        case _ as never:
            assert_never(never)
