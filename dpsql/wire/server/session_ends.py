"""Why dpsql ends a session: the messages for its client."""

from dpsql.errors import ShuttingDown

_AGAIN = "Connect again."


def by_a_user() -> ShuttingDown:
    """Return the error where another session of the same user has ended this one."""
    return ShuttingDown("terminating connection due to administrator command")


def stopping() -> ShuttingDown:
    """Return the error where the server stops."""
    return ShuttingDown("terminating connection because dpsql stops")


def shadow_ended() -> ShuttingDown:
    """Return the error where the session in the shadow is gone."""
    return ShuttingDown("terminating connection because its session in the shadow ended", hint=_AGAIN)


def deaf() -> ShuttingDown:
    """Return the error where the shadow works on after a cancel."""
    return ShuttingDown("terminating connection because what it runs can't be canceled otherwise", hint=_AGAIN)


def reconfigured() -> ShuttingDown:
    """Return the error where the declared tables have changed."""
    return ShuttingDown("terminating connection because the declared tables have changed", hint=_AGAIN)


def user_changed() -> ShuttingDown:
    """Return the error where the user was removed, or has another role or password."""
    return ShuttingDown(
        "terminating connection because its user was removed or changed",
        hint="Connect again with the new password or role.",
    )
