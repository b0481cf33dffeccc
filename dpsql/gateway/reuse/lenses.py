"""Lenses, each found once: what a release says of a measurement depends on plans alone, and takes its time to find out.

Where releases have many groups that is much for one statement. Parts for which there is no room are not read off
anything, but measured; the next statement goes on from there.
"""

import math
import time
from collections.abc import Sequence
from functools import partial

from dpsql.errors import TooComplex
from dpsql.gateway.reuse.told_releases import Told
from dpsql.interrupt import ended_when_overdue
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.reuse.lens import Lens, lens
from dpsql.remembered import Remembered
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.same_rows import EnforcedColumns

_MOST = 16 * 2**20
"""Bytes of the lenses that are remembered."""
_PER_GROUP, _PER_LENS = 100, 1_000
_SECONDS = 1.0
"""Of the processor, in which new ones are begun to be found for one statement."""


class Lenses:
    """Lenses by what is read off what."""

    def __init__(self, declared: Declared, enforced: EnforcedColumns) -> None:
        self._declared, self._enforced = declared, enforced
        self._known: Remembered[tuple[Lens | None]] = Remembered(_MOST, _weighed)

    def of_statement(self, *, until_found: bool = False) -> "LensesOfStatement":
        """Return what finds some for one statement, however long it takes if an answer that was given needs them."""
        return LensesOfStatement(self, math.inf if until_found else _SECONDS)

    def remembered(self, key: tuple[str, tuple[Feature, ...], str]) -> tuple[Lens | None] | None:
        """Return what was found."""
        return self._known.get(key)

    def find(
        self,
        key: tuple[str, tuple[Feature, ...], str],
        wanted: Sums | Histogram,
        told: Sums | Histogram,
        *,
        until_found: bool = False,
    ) -> Lens | None:
        """Find one, and remember it; what takes longer than planning may is none, unless an answer needs it again."""
        find = partial(lens, wanted, key[1], told, self._declared, self._enforced)
        try:
            through = find() if until_found else ended_when_overdue(find, None)
        except TooComplex:
            through = None
        self._known.keep(key, (through,))
        return through


class LensesOfStatement:
    """Finds lenses as long as there is room."""

    def __init__(self, lenses: Lenses, seconds: float) -> None:
        self._lenses, self._until = lenses, time.thread_time() + seconds

    def __call__(self, name: str, wanted: Sums | Histogram, needed: Sequence[Feature], told: Told) -> Lens | None:
        """Return how a measurement, which has a name, is read off a release; None where that is not known."""
        key = (name, tuple(needed), told.part.identity)
        kept = self._lenses.remembered(key)
        if kept is not None:
            return kept[0]
        late = time.thread_time() > self._until
        return None if late else self._lenses.find(key, wanted, told.measurement, until_found=math.isinf(self._until))


def _weighed(value: object) -> int:
    match value:
        case (Lens(lines=lines),):
            return _PER_LENS + _PER_GROUP * sum(len(line) for line in lines)
        case _:
            return _PER_LENS
