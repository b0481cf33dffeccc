"""Releases that say the same of a measurement, and releases whose groups come to the same together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dpsql.gateway.reuse.told_releases import Told, candidates
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.draws import Draws
from dpsql.privacy.reuse.agreed import TreeEstimates, may_agree
from dpsql.privacy.reuse.derived import Derived
from dpsql.privacy.reuse.lens import Lens
from dpsql.rewrite.analysis.groups import NO_KEYS
from dpsql.rewrite.functions.normal_form import normal_form

_MOST = 24
"""Releases that are put together, those with the least noise."""
_LEVELS = 4
"""Levels of coarser groups that are looked at."""
FindLens = Callable[[str, "Sums | Histogram", Sequence[Feature], Told], Lens | None]
"""Returns how a measurement, which has a name, is read off a release."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Releases that have the same sums of the same groups, and those that have their totals."""

    read: tuple[tuple[Told, Lens], ...]
    needed: tuple[Feature, ...]
    above: "tuple[Agreement, Lens] | None" = None

    def told(self) -> Iterator[Told]:
        """Yield all releases that are read."""
        yield from (told for told, _ in self.read)
        if self.above is not None:
            yield from self.above[0].told()

    def estimates(self, drawn: Mapping[str, Draws]) -> TreeEstimates:
        """Return what they say, by the releases under their keys."""
        sources = tuple(Derived.through(through.only(self.needed), drawn[told.key]) for told, through in self.read)
        above = None if self.above is None else (self.above[0].estimates(drawn), self.above[1])
        return TreeEstimates(sources, self.needed, above)


@dataclass(frozen=True, slots=True)
class Agreeing:
    """Finds what of the releases that a role was told goes together."""

    told: Sequence[Told]
    lenses: FindLens

    def agreement(self, name: str, wanted: Sums, needed: tuple[Feature, ...], level: int = 0) -> Agreement | None:
        """Return what several releases say of a measurement; None where it is no more than one."""
        read = self._sources(name, wanted, needed)
        if not read:
            return None
        above = self._above(name, wanted, needed, level) if level < _LEVELS else None
        above = above or self._whole(name, wanted, needed, read)
        return Agreement(read, needed, above) if level or above is not None or len(read) > 1 else None

    def _sources(self, name: str, wanted: Sums, needed: tuple[Feature, ...]) -> tuple[tuple[Told, Lens], ...]:
        pairs = [
            (source, through)
            for source in candidates(wanted, self.told)
            if isinstance(source.measurement, Sums)
            and may_agree(source.measurement)
            and (through := self.lenses(name, wanted, needed, source)) is not None
        ]
        return tuple(sorted(pairs, key=lambda pair: pair[1].noise(pair[0].noise, needed))[:_MOST])

    def _above(self, name: str, wanted: Sums, needed: tuple[Feature, ...], level: int) -> tuple[Agreement, Lens] | None:
        """Return what is said of the coarser groups nearest above these, and how they are made of these."""
        itself = Told("", "", PricedMeasurement(wanted, "", name), wanted.epsilon)
        coarser = [source for source in candidates(wanted, self.told) if self._is_coarser(source.measurement, wanted)]
        for coarse in sorted(coarser, key=lambda source: len(source.measurement.groups.grouped), reverse=True):
            measured = coarse.measurement
            of_totals = replace(wanted, relation=measured.relation, where=measured.where, groups=measured.groups)
            of_name = f"{name} {coarse.part.identity}"
            made = self.lenses(of_name, of_totals, needed, itself)
            if made is None or not _adds_up(made, needed):
                continue
            agreement = self.agreement(of_name, of_totals, needed, level + 1)
            if agreement is not None:
                return agreement, made
        return None

    def _whole(
        self, name: str, wanted: Sums, needed: tuple[Feature, ...], read: Sequence[tuple[Told, Lens]]
    ) -> tuple[Agreement, Lens] | None:
        """Return what all groups come to together, by any groups of the same rows that were released beside these."""
        if not wanted.groups.keys:
            return None
        itself = Told("", "", PricedMeasurement(wanted, "", name), wanted.epsilon)
        of_whole, of_name = replace(wanted, groups=NO_KEYS), f"{name} as a whole"
        sources = self._sources(of_name, of_whole, needed)
        made = self.lenses(of_name, of_whole, needed, itself)
        if made is None or not _adds_up(made, needed) or len(sources) <= len(read):
            return None
        return Agreement(sources, needed), made

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
        len(feature_terms) == 1
        and feature_terms[0].factor == 1
        and feature_terms[0].lines == 0
        and feature_terms[0].feature == f
        for feature_terms, f in zip(terms, needed, strict=True)
    )
