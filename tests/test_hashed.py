"""A value that remembers its hash is still the value that it was."""

from dataclasses import dataclass, replace

from dpsql.frozen import HashedOnce, hashed_once


class Counted:
    """Counts how often it is hashed."""

    def __init__(self) -> None:
        self.times = 0

    def __hash__(self) -> int:
        self.times += 1
        return 7


@hashed_once
@dataclass(frozen=True, slots=True)
class Pair(HashedOnce):
    """Two things."""

    first: object
    second: object


def test_a_hash_is_computed_once() -> None:
    """However often it is asked for."""
    counted = Counted()
    pair = Pair(counted, 1)
    assert len({hash(pair) for _ in range(3)}) == 1
    assert counted.times == 1


def test_equal_values_have_equal_hashes() -> None:
    """Whether they have been asked for theirs or not."""
    pair, other = Pair(1, (2, 3)), Pair(1, (2, 3))
    assert hash(pair) == hash(other) == hash((1, (2, 3)))
    assert {pair: "found"}[other] == "found"


def test_a_changed_copy_has_a_hash_of_its_own() -> None:
    """What was remembered is not copied, nor shown."""
    pair = Pair(1, 2)
    assert hash(replace(pair, second=3)) != hash(pair)
    assert repr(pair) == "Pair(first=1, second=2)"
