"""Which releases say the same of a measurement, and which ones say what its groups come to together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.gateway.reuse.told_releases import Told
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.draws import Draws
from dpsql.privacy.release.release import Release
from dpsql.privacy.reuse.agreed import TreeEstimates, may_agree
from dpsql.privacy.reuse.derived import Derived
from dpsql.privacy.reuse.lens import Lens
from dpsql.rewrite.functions.normal_form import normal_form

_MOST = 24
"""Releases that are put together, those with the least noise."""
_LEVELS = 4
"""Levels of coarser groups that are looked at."""
Lenses = Callable[[str, "Sums | Histogram", Sequence[Feature], Told], Lens | None]
"""Returns how a measurement, which has a name, is read off a release."""


@dataclass(slots=True)
class Agreeing:
    """Puts together what a role was told."""

    told: Sequence[Told]
    lenses: Lenses
    paid: Callable[[Iterable[str]], Mapping[str, bytes]]
    """Returns the releases that are there, by their keys."""
    releases: dict[str, tuple[PricedMeasurement, bytes]] = field(default_factory=dict)
    """The releases that were read."""

    def estimates(self, name: str, wanted: Sums, needed: tuple[Feature, ...], level: int = 0) -> TreeEstimates | None:
        """Return what several releases say of a measurement; None where it is no more than one."""
        found = self._sources(name, wanted, needed)
        if not found:
            return None
        own = TreeEstimates(found, needed)
        above = self._above(name, wanted, needed, level) if level < _LEVELS else None
        if above is not None:
            return replace(own, above=above)
        return own if level or len(found) > 1 else None

    def _sources(self, name: str, wanted: Sums, needed: tuple[Feature, ...]) -> tuple[Derived, ...]:
        pairs = [
            (one, through)
            for one in self.told
            if isinstance(one.measurement, Sums)
            and may_agree(one.measurement)
            and (through := self.lenses(name, wanted, needed, one)) is not None
        ]
        pairs.sort(key=lambda pair: pair[1].noise(pair[0].measurement, needed))
        best = pairs[:_MOST]
        stored = self.paid([one.key for one, _ in best if one.key not in self.releases])
        self.releases |= {one.key: (one.part, stored[one.key]) for one, _ in best if one.key in stored}
        return tuple(
            Derived.through(through, Draws.of((one.measurement, Release.from_bytes(self.releases[one.key][1]))))
            for one, through in best
            if one.key in self.releases
        )

    def _above(
        self, name: str, wanted: Sums, needed: tuple[Feature, ...], level: int
    ) -> tuple[TreeEstimates, Lens] | None:
        """Return what is said of the coarser groups nearest above these, and how they are made of these."""
        itself = Told("", "", PricedMeasurement(wanted, "", name), wanted.epsilon)
        coarser = [one for one in self.told if self._is_coarser(one.measurement, wanted)]
        for one in sorted(coarser, key=lambda one: len(one.measurement.groups.grouped), reverse=True):
            measured = one.measurement
            of_totals = replace(wanted, relation=measured.relation, where=measured.where, groups=measured.groups)
            of_name = f"{name} {one.part.identity}"
            made = self.lenses(of_name, of_totals, needed, itself)
            if made is None or not _adds_up(made, needed):
                continue
            found = self.estimates(of_name, of_totals, needed, level + 1)
            if found is not None:
                return found, made
        return None

    def _is_coarser(self, told: Sums | Histogram, wanted: Sums) -> bool:
        """Return whether a release is of the same rows, in fewer groups."""
        if not isinstance(told, Sums) or not may_agree(told) or told.relation.sources != wanted.relation.sources:
            return False
        fewer = len(told.groups.grouped) < len(wanted.groups.grouped)
        return fewer and _said(told) == _said(wanted)


def _said(measured: Sums) -> frozenset[object]:
    return frozenset(normal_form(measured.relation.where, measured.where))


def _adds_up(made: Lens, needed: Sequence[Feature]) -> bool:
    """Return whether each sum of a coarser group is that of the groups that it is made of, the same for all."""
    terms = [made.terms[feature] for feature in needed]
    return all(
        len(one) == 1 and one[0].factor == 1 and one[0].lines == 0 and one[0].feature == f
        for one, f in zip(terms, needed, strict=True)
    )
