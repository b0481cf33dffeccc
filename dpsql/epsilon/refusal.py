"""The one error of this room."""


class BadInput(ValueError):
    """The question has no meaningful answer; the message says which number is wrong and what its limits are."""
