"""The log of a server: each line with its time and level, as text or as objects."""

import json
import logging
import re
from collections.abc import Iterator
from io import StringIO

import pytest

from dpsql.cli.support import logs
from dpsql.cli.support.logs import LogFormat, log_as, log_to_standard_error

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture
def written() -> Iterator[StringIO]:
    """Give what is written to standard error, of a process whose logging nobody else has set up."""
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    log_to_standard_error()
    (handler,) = root.handlers
    assert isinstance(handler, logs._Handler)
    handler.setStream(stream := StringIO())
    yield stream
    root.handlers = before


def _say() -> None:
    log = logging.getLogger("dpsql.server")
    log.warning("the %s\nis over", "day")
    try:
        raise ValueError("no")  # noqa: TRY301
    except ValueError:
        log.exception("it failed")


def test_text_has_time_and_level(written: StringIO) -> None:
    """Before the message, which stays as it is."""
    log_as(LogFormat.TEXT)
    _say()
    first, second, third, *_ = written.getvalue().splitlines()
    assert re.fullmatch(f"{TIME} WARNING the day", first)
    assert second == "is over"
    assert re.fullmatch(f"{TIME} ERROR it failed", third)


def test_json_is_an_object_a_line(written: StringIO) -> None:
    """Whatever is in a message or a traceback; libraries' warnings stay out."""
    log_as(LogFormat.JSON)
    _say()
    logging.getLogger("uvicorn").warning("what a client sent")
    first, second = map(json.loads, written.getvalue().splitlines())
    assert re.fullmatch(TIME, first.pop("time"))
    assert first == {"level": "WARNING", "logger": "dpsql.server", "message": "the day\nis over"}
    assert second["exception"].endswith("ValueError: no")


@pytest.mark.parametrize("form", LogFormat)
def test_no_line_is_longer_than_a_page(form: LogFormat, written: StringIO) -> None:
    """Statements are as long as clients write them: of what is too long the beginning and the end are left."""
    log_as(form)
    log = logging.getLogger("dpsql.server")
    log.error("begins %s ends", "x" * 200_000)
    try:
        raise ValueError("y" * 200_000)  # noqa: TRY301
    except ValueError:
        log.exception("it failed")
    lines = written.getvalue().splitlines()
    assert max(map(len, lines)) < 2 * logs.LONGEST
    assert re.search(r"begins x+ … 1\d\d,\d\d\d characters … x+ ends", lines[0])
    assert sum(map(len, lines)) < 4 * logs.LONGEST
