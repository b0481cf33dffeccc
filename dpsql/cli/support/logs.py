"""The log on standard error: dpsql's own lines, and errors of libraries."""

import json
import logging
from datetime import UTC, datetime
from enum import StrEnum

LONGEST = 16_000
"""Characters of a message, and of a traceback: statements in them are as long as clients write them."""


class LogFormat(StrEnum):
    """How a server's lines are written."""

    TEXT = "text"
    """The time (UTC), the level, the message."""
    JSON = "json"
    """An object a line."""


def log_to_standard_error() -> None:
    """Log to standard error, without the warnings of libraries, which repeat what clients send.

    Logging that is set up already stays unchanged.
    """
    root = logging.getLogger()
    if root.handlers:
        return
    handler = _Handler()
    handler.setLevel(logging.WARNING)
    # At the handler: the filter of a logger is not asked about records that come up from loggers below it.
    handler.addFilter(_is_shown)
    root.addHandler(handler)


def log_as(form: LogFormat) -> None:
    """Write each line of that log with its time and level, as a reader needs them hours later."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _Handler):
            handler.setFormatter(_Json() if form is LogFormat.JSON else _Text())


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]  # generic for type checkers only
    """The handler that is ours to change."""


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{_time(record)} {record.levelname} {_shortened(super().format(record))}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        message = _shortened(record.getMessage())
        said = {"time": _time(record), "level": record.levelname, "logger": record.name, "message": message}
        if record.exc_info:
            said["exception"] = _shortened(self.formatException(record.exc_info))
        return json.dumps(said, ensure_ascii=False)


def _shortened(text: str) -> str:
    """Return a text of which the beginning and the end are left where it is too long."""
    left_out = len(text) - LONGEST
    half = LONGEST // 2
    return text if left_out <= 0 else f"{text[:half]} … {left_out:,} characters … {text[-half:]}"


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_shown(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or record.name.partition(".")[0] == "dpsql"
