"""What is stored of a release is read as the very one that was shown first."""

from fractions import Fraction

from dpsql.privacy.measurement.rows_per_unit import ChosenBound
from dpsql.privacy.release.release import Release

RELEASES = [
    Release([[0, -(10**30), 2**63]]),
    Release([[1], [2]], [("cash", None, True), (Fraction(1, 3), -(2**60), "{}")]),
    Release([[5]], chosen=ChosenBound(20, 3, 1, few=True)),
    Release([], []),
]


def test_a_release_is_read_as_it_was_shown() -> None:
    """Who asks first is answered by the release itself, and who asks again by what was stored."""
    for release in RELEASES:
        again = Release.from_bytes(release.to_bytes())
        assert again == release
        assert repr((again.numbers, again.keys)) == repr((release.numbers, release.keys))
        assert again.to_bytes() == release.to_bytes()
