"""Where, among the whole numbers or those of double precision, there begins to be room: found by halving, and by guessing."""

import math
import struct
from collections.abc import Callable
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.rewrite.ir.calendar import DAY

_SIGN = 1 << 63
_STRAIGHT, _COARSE, _FINE = 6, 16, 64
"""So many steps follow a straight line; then some halve what lies between, before round numbers are tried; near 0 the
numbers in double precision are so many that in the end their places are halved."""
_UNITS = (DAY, 3_600_000_000, 60_000_000, 1_000_000, 1000, 100, 10)

Room = Callable[[Fraction], Fraction]


def first_with_room(room: Room, within: Interval, *, whole: bool) -> Fraction:
    """Return the least number of an interval for which there is room, 0 or more, as there is from there to its end."""
    before, after = room(within.low), room(within.high)
    if before >= 0 or after < 0:  # where there is none at the end, nothing is known of what lies before
        return within.low
    fails, fits = _place(within.low, whole=whole), _place(within.high, whole=whole)
    step, last = 0, True
    while fits - fails > 1:
        below, above = _at(fails, whole=whole), _at(fits, whole=whole)
        straight = below + (above - below) * before / (before - after)
        guess = _guess(step, straight, below, above, whole=whole)
        beside = fits - 1 if last else fails + 1
        middle = beside if guess is None else min(max(guess, fails + 1), fits - 1)
        left = room(_at(middle, whole=whole))
        last = left >= 0
        if last:
            fits, after = middle, left
        else:
            fails, before = middle, left
        step += 1
    return _at(fits, whole=whole)


def last_with_room(room: Room, within: Interval, *, whole: bool) -> Fraction:
    """Return the greatest number of an interval for which there is room, as there is from its beginning to there."""
    return -first_with_room(lambda number: room(-number), Interval(-within.high, -within.low), whole=whole)


def _guess(step: int, straight: Fraction, below: Fraction, above: Fraction, *, whole: bool) -> int | None:
    """Return the place to try next; None for one beside the last that was tried."""
    if step < _STRAIGHT:
        return _place(straight, whole=whole) if step % 2 == 0 else None
    if step >= _COARSE and step % 4 < 2:
        return _place(_round_number(below, above, whole=whole), whole=whole) if step % 4 == 0 else None
    if step < _FINE:
        return _place((below + above) / 2, whole=whole)
    return (_place(below, whole=whole) + _place(above, whole=whole)) // 2


def _round_number(low: Fraction, high: Fraction, *, whole: bool) -> Fraction:
    """Return a number above low, and not above high, with the fewest digits after the point; a round one of whole numbers."""
    units = map(Fraction, _UNITS) if whole else (Fraction(1, 10**digits) for digits in range(18))
    for unit in units:
        above = (math.floor(low / unit) + 1) * unit
        if above <= high:
            return above
    return high


def _place(number: Fraction, *, whole: bool) -> int:
    """Return the place of a number, or of the one below it, among all; that of 0 is 0."""
    if whole:
        return math.floor(number)
    (bits,) = struct.unpack("<q", struct.pack("<d", float(number)))
    return int(bits) if bits >= 0 else -int(bits + _SIGN)


def _at(place: int, *, whole: bool) -> Fraction:
    if whole:
        return Fraction(place)
    (number,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return Fraction(-number if place < 0 else number)
