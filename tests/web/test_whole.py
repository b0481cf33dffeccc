"""The pages of a whole server over real records: what reaches a browser, and what it is charged."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from decimal import Decimal

import httpx2 as httpx
import psycopg
import pytest

from dpsql.web.choosing.choose import questions_from_rows
from tests.support.fix_pages import FARES, USERS, Running
from tests.web.browsing import Browser

LogIn = Callable[[str], Browser]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PAGES = ("/ask", "/explore", "/choose", "/budget", "/budget/charges")


@pytest.fixture
def open_browser(running: Running) -> Iterator[Callable[[], Browser]]:
    """Give a function that opens a browser."""
    with ExitStack() as stack:
        yield lambda: Browser(stack.enter_context(httpx.Client(base_url=running.url, trust_env=False)))


@pytest.fixture
def log_in(running: Running, open_browser: Callable[[], Browser]) -> Callable[[str], Browser]:
    """Give a function that logs a user in."""

    def log_in(user: str) -> Browser:
        browser = open_browser()
        assert browser.log_in(user, running.passwords[user]).status_code == 303
        return browser

    return log_in


def _exact_counts() -> list[int]:
    counts = [0] * 100
    for fare, times in FARES.items():
        counts[int(fare)] += times
    return counts


def test_no_exact_value_reaches_a_browser(log_in: LogIn) -> None:
    """Every response to every user is read: no fare of a record, no count of rows, not the exact counts.

    False alarms: the counts are the exact ones only if the noise in all of 100 buckets is nearly 0, which at a scale of
    200 rows has a probability below 1e-100. One of the three noisy counts is its exact one in a fiftieth of all runs, and two
    in a reply are in less than one of ten thousand.
    """
    exact, counts = {str(value) for value in (*FARES, sum(FARES.values()))}, set(map(str, FARES.values()))
    for user in USERS:
        browser = log_in(user)
        asked = browser.post("/explore/ask", column="rides.fare", epsilon="0.01").json()
        assert asked["counts"] != _exact_counts()
        browser.post("/explore/ask", column="rides.seats", epsilon="0.01")
        browser.get("/explore/price", column="rides.fare", epsilon="0.1")
        for path in _PAGES:
            assert browser.get(path).status_code == 200
        browser.post("/explore/ask", column="rides.passenger", epsilon="0.1")
        for reply in browser.seen:
            numbers = set(_NUMBER.findall(reply.text))
            assert exact & numbers == set(), reply.url
            assert len(counts & numbers) <= 1, reply.url


def test_a_question_is_charged_once_and_shown(log_in: LogIn) -> None:
    """The charge is in the answer and on the page Budget; the same question again is free."""
    browser = log_in("ana")
    charged = [
        browser.post("/explore/ask", column="rides.fare", epsilon=epsilon).json()["charged"]
        for epsilon in ("0.3", "0.3", "0.4")
    ]
    assert charged == ["0.3", "0", "0.4"]
    assert "width_bucket(fare, 0, 100, 100)" in browser.get("/budget").text


def test_errors_are_told_for_a_c_that_was_paid_for(log_in: LogIn) -> None:
    """Where C is chosen: between two that are assumed, until the role has paid for how many rows drivers have."""
    browser = log_in("tess")
    before = browser.get("/explore/price", column="rides.seats", epsilon="0.2").json()
    asked = browser.post("/explore/ask", column="rides.seats", epsilon="0.2").json()
    assert before["given"].startswith("C from 2 to 256: ")
    assert before["rows"] == sorted(before["rows"])
    assert [len(each["rows"]) for each in (before, asked)] == [2, 1]
    assert re.fullmatch(r"C is [\d,]+, as released for these rows before", asked["given"])


def test_what_another_role_asked_never_appears(running: Running, log_in: LogIn) -> None:
    """Olga, an owner, sees the question of Ana's role; Tess does not, wherever she looks."""
    dsn = f"{running.sql} dbname=rides user=ana password={running.passwords['ana']}"
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT COUNT(*) FROM rides WHERE seats = 4")
    for user, sees in (("olga", True), ("ana", True), ("tess", False)):
        browser = log_in(user)
        for path in _PAGES:
            browser.get(path)
        assert any("seats = 4" in reply.text for reply in browser.seen) is sees
        assert any("analyst" in reply.text for reply in browser.seen) is sees


def test_the_private_counts_are_near_the_truth(log_in: LogIn) -> None:
    """With a scale of 2 rows among thousands, each peak is where the fares are: an error of 100 has odds below 1e-20."""
    counts = log_in("olga").post("/explore/ask", column="rides.fare", epsilon="1").json()["counts"]
    assert all(abs(told - exact) < 100 for told, exact in zip(counts, _exact_counts(), strict=True))


def test_wrong_passwords_are_the_servers_decision(running: Running, open_browser: Callable[[], Browser]) -> None:
    """The page has no list of passwords of its own."""
    browser = open_browser()
    assert browser.log_in("ana", running.passwords["tess"]).status_code == 401


def test_the_registry_has_what_was_told_to_whom(running: Running) -> None:
    """A row a statement with all that it has cost: to an owner of every role, and to others of their own."""
    asked = "SELECT count(*) FROM rides WHERE seats = 5"
    charges = {}
    for user in ("tess", "ana", "olga"):
        dsn = f"{running.sql} dbname=rides user={user} password={running.passwords[user]}"
        with psycopg.connect(dsn, autocommit=True) as connection:
            if user != "olga":
                for _ in range(2):
                    connection.execute("SET dpsql.epsilon = '0.125'")
                    connection.execute(asked.encode())
            columns = "role_name, unit_kind, epsilon, times, first_told = last_told"
            told = f"SELECT {columns} FROM dpsql.registry WHERE statement = %s"
            charges[user] = sorted(connection.execute(told.encode(), [asked]).fetchall())
    tess = ("third_party", "driver", Decimal("0.125"), 1, True)
    ana = ("analyst", "passenger", Decimal("0.125"), 1, True)
    assert charges == {"tess": [tess], "ana": [ana], "olga": [ana, tess]}


def test_a_month_is_planned_for_nothing(log_in: LogIn) -> None:
    """Errors are EXPLAIN's at each share; what is refused or free takes none, and nothing is charged."""
    browser = log_in("ana")
    spent = browser.get("/budget/charges").text
    count, median = "SELECT count(*) FROM rides", "SELECT median(fare) FROM rides"
    questions = f"{count}; 3 x {count}; SELECT * FROM rides; SELECT 1; {median};"
    given = {"questions": questions, "plan_epsilon": "0.5", "people": "10,000"}
    answer = browser.post("/choose/plan", **given).json()
    single, three, refused, free, few = answer["questions"]
    assert [q["epsilon"] for q in answer["questions"]] == ["0.1", "0.3", None, None, "0.1"]
    assert single["outputs"][0]["margins"] == pytest.approx([3 * three["outputs"][0]["margins"][0]], rel=0.1)
    assert "rows of rides are protected" in refused["refused"]
    assert free["outputs"] is None
    assert [output.get("unit") for output in few["outputs"]] == ["ranks", None]
    assert few["outputs"][-1]["rows"] > 100
    assert answer["guess"] == pytest.approx(0.6224593312018546)
    assert browser.get("/budget/charges").text == spent


def test_a_months_questions_come_from_the_audit_trail(running: Running, log_in: LogIn) -> None:
    """An owner's do, with parameters in place; others' from what their own role was charged for, and it is said which."""
    dsn = f"{running.sql} dbname=rides user=ana password={running.passwords['ana']}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        for low in (71, 71, 72):
            connection.execute("SELECT COUNT(*) FROM rides WHERE fare > %s AND seats <> %s", [low, 2])
        connection.execute("PREPARE kept_out AS SELECT COUNT(*) FROM rides WHERE fare > $1 AND seats <> 3")
        connection.execute("EXECUTE kept_out(71)")
        connection.execute("SELECT COUNT(*) FROM rides WHERE seats = 2 -- mine")
        connection.execute("EXPLAIN SELECT COUNT(*) FROM rides WHERE seats = 3")
    told = {user: log_in(user).get("/choose/lately").json() for user in ("olga", "ana", "tess")}
    mine = "SELECT COUNT(*) FROM rides WHERE seats = 2 -- mine"
    filled = [f"SELECT COUNT(*) FROM rides WHERE fare > '{low}' AND seats <> '2'" for low in (71, 72)]
    seen = {user: [mine in answer["questions"], filled[0] in answer["questions"]] for user, answer in told.items()}
    assert seen == {"olga": [True, True], "ana": [True, False], "tess": [False, False]}
    assert filled[1] in told["olga"]["questions"]
    assert not any(name in q for q in told["olga"]["questions"] for name in ("EXPLAIN", "dpsql.", "$", "seats <> 3"))
    assert told["olga"]["said"].startswith("Taken from the audit trail since ")
    assert "Left out: 1 cut short, or with parameters" in told["olga"]["said"]
    assert told["ana"]["said"].startswith("Taken from what your role was charged for since ")
    given = {"questions": f"{mine}\n; {filled[0]};", "plan_epsilon": "0.2", "people": "10,000"}
    planned = log_in("olga").post("/choose/plan", **given).json()["questions"]
    assert [question["outputs"][0]["name"] for question in planned] == ["count(*)"] * 2


def test_cut_questions_are_not_taken() -> None:
    """Nor those whose parameters have no value; a NULL is one, and a quotation mark stays inside its literal."""
    cursor = ('DECLARE "a b" NO SCROLL CURSOR WITH HOLD FOR SELECT 5;', None)
    long, wide, gone = ("SELECT 1" + " " * 2_000 + "…", None), ("SELECT $1", ["x" * 200]), ("SELECT $2", ["1"])
    whole = ("SELECT $1, $2, '$3' -- $4", [None, "it's"])
    rows = [(*row, 2, 1, datetime(2026, 3, 1, tzinfo=UTC)) for row in (long, wide, gone, whole, cursor)]
    told = questions_from_rows(rows, owner=True)
    assert told["questions"] == ["SELECT NULL, 'it''s', '$3' -- $4", "SELECT 5"]
    said = "Taken from the audit trail since 01 March 2026: 2 questions, the dearest first; asked 4 times, charged 2 times."
    assert str(told["said"]).startswith(f"{said} Left out: 3 cut")


@pytest.mark.parametrize("questions", ["", " ; ", "SELECT 1;" * 41, "SELECT 'open", "x" * 20_001])
def test_a_plan_of_nothing_is_explained(log_in: LogIn, questions: str) -> None:
    """Beside the field."""
    reply = log_in("tess").post("/choose/plan", questions=questions, plan_epsilon="1", people="10")
    assert (reply.status_code, reply.json()["field"]) == (400, "questions")


def test_wrong_passwords_on_the_pages_lock_nobody_out(running: Running, open_browser: Callable[[], Browser]) -> None:
    """Whoever tries them is told to wait; users of `psql`, whom the server sees at the same address, notice nothing."""
    told = [open_browser().log_in("olga", "wrong").status_code for _ in range(12)]
    assert told == [401] * 10 + [429] * 2
    for user in USERS:
        dsn = f"{running.sql} dbname=rides user={user} password={running.passwords[user]}"
        with psycopg.connect(dsn) as session:
            assert session.execute("SELECT 1").fetchone() == (1,)
