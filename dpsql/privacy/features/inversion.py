"""Intervals by inversion (Fieller 1954): of all values that noise could have made what was released."""

from collections.abc import Callable

_ROUNDS, _NEAR = 16, 0.02
_LEAST = 1 / 16
"""A margin is at least this share of how far noise reaches: where no possible value is near, it is not said to be exact. Of
what is shown by its root, it is so before the root is taken."""


def inverted_width(
    at: float,
    reached: Callable[[float], float],
    possible: tuple[float, float],
    root: Callable[[float], float] | None = None,
) -> float:
    """Return how far the values that could have been released as `at` are from what is shown.

    A value θ could have been if |at − θ| ≤ reached(θ), how far noise reaches about θ. Of two sides it is the mean, which
    covers as much as both together; where one is cut off, what is not `possible` not being shown, it is the longer. So it
    is where what is shown is the `root`, of which the sides differ by much.
    """
    shown = root or _itself
    least, most = possible
    ends = [_end(at, reached, possible, side) for side in (-1, 1)]
    nearest = _within(at, possible)
    value, (low, high) = shown(nearest), map(shown, ends)
    if root is None and least < ends[0] <= at <= ends[1] < most:
        return (high - low) / 2
    smallest = nearest + _LEAST * (_within(nearest + reached(at), possible) - nearest)
    return max(value - low, high - value, abs(shown(smallest) - value))


def _end(at: float, reached: Callable[[float], float], possible: tuple[float, float], side: int) -> float:
    """Return the end of the interval on one side, by repeated substitution."""
    end = _within(at, possible)
    for _ in range(_ROUNDS):
        width = reached(end)
        further = _within(at + side * width, possible)
        if abs(further - end) <= _NEAR * width:
            return further
        end = further
    return end


def _itself(value: float) -> float:
    return value


def _within(value: float, possible: tuple[float, float]) -> float:
    return min(max(value, possible[0]), possible[1])
