"""Logging in and out, sessions, tokens and limits."""

from collections.abc import Callable

import pytest

from dpsql.web.page_context import PER_NAME, PER_PLACE, WINDOW, FailedAttempts
from dpsql.web.sessions import IDLE, LONGEST_VISIT, MOST_VISITS
from dpsql.web.site import ServerRefused
from tests.web.browsing import Browser
from tests.web.conftest import Clock, Server

Visit = Callable[..., Browser]


def test_right_password_opens_the_pages(visit: Visit, server: Server) -> None:
    """And a connection to the server, which the session keeps."""
    browser = visit("ana")
    assert (browser.get("/explore").status_code, browser.get("/budget").status_code, server.open) == (200, 200, 1)


@pytest.mark.parametrize(("user", "password"), [("ana", "wrong"), ("nobody", "wrong"), ("", "")])
def test_every_wrong_login_looks_the_same(visit: Visit, user: str, password: str) -> None:
    """A stranger does not learn which names exist."""
    reply = visit().log_in(user, password)
    assert reply.status_code == 401
    assert "Wrong name or password." in reply.text


@pytest.mark.parametrize("path", ["/explore", "/choose", "/budget"])
def test_pages_need_a_login(visit: Visit, path: str) -> None:
    """Everybody else is sent to the form."""
    reply = visit().get(path)
    assert (reply.status_code, reply.headers["location"]) == (303, "/login")


@pytest.mark.parametrize(
    "path", ["/explore/story", "/explore/price", "/choose/rule", "/choose/study", "/budget/charges"]
)
def test_data_need_a_login(visit: Visit, path: str) -> None:
    """A script is told."""
    assert visit().get(path).status_code == 401


def test_cookie_is_for_this_site_and_no_script(visit: Visit) -> None:
    """It holds a signed key and nothing else."""
    cookie = visit().get("/login").headers["set-cookie"]
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_login_changes_the_key(visit: Visit) -> None:
    """A key that somebody planted before is worth nothing after."""
    browser = visit()
    browser.get("/login")
    before = browser.client.cookies["dpsql"]
    browser.post("/login", user="ana", password="pw-ana")  # noqa: S106  the double's
    after = browser.client.cookies["dpsql"]
    browser.carry(before)
    assert before.split(".")[0] != after.split(".")[0]
    assert browser.get("/budget").status_code == 303


def test_logout_hangs_up(visit: Visit, server: Server) -> None:
    """The connection is closed, and the cookie opens nothing any more."""
    browser = visit("ana")
    cookie = browser.client.cookies["dpsql"]
    assert browser.post("/logout").status_code == 303
    browser.carry(cookie)
    assert (server.open, browser.get("/budget").status_code) == (0, 303)


@pytest.mark.parametrize(("waited", "status"), [(IDLE - 1, 200), (IDLE + 1, 303)])
def test_idle_visitors_are_logged_out(visit: Visit, clock: Clock, server: Server, waited: float, status: int) -> None:
    """After half an hour without a request."""
    browser = visit("ana")
    clock.now += waited
    assert browser.get("/budget").status_code == status
    assert server.open == (status == 200)


def test_every_visit_ends(visit: Visit, clock: Clock) -> None:
    """Also that of somebody who is always there."""
    browser, begun = visit("ana"), clock.now
    while clock.now < begun + LONGEST_VISIT - IDLE:
        clock.now += IDLE / 2
        assert browser.get("/budget").status_code == 200
    clock.now += 2 * IDLE
    assert browser.get("/budget").status_code == 303


def test_a_user_has_only_so_many_visits(visit: Visit, server: Server, clock: Clock) -> None:
    """The oldest one ends, so that browsers that were never logged out don't use up the server's connections."""
    browsers = []
    for _ in range(MOST_VISITS + 1):
        clock.now += 1
        browsers.append(visit("ana"))
    assert server.open == MOST_VISITS
    assert [browser.get("/budget").status_code for browser in browsers] == [303] + [200] * MOST_VISITS


@pytest.mark.parametrize("path", ["/login", "/logout", "/explore/ask"])
@pytest.mark.parametrize("token", ["", "made up"])
def test_forms_need_their_token(visit: Visit, path: str, token: str) -> None:
    """Another site can't make a browser send them."""
    fields = {"user": "ana", "password": "pw-ana", "column": "rides.fare", "epsilon": "0.1"}
    assert visit("ana").post(path, **fields, token=token).status_code == 403


def test_tokens_belong_to_one_visitor(visit: Visit) -> None:
    """That of somebody else is as good as none."""
    browser, other = visit("ana"), visit("tess")
    assert browser.post("/logout", token=other.token).status_code == 403


def test_attempts_are_limited(visit: Visit, clock: Clock) -> None:
    """Ten wrong ones for a name from one place, then everybody there waits with it, even with the right password."""
    browser = visit()
    for _ in range(PER_NAME):
        assert browser.log_in("ana", "wrong").status_code == 401
    refused = browser.log_in("ana", "pw-ana")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, str(int(WINDOW)))
    clock.now += WINDOW + 1
    assert browser.log_in("ana", "pw-ana").status_code == 303


def test_success_forgets_attempts(clock: Clock) -> None:
    """Who comes in has not been guessing."""
    attempts = FailedAttempts(clock)
    for _ in range(20):
        for _ in range(PER_NAME - 1):
            assert attempts.begin("here", "ana") == 0
        attempts.succeed("here", "ana")


def test_nobody_waits_for_guesses_from_elsewhere(clock: Clock) -> None:
    """However many places try a name, its owner comes in from another one."""
    attempts = FailedAttempts(clock)
    for i in range(20_000):
        attempts.begin(f"2001:db8:{i % 65536:x}:1::{i:x}", "ana")
    assert attempts.begin("192.0.2.1", "ana") == 0
    assert attempts.begin("2001:db9::1", "tess") == 0


def test_one_place_tries_so_many_names(clock: Clock) -> None:
    """An IPv6 network counts as one place."""
    attempts = FailedAttempts(clock)
    for i in range(PER_PLACE):
        assert attempts.begin(f"2001:db8::{i:x}", f"name {i}") == 0
    assert attempts.begin("2001:db8::ffff:1", "another") == WINDOW
    assert attempts.begin("2001:db8:0:1::1", "another") == 0


def test_who_has_logged_in_from_a_place_waits_for_nobody_there(clock: Clock) -> None:
    """Strangers who guess names there are counted; of the own name no more guesses are made than before."""
    attempts = FailedAttempts(clock)
    assert attempts.begin("here", "ana") == 0
    attempts.succeed("here", "ana")
    for i in range(PER_PLACE):
        assert attempts.begin("here", f"name {i}") == 0
    assert attempts.begin("here", "bob") == WINDOW
    for _ in range(PER_NAME):
        assert attempts.begin("here", "ana") == 0
    assert attempts.begin("here", "ana") == WINDOW
    assert attempts.begin("there", "bob") == 0


def test_full_server_is_told(visit: Visit, server: Server) -> None:
    """It is no wrong password."""
    server.refusal = ServerRefused("too many open connections")
    reply = visit().log_in("ana", "pw-ana")
    assert (reply.status_code, "too many open connections" in reply.text) == (503, True)


def test_large_bodies_are_turned_away(visit: Visit) -> None:
    """Before anybody reads them."""
    assert visit("ana").post("/explore/ask", column="x" * 100_000).status_code == 413


@pytest.mark.parametrize("path", ["/ask", "/budget", "/login"])
def test_a_link_from_another_site_logs_nobody_out(visit: Visit, path: str) -> None:
    """Browsers leave the strict cookie out of such a visit: the page leads here anew, and sets no other in its place."""
    stranger = visit()
    stranger.client.headers["sec-fetch-site"] = "cross-site"
    arriving = stranger.get(path)
    assert arriving.status_code == 200
    assert f'href="{path}?here"' in arriving.text
    assert "set-cookie" not in arriving.headers
    stranger.client.headers["sec-fetch-site"] = "same-origin"
    assert stranger.get("/ask").headers["location"] == "/login"
    ana = visit("ana")
    ana.client.headers["sec-fetch-site"] = "cross-site"
    assert ana.get("/ask").status_code == 200
