"""What monitors are told, who do not log in."""

from collections.abc import Callable

from dpsql.gateway.readiness import ReadyState
from tests.web.browsing import Browser
from tests.web.conftest import Server


def test_ready_is_told_without_a_log_in(visit: Callable[..., Browser], server: Server) -> None:
    """By the status, and in words."""
    told = visit().get("/ready")
    assert (told.status_code, told.text) == (200, "ready\n")
    server.ready = ReadyState(answers=False, text="the engine is away")
    told = visit().get("/ready")
    assert (told.status_code, told.text) == (503, "the engine is away\n")


def test_health_asks_nothing(visit: Callable[..., Browser], server: Server) -> None:
    """Whatever the engine's trouble is, a server that has time to answer is not to be restarted."""
    server.ready = ReadyState(answers=False, text="the engine is away")
    told = visit().get("/healthz")
    assert (told.status_code, told.text) == (200, "ok\n")
