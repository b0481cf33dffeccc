"""A measurement that was not made, as the release of another says it: what `Draws` are, read through a `Lens`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.law import Law
from dpsql.privacy.release.release import Draws, Found
from dpsql.privacy.reuse.lens import Lens

_COPIES = 32
"""Equal noise of more groups is taken for that of so many, with as large a variance: it is a normal one, nearly."""


_NO_LENS = Lens((), {})


@dataclass(frozen=True, slots=True)
class DerivedDraws(Draws):
    """See the module; `drawn` is what was released."""

    lens: Lens = _NO_LENS

    @classmethod
    def through(cls, lens: Lens, draws: Draws) -> "DerivedDraws":
        """Build from what was released."""
        return cls(draws.drawn, draws.profile, lens=lens)

    @property
    def groups(self) -> int:
        """Return how many groups there are."""
        return len(self.lens.lines[0]) if self.lens.lines else 0

    def released(self) -> Draws:
        """Return the release, unchanged."""
        return Draws(self.drawn, self.profile)

    def reader(self) -> Callable[[int], Found]:
        """Return the function from a group's place to all sums that can be read of it."""
        read, lens = self.released().reader(), self.lens
        remembered: dict[int, Found] = {}

        def of(place: int) -> Found:
            if place not in remembered:
                remembered[place] = read(place)
            return remembered[place]

        def estimates_of(group: int) -> Found:
            return {
                feature: sum(
                    float(term.factor) * of(place)[term.feature]
                    for term in terms
                    for place in lens.lines[term.lines][group]
                )
                for feature, terms in lens.terms.items()
            }

        return estimates_of

    def chosen(self) -> Sequence[Sequence[int]]:
        """Return the buckets that were chosen for each group; nothing of sums."""
        numbers, (lines, *_) = self.best[1].numbers, self.lens.lines
        return [numbers[line[0]] if line else [] for line in lines]

    def margins_by_place(self, *, missing: bool) -> Callable[[int | None], Margins | None]:
        """Return the function to the margins of a group; see `Draws`."""
        measured, of_all = self.measurement, self.missing if missing else None
        if not isinstance(measured, Sums):
            return lambda _: None
        remembered: dict[tuple[tuple[frozenset[int], int], ...], Margins] = {}
        released, most = self.released(), self.doubted
        base = Margins.of(measured, most, of_all, released.groups)
        # The share of a group is of all rows that were released. What is read off a release may be a part of it.
        sizes, whole = (self.sizes(), sum(released.sizes())) if base.cut < most else ([], 0.0)

        def margins(place: int | None) -> Margins:
            group = self._widest if place is None else place
            # By their texts: `<` of sets asks whether one is part of the other, which is no order. Groups that are made
            # in the same way, as most weeks of a year are, share one `Margins`.
            made = tuple(sorted(self._made_of(group).items(), key=repr))
            if made not in remembered:
                remembered[made] = self._margins(base, made)
            least = remembered[made].cut
            share = sizes[group] / whole if whole else 0.0
            return remembered[made].cutting(min(max(least, most * share), most))

        return margins

    @property
    def _widest(self) -> int:
        """Return the group that most are added up in."""
        return max(range(self.groups), key=lambda group: sum(len(lines[group]) for lines in self.lens.lines), default=0)

    def _made_of(self, group: int) -> Mapping[frozenset[int], int]:
        """Return of how many released groups a group is made, by which of the lens' lines they are in."""
        if not self.groups:
            return {}
        within: dict[int, set[int]] = {}
        for number, lines in enumerate(self.lens.lines):
            for place in lines[group]:
                within.setdefault(place, set()).add(number)
        made: dict[frozenset[int], int] = {}
        for which in within.values():
            made[frozenset(which)] = made.get(frozenset(which), 0) + 1
        return made

    def _margins(self, base: Margins, made: Sequence[tuple[frozenset[int], int]]) -> Margins:
        """Return margins whose coordinates are those of each released group that a group is made of."""
        coordinates = sum(len(places) for _, places in base.laws)
        laws, readable = list[tuple[Law, tuple[int, ...]]](), dict[Feature, dict[int, float]]()
        for which, number in made:
            copies = min(number, _COPIES)
            size = math.sqrt(number / copies)
            for _ in range(copies):
                first = len(laws) // max(len(base.laws), 1) * coordinates
                # Each released group has drawn noise of its own, so that the margin is that of independent draws: the
                # coordinates of the next copy get places of their own behind those of the one before.
                laws += [(law, tuple(first + place for place in places)) for law, places in base.laws]
                for feature, terms in self.lens.terms.items():
                    onto = readable.setdefault(feature, {})
                    for term in terms:
                        if term.lines in which:
                            for place, times in base.readable[term.feature].items():
                                onto[first + place] = onto.get(first + place, 0.0) + float(term.factor) * times * size
        groups = sum(number for _, number in made)
        return replace(
            base,
            laws=tuple(laws),
            readable={feature: readable.get(feature, {}) for feature in self.lens.terms},
            rounded=self._rounded(base),
            rows=base.rows * max(groups, 1),
            cut=min(base.cut * max(groups, 1), base.cut_of_all),
        )

    def _rounded(self, base: Margins) -> Mapping[Feature, float]:
        """Return by how much a row is off in each sum, where values are rounded."""
        rounded = {
            feature: sum(abs(float(term.factor)) * base.rounded.get(term.feature, 0.0) for term in terms)
            for feature, terms in self.lens.terms.items()
        }
        return {feature: off for feature, off in rounded.items() if off}
