"""A session's settings for its answers, within the limits of its role."""

import re
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.privacy_loss import show_down, show_up
from dpsql.errors import InvalidSetting, UnknownSetting
from dpsql.policy.model import Digits, EmptyGroups, Reuse, Role
from dpsql.question import OWN_SETTINGS, PREFIX, Settings

_WRITTEN = {name: re.compile(rf"\s*(?:{form})\s*", re.ASCII) for name, form in OWN_SETTINGS.items()}


def session_epsilon(settings: Settings, role: Role, usual: Fraction) -> Fraction:
    """Return the statement's ε: what the session has set, within what a measurement and a statement may cost the role."""
    if not settings.epsilon:
        return usual
    # `Fraction` reads more than the setting may be, such as 1/3 and 1_000: its form decides before.
    asked = Fraction(settings.epsilon) if _WRITTEN["dpsql.epsilon"].fullmatch(settings.epsilon) else Fraction(0)
    least, most = role.least_epsilon, role.per_query.epsilon
    if not least <= asked <= most:
        raise InvalidSetting(
            f'dpsql.epsilon is "{settings.epsilon}", it must be a number from {show_up(least)} to {show_down(most)}',
            because="epsilon-out-of-range",
            hint=f"SET dpsql.epsilon = '{show_down(most)}'",
        )
    return asked


def check_setting(name: str, value: str, role: Role) -> None:
    """Check that a session of a role may have the setting of dpsql's own that it is about to have; an empty value is none.

    Raises:
        InvalidSetting: it can't have this value.
        UnknownSetting: there is no such setting.
    """
    match name.lower().removeprefix(PREFIX):
        case "epsilon":
            session_epsilon(Settings(epsilon=value), role, role.per_query.epsilon)
        case "error":
            session_aim(Settings(error=value), role)
        case "clamp":
            is_clamped(Settings(clamp=value), role)
        case "empty_groups":
            asked_of_empty_groups(Settings(empty_groups=value), role)
        case "reuse":
            session_reuse(Settings(reuse=value), role)
        case "digits":
            session_digits(Settings(digits=value))
        case "renew":
            is_renewed(Settings(renew=value))
        case _:
            raise UnknownSetting(
                f'unrecognized configuration parameter "{name}"',
                because="setting-unknown",
                hint=f"dpsql's own settings are {', '.join(OWN_SETTINGS)}.",
            )


@dataclass(frozen=True, slots=True)
class Aim:
    """The typical relative error that an answer is to have, and what may be paid for it."""

    error: Fraction
    cap: Fraction
    """The most that the statement pays."""
    least: Fraction
    """The least that a measurement pays."""


def session_aim(settings: Settings, role: Role) -> Aim | None:
    """Return the error that is aimed at: what the session has set, or the role's level unless the session has set an ε.

    Raises:
        InvalidSetting: the setting is no share from above 0 to 1.
    """
    if not settings.error and (settings.epsilon or role.noise is None):
        return None
    cap = session_epsilon(settings, role, role.per_query.epsilon)
    error = _share(settings.error) if settings.error else role.noise.error if role.noise else None
    if error is None or not 0 < error <= 1:
        raise InvalidSetting(
            f'dpsql.error is "{settings.error}", it must be a share such as 5 % or 0.05, above 0 and at most 1',
            because="error-out-of-range",
            hint="SET dpsql.error = '5 %'",
        )
    return Aim(error, cap, role.least_epsilon)


def _share(text: str) -> Fraction | None:
    if _WRITTEN["dpsql.error"].fullmatch(text) is None:
        return None
    number = text.strip().removesuffix("%")
    return Fraction(number.strip()) / (1 if number == text.strip() else 100)


def is_clamped(settings: Settings, role: Role) -> bool:
    """Return whether answers are kept to what is possible: as the session has set it, else as the role does.

    Raises:
        InvalidSetting: the setting is neither on nor off.
    """
    asked = (settings.clamp or "").strip().lower()
    if asked not in {"", "on", "off"}:
        raise InvalidSetting(
            f'dpsql.clamp is "{settings.clamp}", it must be on or off',
            because="clamp-setting",
            hint="SET dpsql.clamp = 'on' shows no count below 0; what is summed over such answers is too large.",
        )
    return asked == "on" if asked else role.clamp


def is_renewed(settings: Settings) -> bool:
    """Return whether standing questions that have ended are paid for again.

    Raises:
        InvalidSetting: the setting is neither on nor off.
    """
    asked = (settings.renew or "").strip().lower()
    if asked not in {"", "on", "off"}:
        raise InvalidSetting(
            f'dpsql.renew is "{settings.renew}", it must be on or off',
            because="renew-setting",
            hint="SET dpsql.renew = 'on' pays again for standing questions that have ended within their term.",
        )
    return asked == "on"


def asked_of_empty_groups(settings: Settings, role: Role) -> EmptyGroups:
    """Return what becomes of public groups that may be empty: as the session has set it, else as the role does."""
    asked = settings.empty_groups
    if not asked:
        return role.empty_groups
    try:
        return EmptyGroups(asked.strip().lower())
    except ValueError:
        raise InvalidSetting(
            f'dpsql.empty_groups is "{asked}", it must be auto, show or hide',
            because="empty-groups-setting",
            hint="Available values: auto, show, hide. SET dpsql.empty_groups = 'hide' hides groups whose count is "
            "not distinguishable from zero, and 'auto' does in rankings, and where groups are counted.",
        ) from None


def session_reuse(settings: Settings, role: Role) -> Reuse:
    """Return what is read off answers that were paid for: as the session has set it, else as the role does.

    Raises:
        InvalidSetting: the setting is no such thing.
    """
    if not settings.reuse:
        return role.reuse
    try:
        return Reuse(settings.reuse.strip().lower())
    except ValueError:
        raise InvalidSetting(
            f'dpsql.reuse is "{settings.reuse}", it must be off, exact or all',
            because="reuse-setting",
            hint="Available values: off, exact, all. With 'off' all is asked afresh that was not asked in these words.",
        ) from None


def session_digits(settings: Settings) -> Digits:
    """Return which digits of real numbers are shown.

    Raises:
        InvalidSetting: the setting is no such thing.
    """
    if not settings.digits:
        return Digits.AUTO
    try:
        return Digits(settings.digits.strip().lower())
    except ValueError:
        raise InvalidSetting(
            f'dpsql.digits is "{settings.digits}", it must be auto or all',
            because="digits-setting",
            hint="Available values: auto, all. SET dpsql.digits = 'all' shows digits that are noise alone, too.",
        ) from None
