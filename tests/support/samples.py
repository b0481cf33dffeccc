"""The part of many similar cases that CI tries, the same every time, spread by their names; `make test-all` tries all.

Each case is tried in some way, or each idea on some cases: docs/development.md says of which tests this is so.
"""

import os
import zlib
from collections.abc import Mapping, Sequence

import pytest

slow = pytest.mark.slow
ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""What `make test-all` sets."""


def examples(few: int, many: int) -> int:
    """Return how many to try of what is drawn."""
    return many if ALL else few


def spread(name: str, number: int) -> int:
    """Return a number below `number` that a name always has."""
    return zlib.crc32(name.encode()) % number


def in_one_way(
    cases: Mapping[str, tuple[object, ...]], ways: Sequence[object], of_ways: Sequence[str], one_of: int = 1
) -> list[pytest.ParameterSet]:
    """Return every case, by its name, in every way; but for one way of about one case of so many they are slow."""
    return [
        pytest.param(*case, way, id=f"{name}-{of_way}", marks=() if place == spread(name, len(ways) * one_of) else slow)
        for name, case in cases.items()
        for place, (way, of_way) in enumerate(zip(ways, of_ways, strict=True))
    ]


def some(cases: Mapping[str, tuple[object, ...]], one_of: int) -> list[pytest.ParameterSet]:
    """Return every case, by its name; but for about one of so many they are slow."""
    return [
        pytest.param(*case, id=name, marks=() if spread(name, one_of) == 0 else slow) for name, case in cases.items()
    ]
