"""Intervals by inversion (Fieller 1954): of all values that noise could have made what was released."""

from collections.abc import Callable

_ROUNDS, _NEAR = 16, 0.02
_HALF, _MORE, _MOST = 0.5, 0.1, 0.7
"""See `_share`: by the equation that its law gives, from equal sides to one four times the other."""
_TINY = 1e-300
"""It stands for a side without length."""
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
    covers as much as both together, and a little more where the `root` is shown, of which the sides differ by much; where
    one is cut off, what is not `possible` not being shown, it is the longer.
    """
    shown = root or _itself
    least, most = possible
    ends = [_end(at, reached, possible, side) for side in (-1, 1)]
    nearest = _within(at, possible)
    value, (low, high) = shown(nearest), map(shown, ends)
    if least < ends[0] <= at <= ends[1] < most:
        shorter, longer = sorted((value - low, high - value))
        return shorter + (longer - shorter) * (0.5 if root is None else _share(longer / max(shorter, _TINY)))
    smallest = nearest + _LEAST * (_within(nearest + reached(at), possible) - nearest)
    return max(value - low, high - value, abs(shown(smallest) - value))


def _share(ratio: float) -> float:
    """Return how far from the shorter side to the longer a root's margin reaches, such that it covers as much as both.

    Beyond a side of length L noise has the probability 2.5 %·e^(−3(x/L − 1)) or so, and of both together there must be 5 %.
    """
    return min(_HALF + _MORE * (ratio - 1), _MOST)


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
