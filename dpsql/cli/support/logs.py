"""The log on standard error: dpsql's own lines, and errors of libraries."""

import logging


def log_to_standard_error() -> None:
    """Log to standard error, without the warnings of libraries, which repeat what clients send.

    Logging that is set up already stays as it is.
    """
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(_is_shown)
    root.addHandler(handler)


def _is_shown(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or record.name.partition(".")[0] == "dpsql"
