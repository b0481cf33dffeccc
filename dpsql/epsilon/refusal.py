"""The one error of this room."""


class BadInput(ValueError):
    """What was asked has no meaningful answer; the message says which number is wrong and what its limits are."""
