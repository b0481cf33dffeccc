"""The page Ask over a double of the server: who may call it, and how often."""

from collections.abc import Callable

import pytest

from dpsql.web.site import ServerLost, ServerRefused
from tests.web.browsing import Browser
from tests.web.conftest import Server

Visit = Callable[..., Browser]
CALLS = ("tables", "plan", "answer", "stop", "history", "share", "shared")


def test_log_in_leads_to_it(visit: Visit) -> None:
    """And so does the first address."""
    browser = visit("ana")
    assert browser.get("/").headers["location"] == "/ask"
    page = browser.get("/ask")
    assert page.status_code == 200
    assert 'aria-current="page">Ask' in page.text


@pytest.mark.parametrize("call", CALLS)
def test_strangers_get_nothing(visit: Visit, call: str) -> None:
    """Nor does another site, whose calls have no token, or an old page of somebody else's."""
    assert visit().post(f"/ask/{call}", statement="SELECT 1").status_code == 401
    browser = visit("ana")
    assert browser.post(f"/ask/{call}", token="", statement="SELECT 1").status_code == 403
    assert browser.post(f"/ask/{call}", token=visit("tess").token, statement="SELECT 1").status_code == 403


def test_an_old_page_learns_who_is_logged_in_now(visit: Visit) -> None:
    """So that it can go on with a new token, or begin anew as somebody else's."""
    browser = visit("ana")
    told = browser.get("/ask/who").json()
    assert (told["user"], told["role"]) == ("ana", "analyst")
    assert browser.post("/ask/share", token=told["token"], statement="SELECT 1").status_code == 200
    assert visit().get("/ask/who").status_code == 401


def test_a_plan_says_what_is_wrong_with_the_fields(visit: Visit, server: Server) -> None:
    """Without asking the server."""
    browser = visit("ana")
    told = browser.post("/ask/plan", statement="SELECT 1", epsilon="0.7").json()
    assert (told["state"], told["field"]) == ("refused", "epsilon")
    told = browser.post("/ask/plan", statement="DROP TABLE rides").json()
    assert (told["state"], told["field"]) == ("refused", "statement")
    assert server.asked == []


def test_an_answer_needs_a_query(visit: Visit, server: Server) -> None:
    """Whatever else is sent is refused at its field."""
    reply = visit("ana").post("/ask/answer", statement="SELECT 1; SELECT 2")
    assert (reply.status_code, reply.json()["field"]) == (400, "statement")
    assert server.asked == []


def test_a_refusal_has_its_place(visit: Visit, server: Server) -> None:
    """In the text as it was typed, counted as browsers count."""
    browser = visit("ana")
    server.refusal = ServerRefused('column "fre" does not exist', "Perhaps you meant fare.", None, 12)
    reply = browser.post("/ask/answer", statement="/* 🚕 */ SELECT avg(fre) FROM rides")
    told = reply.json()
    assert reply.status_code == 409
    assert (told["message"], told["hint"]) == ('column "fre" does not exist', "Perhaps you meant fare.")
    assert told["place"] == [9 + 11, 9 + 14]


def test_a_lost_connection_logs_out(visit: Visit, server: Server) -> None:
    """The page keeps what was written, and says so itself."""
    browser = visit("ana")
    server.refusal = ServerLost()
    assert browser.post("/ask/answer", statement="SELECT 1").status_code == 401
    assert browser.get("/ask/who").status_code == 401


def test_no_statement_is_in_an_address(visit: Visit) -> None:
    """Calls are sent as forms, and a link has a name behind #, so that no proxy's log has a text."""
    browser = visit("ana")
    name = browser.post("/ask/share", statement="SELECT 'secret'").json()["name"]
    assert browser.post("/ask/shared", name=name).json() == {"statement": "SELECT 'secret'"}
    assert visit("tess").post("/ask/shared", name=name).status_code == 404
    assert not any("secret" in str(reply.url) for reply in browser.seen)
