"""Log lines that anybody can cause."""

import logging

import pytest

from dpsql.rate_limited_log import RateLimitedLog


def test_one_line_a_minute_says_how_many_there_were(caplog: pytest.LogCaptureFixture) -> None:
    """Lines of another kind are counted by themselves."""
    now = 0.0
    log = RateLimitedLog(logging.getLogger("dpsql.test"), lambda: now)
    for n in range(1_000):
        log.warning("%d came", n)
    log.warning("%d went", 1)
    now = 60.0
    log.warning("%d came", 7)
    log.warning("%d went", 8)
    more = "7 came (and 999 times more since the last line like this)"
    assert [record.getMessage() for record in caplog.records] == ["0 came", "1 went", more, "8 went"]
