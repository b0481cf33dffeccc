"""The trial of one statement that is being asked, step by step, and what became of it."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.trial.trial import StatementTrial


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The outcome of a statement's trial."""

    forms: int = 0
    """How many forms of measurements it has."""
    new: int = 0
    """How many of them were tried now."""
    databases: int = 0
    """In how many synthetic databases."""
    seconds: float = 0.0
    proved: int = 0
    """Of how many measurements the price was proved by a second reading when their form was tried."""
    measurements: int = 0
    short: int = 0
    """How many forms were proved, and not tried on all databases, since that took too long."""

    def __str__(self) -> str:
        """Return it for people."""
        how = f"in {self.seconds * 1000:,.0f} ms" if self.new else "before"
        price = f"{self.proved} of {self.measurements} prices" if self.measurements > 1 else "the price"
        proved = f"; {price} verified independently" if self.proved else ""
        short = f"; {self.short} of them only on some, since time was up" if self.short else ""
        return f"passed on {self.databases} synthetic databases{short}, {how}{proved}"


class RunningTrial:
    """The trial of one statement: it may be asked in several steps, and no form is tried twice."""

    def __init__(self, trial: StatementTrial, kind: str, cancellation: Cancellation) -> None:
        """Begin with nothing tried."""
        self._trial, self._kind, self._cancellation = trial, kind, cancellation
        self._keys, self._new, self._seconds = set[str](), 0, 0.0
        self._forms: dict[int, tuple[PricedMeasurement, str]] = {}
        """By object: a form is asked for three times, and takes a tenth of a millisecond to find out."""

    def is_due(self, parts: Iterable[PricedMeasurement]) -> bool:
        """Return whether any measurement has a form that is to be tried; quick."""
        return any(not self._trial.has_passed(key) for key in self._untried(parts))

    def see(self, parts: Iterable[PricedMeasurement]) -> None:
        """Try those that have a new form.

        Raises:
            TrialFailed: one of them does not hold what it claims.
            QueryCanceled: somebody cancelled, or it takes too long.
        """
        since = time.monotonic()
        for key, part in self._untried(parts).items():
            # Asked once more for each: another statement may have had the same form tried in the meantime.
            if not self._trial.has_passed(key):
                self._trial.see(key, part, self._kind, self._cancellation)
                self._new += 1
            self._keys.add(key)
        self._seconds += time.monotonic() - since

    def rows_of(self, part: PricedMeasurement) -> Sequence[EngineRow]:
        """Return what the engine makes of synthetic people for a measurement of this form, perhaps with other constants."""
        return self._trial.rows(self._form(part))

    @property
    def verdict(self) -> str:
        """Return what holds of the forms that were tried, for the audit trail."""
        proved = sum(map(self._trial.was_proved, self._keys))
        if 0 < proved < len(self._keys):
            return f"tried, {proved} of {len(self._keys)} proved"
        return "tried and proved" if proved else "tried"

    def told(self, parts: Sequence[PricedMeasurement] = ()) -> TrialOutcome:
        """Return what became of it, and of how many of these `parts` the price was proved when their form was tried."""
        proved = sum(self._trial.was_proved(self._form(part)) for part in parts)
        places = len(self._trial.places(self._kind))
        short = sum(map(self._trial.was_short, self._keys))
        return TrialOutcome(len(self._keys), self._new, places, self._seconds, proved, len(parts), short)

    def _untried(self, parts: Iterable[PricedMeasurement]) -> dict[str, PricedMeasurement]:
        """Return those that this statement has not seen yet, by their forms."""
        return {key: part for part in parts if (key := self._form(part)) not in self._keys}

    def _form(self, part: PricedMeasurement) -> str:
        if id(part) not in self._forms:
            # With the part itself: as long as it is kept, its id can't be given to another object.
            self._forms[id(part)] = part, self._trial.key(part, self._kind)
        return self._forms[id(part)][1]
