"""The condition for the rows of a table that a role sees, as the owner of the data wrote it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition over the columns of one table."""

    text: str
    """As it was written, in SQL."""
    place: str = field(default="", compare=False)
    """Where it stands, as messages name it: file, line and key."""
    tree: object = field(default=None, compare=False, repr=False)
    """The condition that is put into statements; None until it was read (`rewrite.syntax.whole.conditions`)."""
