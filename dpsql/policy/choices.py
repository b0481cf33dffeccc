"""The choices of a role, and of a session for itself, that are no amounts."""

from enum import StrEnum


class EmptyGroups(StrEnum):
    """The treatment of public groups that may have no rows."""

    AUTO = "auto"
    """They are left out of rankings that do not show all groups, and where groups are counted, and shown elsewhere."""
    SHOW = "show"
    HIDE = "hide"


class Digits(StrEnum):
    """The digits of an answer's real numbers."""

    AUTO = "auto"
    """Those that noise lets mean something."""
    ALL = "all"


class Reuse(StrEnum):
    """The questions that are computed from answers which the role has paid for, instead of measuring them."""

    OFF = "off"
    """The same measurement alone."""
    EXACT = "exact"
    """Also what such an answer says by itself: in other words, fewer columns, some of its groups."""
    ALL = "all"
    """Also what follows from it: sums of its groups."""


class Preview(StrEnum):
    """The answer to a statement that asks for any rows of a protected table."""

    REFUSE = "refuse"
    MADE_UP = "made-up"


class TrialMode(StrEnum):
    """The statements that run on synthetic data before they run on records."""

    ALWAYS = "always"
    """Each, whenever it is measured."""
    FORMS = "forms"
    """Those of a form that has not passed yet."""
    OFF = "off"


class Accounting(StrEnum):
    """How charges add up."""

    SUM = "sum"
    """ε and δ are added up."""
    ZCDP = "zcdp"
    """Each ε as the ρ of zero-concentrated differential privacy, whose sum is turned into ε at a part of δ."""
