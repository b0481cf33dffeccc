"""Facts about the rows of answers, and of public tables, before anything is paid for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """Facts about the rows of an answer before it is there, and about those of a public table."""

    most: int | None
    """None: nobody knows how many there will be."""
    keys: frozenset[str] | None
    """The columns that no two rows agree in; None: there are none."""
    columns: tuple[str, ...] = ()
    """All that there are, in their order; empty if they are not known."""
    values: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Of a public table what stands in each column."""

    def is_one_by(self, columns: frozenset[str]) -> bool:
        """Return whether there is one row at most for each combination of values of these columns."""
        if self.keys is not None and self.keys <= columns:
            return True
        listed = [self.values[name] for name in sorted(columns) if name in self.values]
        return bool(listed) and len(set(zip(*listed, strict=True))) == len(listed[0])


Released = Mapping[str, ReleasedRows]
"""By the names that stand in the places of answers, and those of public tables."""
