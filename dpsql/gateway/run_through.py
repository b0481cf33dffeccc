"""A new plan is run through before it is paid for: noise, release and read-out, of sums that its trial has made up.

What fails there would fail after the engine was asked, where it is charged, and tells a bit of what the records are. It
fails for nothing now, and closes no account. Engine and ledger are not asked, and nothing is kept.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from dpsql.errors import DpsqlError, EngineFailed, InternalError, QueryCanceled, TooComplex
from dpsql.gateway.explaining.notices import notices
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.measuring import with_profile
from dpsql.gateway.pricing import Drawn, PricedPlan, by_best, drawn_until
from dpsql.interrupt import interruptible
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.plan import KeySearch, Measured
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import EngineRow
from dpsql.privacy.release.release import Draws, Release, release_of
from dpsql.trial.trial import failed_trial

_LOG = logging.getLogger("dpsql.trial")
_NUMBER = 32  # bits
_MANY = 10**6
"""By which the sums of groups that are selected are multiplied, so that some are shown."""

MadeUpRows = Callable[[PricedMeasurement], Sequence[EngineRow]]
"""Returns the engine's rows of a measurement, over synthetic people."""


def no_rows(part: PricedMeasurement) -> Sequence[EngineRow]:
    """Return none, for where nothing is tried."""
    _ = part
    return ()


@dataclass(frozen=True, slots=True)
class _MadeUp:
    """The releases of a plan's measurements, each made once."""

    rows_of: MadeUpRows
    reading: Reading
    releases: dict[tuple[str, object], Release] = field(default_factory=dict)

    def measured(self, step: PricedPlan, enough: bool) -> Mapping[str, Release]:
        """Return what is released of a step's measurements, in their order, as the gateway does it of records."""
        _ = enough
        drawn: dict[str, Draws] = {}
        for waiting in step.measurements:
            # An aimed plan measures the same thing again at another price: each is a release of its own.
            key = waiting.identity, waiting.cost
            if key not in self.releases:
                self.releases[key] = self._released(step, waiting, drawn)
            drawn[waiting.identity] = Draws.of((waiting.measurement, self.releases[key]))
        return {part.identity: self.releases[part.identity, part.cost] for part in step.measurements}

    def _released(self, step: PricedPlan, waiting: PricedMeasurement, drawn: Drawn) -> Release:
        # With inner answers in it a text may be too long. A C is a number like another, and nothing reads the text here.
        complete = self.reading.completed if waiting.awaits else self.reading.settled
        part = complete(step, waiting, drawn)
        finder = None if part.finds_keys is None else drawn[part.finds_keys.identity].best[1]
        rows = _large_enough(part.measurement, self.rows_of(waiting))
        entropy = interruptible(Random().randbytes, self.reading.cancellation)  # noqa: S311 # of nobody's sums
        # Written and read, too, as the ledger will have it.
        return Release.from_bytes(release_of(part, rows, finder, entropy).to_bytes())


def _large_enough(measurement: Measured, rows: Sequence[EngineRow]) -> Sequence[EngineRow]:
    """Return rows of the engine by which groups are shown, where they are selected, and in which nothing is missing."""
    keys = len(measurement.groups.keys)
    match measurement:
        case BeyondBounds():  # which alone has a row where nobody has one
            return rows or [[0] * (1 + 2 * len(measurement.columns))]
        case Sums() | KeySearch() if keys and not measurement.groups.grouped:
            return [(*row[:keys], *map(_many, row[keys:])) for row in rows]
        case _:
            return rows


def _many(cell: int | str | None) -> int | str | None:
    return None if cell is None else int(cell) * _MANY


def run_through(priced: PricedPlan, rows_of: MadeUpRows, reading: Reading) -> str | None:
    """Return the statement over what is released of synthetic people; None where these can't be answered.

    Raises:
        TrialFailed: noise, release or read-out fails.
        QueryCanceled: somebody cancelled.
        TooComplex: it takes longer than planning may.
    """
    try:
        # From nothing, through every step that an aimed plan may take with these sums.
        priced, drawn = drawn_until(priced, {}, _MadeUp(rows_of, reading).measured)
        if not priced.plan.scopes:  # the profile, which is no statement's
            return None
        drawn = with_profile(by_best(priced, drawn)[1], priced, reading.profile)
        text = reading.over(priced, drawn)
        notices(priced, drawn, reading)
    except (QueryCanceled, TooComplex):
        raise
    except (EngineFailed, InternalError) as failed:
        raise _failed(failed) from None
    except DpsqlError:  # for what was released, such as several rows where there may be one
        return None
    except Exception as failed:  # noqa: BLE001 # of any kind
        raise _failed(failed) from None
    return text


def _failed(error: Exception) -> DpsqlError:
    number = f"{Random().getrandbits(_NUMBER):08x}"  # noqa: S311 # the number of a line in a log
    _LOG.error("trial %s: the release fails on synthetic sums", number, exc_info=error)
    return failed_trial(number)
