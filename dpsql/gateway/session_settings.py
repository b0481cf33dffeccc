"""What a session has set for its answers, within what its role may."""

import re
from fractions import Fraction

from dpsql.accounting.privacy_loss import show_down, show_up
from dpsql.errors import Unsupported
from dpsql.policy.model import EmptyGroups, Role
from dpsql.question import Settings

_AMOUNT = re.compile(r"\s*(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,2})?\s*", re.ASCII)
"""How ε may be written: not so large or small that calculating with it takes long."""


def session_epsilon(settings: Settings, role: Role, usual: Fraction) -> Fraction:
    """Return the statement's ε: what the session has set, within what a measurement and a statement may cost the role."""
    if not settings.epsilon:
        return usual
    asked = Fraction(settings.epsilon) if _AMOUNT.fullmatch(settings.epsilon) else Fraction(0)
    least, most = role.least_epsilon, role.per_query.epsilon
    if not least <= asked <= most:
        raise Unsupported(
            f'dpsql.epsilon is "{settings.epsilon}", it must be a number from {show_up(least)} to {show_down(most)}',
            because="epsilon-out-of-range",
            hint=f"SET dpsql.epsilon = '{show_down(most)}'",
        )
    return asked


def hides_empty_groups(settings: Settings, role: Role) -> bool:
    """Return whether public groups that may be empty are left out: as the session has set it, else as the role does."""
    asked = settings.empty_groups
    if not asked:
        return role.empty_groups is EmptyGroups.HIDE
    try:
        return EmptyGroups(asked.strip().lower()) is EmptyGroups.HIDE
    except ValueError:
        raise Unsupported(
            f'dpsql.empty_groups is "{asked}", it must be show or hide',
            because="empty-groups-setting",
            hint="SET dpsql.empty_groups = 'hide' leaves out groups whose count is within the noise of nothing.",
        ) from None
