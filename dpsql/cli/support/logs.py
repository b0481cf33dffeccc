"""What goes to standard error: dpsql's own log, and of libraries only what has gone wrong."""

import logging


def log_to_standard_error() -> None:
    """Let the log go to standard error, without the warnings of libraries: these repeat what clients write.

    Whoever has set logging up already is left alone.
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
