"""The contents of a profile: how many rows units have, and the share of values beyond the bounds.

All of it is read off releases: post-processing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt

from dpsql.privacy.measurement.beyond_bounds import ONE_UNIT, BeyondBounds
from dpsql.privacy.measurement.plan import Searched
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.release.noisy_ladder import NoisyLadder
from dpsql.privacy.release.release import Release

_REACH = log(20)
"""How many scales of Laplace noise a margin at 95 % is."""


_TWO_SIDED = 1.96
"""How many standard deviations of a sum of noise a margin at 95 % is."""
_ROUNDS = 20
"""After so many a share that is found from itself has settled."""
_SHOWN_BOUNDS = (1, 4, 16, 64, 256)
"""The C of which it is told what they would take off, beside the declared one."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One thing that is known, for people."""

    table: str
    column: str | None
    what: str
    value: float
    margin: float | None
    """The half-width of its 95 % interval, where that can be said."""


@dataclass(frozen=True, slots=True)
class NoisyShare:
    """A share, and the half-width of its 95 % interval; both between 0 and 1."""

    value: float
    margin: float

    @property
    def at_most(self) -> float | None:
        """Return the end of the interval, where the share can't be told from none; else None."""
        return min(self.value + self.margin, 1.0) if self.value <= self.margin else None


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The facts about one table."""

    ladder: NoisyLadder | None = None
    """How many rows units have; None where nobody has asked, or a constraint says that they have one."""
    declared: int = 1
    """C, where the policy says it."""
    beyond: Mapping[str, tuple[NoisyShare, NoisyShare]] = field(default_factory=dict)
    """By column: the mean over units of the share of each unit's values that is below its bounds, and above."""

    def with_rows(self, search: RowsPerUnit, cells: Sequence[int]) -> "TableProfile":
        """Return the profile with the released cells of a search."""
        return replace(self, ladder=NoisyLadder.of(search, cells), declared=search.also)

    def with_values(self, measured: BeyondBounds, cells: Sequence[int]) -> "TableProfile":
        """Return the profile with released shares of values beyond bounds."""
        whole = max(cells[0], ONE_UNIT)
        reach = min(_REACH * float(measured.scale) / whole, 1.0)
        shares = [NoisyShare(min(max(cell / whole, 0.0), 1.0), reach) for cell in cells[1:]]
        pairs = zip(shares[::2], shares[1::2], strict=True)
        beyond = {ref.name: pair for ref, pair in zip(measured.columns, pairs, strict=True)}
        return replace(self, beyond=beyond)

    @property
    def rows(self) -> float | None:
        """Return how many rows there are, as it seems; None where that is not known."""
        return None if self.ladder is None else self.ladder.cut(0)

    @property
    def units(self) -> float:
        """Return how many units there are, as it seems."""
        return 0.0 if self.ladder is None else max(sum(self.ladder.cells), 0.0)

    def share_cut(self, rows: int) -> NoisyShare:
        """Return which share of all rows a C takes off, as it seems."""
        if self.ladder is None or not self.rows:
            return NoisyShare(0.0, 1.0)
        cut, reach = self.ladder.cut(rows), self.ladder.reach(rows)
        return NoisyShare(min(cut / self.rows, 1.0), min(reach / self.rows, 1.0))

    def cut(self, rows: int, counted: float | None = None) -> tuple[float, float]:
        """Return how many rows a C takes off a statement that counts so many rows of this table without them, and ± how many.

        A condition is taken to keep the same share of every unit's rows; `counted` None is all. Both are 0 where it can't be
        told from the profile's own noise: that widens nothing.
        """
        all_rows = self.rows
        if self.ladder is None or not all_rows:
            return 0.0, 0.0
        cut, keeping = 0.0, 1.0
        for _ in range(
            _ROUNDS if counted is not None else 1
        ):  # what is kept is what is counted, and what is cut off it
            keeping = 1.0 if counted is None else min((max(counted, 0.0) + cut) / all_rows, 1.0)
            cut = self.ladder.cut(rows, keeping)
        reach = self.ladder.reach(rows, keeping)
        return (cut, reach) if cut > reach else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """The facts about the tables of one unit kind, by their names."""

    tables: Mapping[str, TableProfile] = field(default_factory=dict)
    releases: tuple[tuple[str, bytes], ...] = ()
    """All releases that it is read off, as they are stored."""

    def of(self, table: str) -> TableProfile | None:
        """Return the profile of a table."""
        return self.tables.get(table)

    def with_release(self, table: str, identity: str, measured: Searched, stored: bytes) -> "Profile":
        """Return the profile with one more release."""
        profile, cells = self.tables.get(table, TableProfile()), Release.from_bytes(stored).numbers[0]
        match measured:
            case RowsPerUnit():
                profile = profile.with_rows(measured, cells)
            case BeyondBounds():
                profile = profile.with_values(measured, cells)
        return Profile({**self.tables, table: profile}, (*self.releases, (identity, stored)))

    def lines(self, kind: str) -> Iterator[ProfileLine]:
        """Yield the profile for a unit kind, a fact a line."""
        for name, table in self.tables.items():
            ladder, rows = table.ladder, table.rows
            if ladder is not None and rows is not None:
                reach = _TWO_SIDED * ladder.deviation * sqrt(len(ladder.cells))
                yield ProfileLine(name, None, f"number of {kind} units", table.units, reach)
                yield ProfileLine(name, None, "number of rows", rows, ladder.reach(0))
                for most in sorted({*_SHOWN_BOUNDS, table.declared}):
                    cut = table.share_cut(most)
                    yield ProfileLine(name, None, f"share of rows cut by max_rows: {most:,}", cut.value, cut.margin)
            for column, (below, above) in table.beyond.items():
                yield ProfileLine(name, column, "share of values below the bounds", below.value, below.margin)
                yield ProfileLine(name, column, "share of values above the bounds", above.value, above.margin)


NOTHING_KNOWN = Profile()
