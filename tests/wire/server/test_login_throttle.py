"""How often a log-in may fail."""

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.server.limits import LoginThrottle, place_of
from tests.wire.exact import Exact
from tests.wire.guess import Guess
from tests.wire.listening import dsn, listening


def test_user_is_barred_from_one_address_until_the_window_has_passed() -> None:
    """Others, and the same user elsewhere, are not."""
    now = [0.0]
    attempts = LoginThrottle(2, 100, 60, lambda: now[0])
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
    attempts = LoginThrottle(2, 3, 60, lambda: 0.0)
    for name in ("a", "b", "c"):
        attempts.failed(name, "x")
    assert attempts.barred("d", "x")
    assert not attempts.barred("d", "y")


def test_who_has_logged_in_from_an_address_is_not_barred_by_others_there() -> None:
    """Strangers who guess there, as whoever, keep out whoever has not been there; guesses of the user's own name count."""
    attempts = LoginThrottle(2, 3, 60, lambda: 0.0)
    attempts.succeeded("ana", "x")
    for name in "abcdef":
        attempts.failed(name, "x")
    assert attempts.barred("bob", "x")
    assert not attempts.barred("ana", "x")
    assert not attempts.barred("ana", "y")
    for _ in range(2):
        attempts.failed("ana", "x")
    assert attempts.barred("ana", "x")


def test_only_so_many_are_remembered_to_have_logged_in() -> None:
    """Those who did so last."""
    attempts = LoginThrottle(2, 1, 60, lambda: 0.0)
    for number in range(20_000):
        attempts.succeeded(f"user {number}", "x")
    attempts.failed("a", "x")
    assert attempts.barred("user 0", "x")
    assert not attempts.barred("user 19999", "x")


def test_network_of_one_customer_is_one_place() -> None:
    """Whoever has 2^64 addresses has no more attempts for it; the network beside it has its own."""
    attempts = LoginThrottle(2, 100, 60, lambda: 0.0)
    for number in range(2):
        attempts.failed("ana", f"2001:db8::{number:x}")
    assert attempts.barred("ana", "2001:db8::ffff")
    assert not attempts.barred("ana", "2001:db8:0:1::")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
        ("a name", "a name"),
    ],
)
def test_places(address: str, place: str) -> None:
    """An IPv4 address in any spelling, an IPv6 network, or what is no address."""
    assert place_of(address) == place


def test_twenty_thousand_networks_lock_nobody_out() -> None:
    """Failures elsewhere fill no table that others need."""
    attempts = LoginThrottle(2, 100, 60, lambda: 0.0)
    for number in range(20_000):
        attempts.failed("ana", f"2001:db8:{number:x}::1")
    assert not attempts.barred("ana", "192.0.2.1")


def test_success_forgets_the_users_failures() -> None:
    """Who mistypes now and then is never barred."""
    attempts = LoginThrottle(2, 100, 60, lambda: 0.0)
    for _ in range(5):
        attempts.failed("ana", "a")
        attempts.succeeded("ana", "a")
    assert not attempts.barred("ana", "a")


def test_memory_is_bounded() -> None:
    """Failures from ever new addresses push the oldest out."""
    attempts = LoginThrottle(1, 1, 60, lambda: 0.0)
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


def test_guesses_at_the_same_time_are_no_more_than_in_a_row(shadow: Postgres, answers: Exact) -> None:
    """Forty log-ins begin before the first one fails; ten are checked, and the right password among the rest is not."""
    with listening(answers, shadow) as (served, _):
        exchanges = [Guess(served, "wrong") for _ in range(40)] + [Guess(served, "pw")]
        assert [guess.is_let_in() for guess in exchanges] == [False] * 41
        assert served._registry.attempts.barred("ana", "127.0.0.1")
    with listening(answers, shadow) as (served, _):
        exchanges = [Guess(served, "pw") for _ in range(40)]
        assert all(guess.is_let_in() for guess in exchanges)
