"""The page Ask over a whole server: what a question costs before and after it is asked, and who sees what."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from decimal import Decimal
from threading import Thread
from typing import Any

import httpx2 as httpx
import psycopg
import pytest

from tests.support.fix_pages import FARES, Running
from tests.web.browsing import Browser

LogIn = Callable[[str], Browser]


@pytest.fixture
def log_in(running: Running) -> Iterator[LogIn]:
    """Give a function that logs a user in."""
    with ExitStack() as stack:

        def log_in(user: str) -> Browser:
            browser = Browser(stack.enter_context(httpx.Client(base_url=running.url, trust_env=False, timeout=60)))
            assert browser.log_in(user, running.passwords[user]).status_code == 303
            return browser

        yield log_in


def _sql(running: Running, user: str) -> psycopg.Connection[tuple[Any, ...]]:
    dsn = f"{running.sql} dbname=rides user={user} password={running.passwords[user]}"
    return psycopg.connect(dsn, autocommit=True)


def _another(browser: Browser) -> httpx.Client:
    """Return another connection of the same browser."""
    return httpx.Client(
        base_url=str(browser.client.base_url), cookies=browser.client.cookies, timeout=60, trust_env=False
    )


def _charges(running: Running, user: str) -> int:
    with _sql(running, user) as connection:
        return int(connection.execute("SELECT count(*) FROM dpsql.charges").fetchall()[0][0])


def test_a_price_is_what_is_charged(log_in: LogIn) -> None:
    """Also where a part is known already: of a driver's rows, C was chosen for an earlier answer."""
    browser = log_in("tess")
    for statement in ("SELECT sum(fare) FROM rides WHERE seats > 2", "SELECT avg(fare) FROM rides WHERE seats > 2"):
        priced = browser.post("/ask/plan", statement=statement, epsilon="0.15").json()
        told = browser.post("/ask/answer", statement=statement, epsilon="0.15").json()
        assert told["charged"] == priced["left"]
        again = browser.post("/ask/plan", statement=statement, epsilon="0.15").json()
        assert (again["left"], again["again"]) == ("0", True)
        assert browser.post("/ask/answer", statement=statement, epsilon="0.15").json()["charged"] == "0"


def test_the_ledger_has_the_statement_as_it_was_written(running: Running, log_in: LogIn) -> None:
    """Margins come along, are paid for by nobody, and leave no trace there."""
    browser = log_in("ana")
    statement = "SELECT seats, count(*), avg(fare) FROM rides GROUP BY seats -- mine"
    told = browser.post("/ask/answer", statement=f"  {statement}\n;").json()
    roles = [(column["name"], column["role"], column["of"]) for column in told["columns"]]
    assert roles == [
        ("seats", "key", None), ("count", "number", None), ("avg", "number", None), ("count_margin", "margin", 1),
        ("avg_margin", "margin", 2),
    ]  # fmt: skip
    assert len(told["rows"]) == 6
    assert all(float(row[3]) > 0 for row in told["rows"])
    with _sql(running, "ana") as connection:
        lines = connection.execute(
            "SELECT statement, epsilon FROM dpsql.charges WHERE statement LIKE '%mine%'"
        ).fetchall()
    assert lines == [(statement, Decimal(told["charged"]))]


def test_typing_costs_nothing(running: Running, log_in: LogIn) -> None:
    """Whatever stands behind EXPLAIN is explained, and never asked."""
    browser, before = log_in("ana"), _charges(running, "ana")
    for statement in (
        "SELECT count(*) FROM rides WHERE fare > 41",
        "SELECT count(*) FROM rides WHERE fare > 42; SELECT count(*) FROM rides WHERE fare > 43",
        "ANALYZE SELECT count(*) FROM rides WHERE fare > 44",
        "(ANALYZE) SELECT count(*) FROM rides WHERE fare > 45",
        "SELECT 1 /* ; */ ; /* */ SELECT count(*) FROM rides WHERE fare > 46",
        "SELECT set_config('dpsql.epsilon', '0.5', false), count(*) FROM rides WHERE fare > 47",
        "SELECT $$;$$; SELECT count(*) FROM rides WHERE fare > 48",
    ):
        browser.post("/ask/plan", statement=statement)
        browser.post("/ask/share", statement=statement)
    assert _charges(running, "ana") == before


def test_a_plan_says_what_is_free_and_what_is_refused(log_in: LogIn) -> None:
    """With the answer that it is computed from, the place of a mistake, and what to write instead."""
    browser = log_in("olga")
    asked = "SELECT seats, count(*) FROM rides GROUP BY seats"
    browser.post("/ask/answer", statement=asked, epsilon="0.3")
    free = browser.post("/ask/plan", statement="SELECT count(*) FROM rides WHERE seats = 2", epsilon="0.3").json()
    assert (free["state"], free["left"], free["free"]) == ("priced", "0", [{"outputs": [1], "statement": asked}])
    refused = browser.post("/ask/plan", statement="SELECT *\nFROM rides").json()
    assert (refused["state"], refused["rule"]) == ("refused", "rows-of-protected-table")
    assert refused["instead"] == "SELECT count(*) FROM rides"
    assert refused["place"] == [14, 19]
    wrong = browser.post("/ask/plan", statement="SELECT avg(fares) FROM rides").json()
    assert (wrong["place"], wrong["hint"]) == ([11, 16], 'Perhaps you meant to reference the column "rides.fare".')
    public = browser.post("/ask/plan", statement="SELECT 1").json()
    assert public == {"state": "public"}


def test_each_role_sees_its_own_history(running: Running, log_in: LogIn) -> None:
    """What the SQL connection of the same user would show, and no more; a link is for the role, too."""
    statement = "SELECT count(*) FROM rides WHERE fare BETWEEN 3 AND 17"
    ana, tess = log_in("ana"), log_in("tess")
    ana.post("/ask/answer", statement=statement)
    name = ana.post("/ask/share", statement=statement).json()["name"]
    told = ana.post("/ask/history").json()
    (line,) = [line for line in told["charged"] if line["statement"] == statement]
    assert (line["user"], line["epsilon"], line["free"]) == ("ana", "0.5", True)
    assert statement in [free["statement"] for free in told["free"]]
    assert "BETWEEN 3" not in tess.post("/ask/history").text
    assert tess.post("/ask/shared", name=name).status_code == 404
    before = _charges(running, "ana")
    assert ana.post("/ask/shared", name=name).json()["statement"] == statement
    assert _charges(running, "ana") == before


def test_nothing_of_one_statement_is_left_for_the_next(log_in: LogIn) -> None:
    """What a query sets in the session is taken back, on this page and on the others."""
    browser = log_in("ana")
    browser.post("/ask/answer", statement="SELECT set_config('dpsql.error', '0.5', false)")
    left = browser.post("/ask/answer", statement="SELECT current_setting('dpsql.error', true)").json()["rows"]
    assert left in ([[None]], [[""]])


def test_an_answer_of_any_length_is_cut(log_in: LogIn) -> None:
    """Neither rows nor their characters fill the server's memory."""
    browser = log_in("ana")
    many = browser.post("/ask/answer", statement="SELECT n FROM generate_series(1, 3000000) AS s (n)").json()
    assert (len(many["rows"]), many["cut"]) == (5_000, True)
    none = browser.post("/ask/answer", statement="SELECT 1 AS one WHERE false").json()
    assert (none["rows"], [column["name"] for column in none["columns"]]) == ([], ["one"])
    assert browser.post("/ask/answer", statement="SELECT 'infinity'::date, interval '1 mon'").json()["rows"] == [
        ["infinity", "1 mon"]
    ]


def test_one_statement_is_explained_at_a_time(log_in: LogIn) -> None:
    """However many a page sends; the others are told to come again."""
    browser = log_in("ana")
    states: list[str] = []

    def send(place: int) -> None:
        condition = " OR ".join(f"fare > {place}.{digit}" for digit in range(60))
        fields = {"token": browser.token, "statement": f"SELECT count(*) FROM rides WHERE {condition}"}
        with _another(browser) as client:
            states.append(client.post("/ask/plan", data=fields).json()["state"])

    threads = [Thread(target=send, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(states) <= {"busy", "priced"}
    assert "priced" in states


def test_an_answer_can_be_stopped(log_in: LogIn) -> None:
    """By a second call; the visit goes on."""
    browser = log_in("ana")
    replies: list[httpx.Response] = []
    fields = {"token": browser.token, "statement": "SELECT count(*) FROM generate_series(1, 200000000)"}
    with _another(browser) as client:
        thread = Thread(target=lambda: replies.append(client.post("/ask/answer", data=fields)))
        thread.start()
        while thread.is_alive():
            browser.post("/ask/stop")
            thread.join(0.2)
    assert replies[0].status_code in {200, 409}
    assert browser.post("/ask/answer", statement="SELECT 2").json()["rows"] == [["2"]]


def test_no_exact_value_reaches_the_page(log_in: LogIn) -> None:
    """Not the number of rows of any fare, in no reply."""
    browser = log_in("olga")
    browser.post("/ask/tables")
    browser.post(
        "/ask/answer", statement="SELECT floor(fare / 10) * 10 AS fare, count(*) FROM rides GROUP BY 1", epsilon="0.01"
    )
    browser.post("/ask/history")
    words = {word.strip('",[]{}:') for reply in browser.seen for word in reply.text.split('"')}
    assert not words & {str(number) for number in (*FARES.values(), sum(FARES.values()))}


def test_the_tables_are_those_of_the_role(log_in: LogIn) -> None:
    """With bounds, comments, and three questions that are answered."""
    browser = log_in("ana")
    told = browser.post("/ask/tables").json()
    (table,) = told["tables"]
    fare = next(column for column in table["columns"] if column["name"] == "fare")
    assert (table["name"], table["kind"], fare["low"], fare["high"], fare["about"]) == (
        "rides", "protected", "0", "100", "in dollars"
    )  # fmt: skip
    assert "avg" in fare["asks"]
    assert {"count", "median", "dpsql.margin"} <= set(told["functions"])
    assert len(told["questions"]) == 3
    for question in told["questions"]:
        assert browser.post("/ask/plan", statement=question["statement"]).json()["state"] == "priced"
