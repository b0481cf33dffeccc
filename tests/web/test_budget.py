"""The page Budget: whose charges are seen by whom."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest
from starlette.testclient import TestClient

from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.web.app import make_app
from dpsql.web.site import ServerLost, Site
from tests.web.browsing import Browser
from tests.web.conftest import POLICY, USERS, Clock, Server

Visit = Callable[..., Browser]


@pytest.fixture(autouse=True)
def _spent(server: Server) -> None:
    """Everybody has asked something."""
    server.charge("olga", "SELECT olgas FROM rides", "0.5")
    server.charge("ana", "SELECT anas FROM rides", "0.25")
    server.charge("ana", "SELECT anas FROM rides", "0.25")
    server.charge("ana", "SELECT <b>bold</b>, small FROM rides", "0.125")
    server.charge("tess", "SELECT tesss FROM rides", "0.1")


def test_a_role_sees_its_own(visit: Visit) -> None:
    """Its bar, its questions, its line; nothing of the others, not even their names."""
    browser = visit("ana")
    text = browser.get("/budget").text + browser.get("/budget/charges").text
    assert "SELECT anas FROM rides" in text
    for foreign in ("olga", "tess", "third_party", "driver", "owner"):
        assert foreign not in text


def test_an_owner_sees_all(visit: Visit) -> None:
    """Every role, and what the data set as a whole has spent."""
    browser = visit("olga")
    text = browser.get("/budget").text
    for word in ("SELECT olgas", "SELECT anas", "SELECT tesss", "third_party", "The data set"):
        assert word in text
    assert [role["name"] for role in browser.get("/budget/charges").json()["roles"]] == [
        "owner",
        "analyst",
        "third_party",
    ]


def test_spent_and_left_are_told(visit: Visit) -> None:
    """As numbers, and as a bar with a text."""
    text = visit("ana").get("/budget").text
    assert "<b>0.625</b> spent" in text
    assert "<b>9.37</b> left of ε = 10" in text
    assert 'aria-label="analyst: ε = 0.625 of 10 spent"' in text


def test_charges_add_up_in_time(visit: Visit) -> None:
    """Oldest first."""
    (series,) = visit("ana").get("/budget/charges").json()["roles"]
    assert series["spent"] == [0.25, 0.5, 0.625]
    assert series["times"] == sorted(series["times"])


def test_dearest_questions_come_first(visit: Visit) -> None:
    """Added up over all times they were paid for."""
    text = visit("ana").get("/budget").text
    assert text.index("SELECT anas") < text.index("small FROM rides")
    assert '<td data-label="ε">0.5</td><td data-label="times">2</td>' in text


def test_questions_are_text(visit: Visit) -> None:
    """Whoever writes HTML into a question sees it as it is."""
    text = visit("ana").get("/budget").text
    assert "<b>bold</b>" not in text
    assert "&lt;b&gt;bold" in text


def test_nothing_spent_is_no_error(visit: Visit, server: Server) -> None:
    """An empty ledger."""
    server.lines.clear()
    browser = visit("ana")
    assert "Nobody has asked anything yet." in browser.get("/budget").text
    assert browser.get("/budget/charges").json() == {"roles": []}


def test_the_spent_epsilon_is_told_as_risk(visit: Visit) -> None:
    """ε = 0.625: membership e^.625/(1 + e^.625), a value e^1.25/(1 + e^1.25); all of ε = 10 breaks the usual promises."""
    text = visit("ana").get("/budget").text
    assert "membership 65.14 %, attribute 77.73 %" in text
    assert "more than the ε ≤ 1.09 of the usual promises" in text
    assert "> 99.99" not in text.split("All spent")[0]


def test_earlier_periods_are_not_forgotten(visit: Visit, server: Server) -> None:
    """A role that renews is told the risk of all its periods, though its bar begins anew."""
    server.renews = date(2026, 2, 1)
    text = visit("ana").get("/budget").text
    assert "<b>0.125</b> spent" in text
    assert "membership 65.14 %" in text
    assert "ε = 0.625 in all its periods so far" in text


def test_the_time_of_a_budget_for_all_roles_is_told(visit: Visit) -> None:
    """Ever, or in any days that follow each other."""
    page = visit("olga").get("/budget").text
    assert "all roles together, ever" in page
    assert "all roles together, in any 30 days" in page


def test_what_a_profile_tells_is_shown(visit: Visit) -> None:
    """Numbers as such, shares in per cent; nothing where the policy has no profile of the role's unit kind."""
    text = visit("tess").get("/budget").text
    for shown in (
        "What the profile says",
        "number of driver units",
        ">1,234<",
        ">57<",
        "rides.fare",
        ">0.31 %<",
        ">unknown<",
    ):
        assert shown in text
    assert "What the profile says" not in visit("ana").get("/budget").text


def test_questions_that_stand_are_shown(server: Server, clock: Clock) -> None:
    """Of tables that grow; where none does, nothing is asked."""
    grows = replace(POLICY.tables["rides"], grows=Grows("at", Every.DAY, 2, TermLength.YEAR, 30))
    for tables, shown in ((POLICY.tables, False), ({**POLICY.tables, "rides": grows}, True)):
        site = Site(
            replace(POLICY, tables=tables), USERS, server.connect, server, os.urandom, clock, lambda: server.ready
        )
        browser = Browser(TestClient(make_app(site)[0], follow_redirects=False))
        browser.log_in("ana", "pw-ana")
        text = browser.get("/budget").text
        told = (
            "Questions that stand",
            "rides, 2026",
            "3 periods, the last from 2026-01-03",
            "2027-02-02",
            "nothing yet",
        )
        assert [said in text for said in told] == [shown] * len(told)
        assert "<b>days" not in text


def test_without_a_connection_the_page_is_there(visit: Visit, server: Server) -> None:
    """What was spent is read from the ledger."""
    browser = visit("tess")
    server.refusal = ServerLost()
    text = browser.get("/budget").text
    assert "SELECT tesss" in text
    assert "What the profile says" not in text


def test_a_demo_says_once_that_its_budgets_are_for_play(server: Server, clock: Clock) -> None:
    """And no role is marked for what it promises to nobody."""
    site = Site(POLICY, USERS, server.connect, server, os.urandom, clock, lambda: server.ready, play=True)
    browser = Browser(TestClient(make_app(site)[0], follow_redirects=False))
    browser.log_in("olga", "pw-olga")
    text = browser.get("/budget").text
    assert text.count("for play") == 1
    assert 'class="bad"' not in text
