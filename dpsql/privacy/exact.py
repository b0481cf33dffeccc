"""What the engine returned, before noise: it exists between `run` and `release` and shows itself to nobody."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpsql.errors import InternalError
from dpsql.privacy.sums import Sums
from dpsql.rewrite.keys import Cell

Row = Sequence[int | str | None]
"""One row of the engine: the groups' keys, then whole numbers as text."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact coordinates of every group; not to be printed, logged or sent."""

    coordinates: Sequence[Sequence[int]] = field(repr=False)


def exact_sums(measurement: Sums, rows: Sequence[Row]) -> Exact:
    """Return the coordinates of every public group from the engine's rows.

    Groups that the policy does not know are nobody's and are dropped; groups without rows are zero. Everything else about
    the rows, their number and order included, ends here.

    Raises:
        InternalError: a sum is not a whole number.
    """
    groups, width = measurement.groups, len(measurement.groups.keys)
    place = {grouped: index for index, grouped in enumerate(groups.grouped)}
    found: list[Sequence[int] | None] = [None] * len(groups.grouped)
    for row in rows:
        index = place.get(tuple(_cell(cell) for cell in row[:width]))
        if index is not None:
            found[index] = measurement.coordinates([_whole(cell) for cell in row[width:]])
    nothing = (0,) * len(measurement.features)
    return Exact([nothing if coordinates is None else coordinates for coordinates in found])


def _cell(cell: int | str | None) -> Cell:
    return cell


def _whole(cell: int | str | None) -> int:
    if cell is None:
        return 0
    if not isinstance(cell, (int, str)) or isinstance(cell, bool):
        raise InternalError
    try:
        return int(cell)
    except ValueError:
        raise InternalError from None
