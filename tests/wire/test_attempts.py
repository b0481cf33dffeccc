"""How often a log-in may fail."""

import psycopg
import pytest

from dpsql.shadow.postgres import Postgres
from dpsql.wire.attempts import Attempts
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening


def test_user_is_barred_from_one_address_until_the_window_has_passed() -> None:
    """Others, and the same user elsewhere, are not."""
    now = [0.0]
    attempts = Attempts(2, 100, 60, lambda: now[0])
    for _ in range(2):
        assert not attempts.barred("ana", "a")
        attempts.failed("ana", "a")
    assert attempts.barred("ana", "a")
    assert not attempts.barred("ana", "b")
    assert not attempts.barred("bob", "a")
    now[0] = 60.0
    assert not attempts.barred("ana", "a")


def test_address_is_barred_whoever_it_names() -> None:
    """Trying many names is counted together."""
    attempts = Attempts(2, 3, 60, lambda: 0.0)
    for name in ("a", "b", "c"):
        attempts.failed(name, "x")
    assert attempts.barred("d", "x")
    assert not attempts.barred("d", "y")


def test_success_forgets_the_users_failures() -> None:
    """Who mistypes now and then is never barred."""
    attempts = Attempts(2, 100, 60, lambda: 0.0)
    for _ in range(5):
        attempts.failed("ana", "a")
        attempts.succeeded("ana", "a")
    assert not attempts.barred("ana", "a")


def test_memory_is_bounded() -> None:
    """Failures from ever new addresses push the oldest out."""
    attempts = Attempts(1, 1, 60, lambda: 0.0)
    for number in range(20_000):
        attempts.failed("ana", str(number))
    assert not attempts.barred("ana", "0")
    assert attempts.barred("ana", "19999")
    assert len(attempts._failures) <= 10_000


def test_server_stops_checking_after_ten_failures(shadow: Postgres, answers: Exact) -> None:
    """The right password does not help then either; the text does not tell the difference."""

    def told(password: str) -> str:
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(f"{where} password={password}")
        return str(caught.value).rpartition("FATAL:")[2]

    with listening(answers, shadow) as (served, _):
        where = dsn(served)
        assert len({told("wrong") for _ in range(10)} | {told("pw")}) == 1
