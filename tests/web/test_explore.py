"""The page Explore: built-in samples, and questions about real columns."""

import asyncio
import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest

from dpsql.plots.samples import samples
from dpsql.policy.model import Policy
from dpsql.web.explore import BoundedColumn, bounded_columns, story_file
from dpsql.web.site import Cells, ServerLost, ServerRefused
from tests.web.browsing import Browser
from tests.web.conftest import Server

Visit = Callable[..., Browser]
FARE = "SELECT width_bucket(fare, 0, 150, 100) AS bucket, COUNT(*) FROM rides GROUP BY 1 ORDER BY 1"


def test_all_distributions_are_offered(visit: Visit) -> None:
    """Six of the textbook, four of taxis, four of real trips, and the visitor's bounded number columns."""
    text = visit("ana").get("/explore").text
    assert all(f'<option value="{name}"' in text for name in samples())
    assert re.findall(r'<option value="(rides\.\w+)"', text) == ["rides.fare", "rides.seats"]


def test_the_story_has_each_number_of_rows(visit: Visit) -> None:
    """Counts of the first rows of each sample, always the same ones; units and levels are the policy's words."""
    story = visit("ana").get("/explore/story").json()
    assert len(story["samples"]) == 14
    for sample in story["samples"]:
        assert [sum(counts) for counts in sample["counts"]] == sample["sizes"]
        assert {len(counts) for counts in sample["counts"]} == {story["buckets"]}
        assert story["size"] in sample["sizes"]
        for fewer, more in pairwise(sample["counts"]):
            assert all(a <= b for a, b in zip(fewer, more, strict=True))
    assert [unit["rows"] for unit in story["units"]] == [1, 5, 40, 80]
    assert [(role["level"], role["target"]) for role in story["roles"]] == [
        ("low", 0.025),
        ("medium", 0.075),
        ("high", 0.15),
    ]
    assert story["epsilon"] == {"low": 0.01, "high": 10.0, "first": 0.1}


def test_the_story_has_nothing_of_the_data_set(visit: Visit, server: Server) -> None:
    """Nothing is asked for it, and whoever is logged in gets the same."""
    assert visit("ana").get("/explore/story").content == visit("tess").get("/explore/story").content
    assert server.asked == []


def test_the_page_opens_with_nobodys_trips(visit: Visit) -> None:
    """A hospital begins with a textbook's distribution, and with rows, not with taxis and passengers."""
    text = visit("ana").get("/explore").text
    assert '<option value="normal" selected>' in text
    assert text.count(" selected>") == 2
    assert ">40 rows</span>" in text


def test_the_story_is_one_file_without_a_server() -> None:
    """It has all of its parts inside, and names no other place."""
    text = story_file()
    assert "import " not in text.partition('<script type="module">')[2].partition("</script>")[0]
    assert re.findall(r'(?:src|href|action)="([^"#]*)"', text) == []
    assert "default-src &#39;none&#39;" in text
    assert "Your data" not in text
    assert "rides" not in text


def test_a_price_beyond_what_is_left_is_told(visit: Visit, server: Server) -> None:
    """ε = 0.5 with 0.3 left."""
    server.charge("ana", "SELECT 1", "9.7")
    browser = visit("ana")
    answers = [browser.get("/explore/price", column="rides.fare", epsilon=e).json() for e in ("0.5", "0.3")]
    assert [(answer["left"], answer["enough"]) for answer in answers] == [("0.3", False), ("0.3", True)]


def test_a_price_costs_nothing(visit: Visit, server: Server) -> None:
    """Before asking the page says the statement, what it would cost and what is left."""
    answer = visit("ana").get("/explore/price", column="rides.fare", epsilon="0.25").json()
    assert (answer["statement"], answer["epsilon"], answer["left"]) == (FARE, 0.25, "10")
    assert (answer["sensitivity"], answer["scale"], answer["paid"]) == (20, 80, None)
    assert answer["typical"] == pytest.approx(1 / math.sinh(1 / 80))
    assert answer["guess"] == pytest.approx(math.exp(0.25) / (1 + math.exp(0.25)))
    assert (answer["rows"], answer["given"]) == ([20], None)
    assert (server.asked, server.lines) == ([], [])


def test_errors_are_told_for_what_the_role_knows(visit: Visit, server: Server) -> None:
    """As EXPLAIN tells them: for a C that it has paid for, or between two that are assumed."""
    server.output = {
        "Output": "count(*)",
        "Margin": 768 * math.log(20),
        "Relative": None,
        "Given": "C is 64, as was found",
    }
    answer = visit("ana").get("/explore/price", column="rides.fare", epsilon="0.25").json()
    assert (answer["rows"], answer["given"], answer["scale"]) == ([192], "C is 64, as was found", 768)
    server.output |= {"Least Margin": 8 * math.log(20), "Given": "C from 2 to 192: …"}
    assert visit("ana").get("/explore/price", column="rides.fare", epsilon="0.25").json()["rows"] == [2, 192]


def test_a_real_column_is_asked_and_charged_once(visit: Visit, server: Server) -> None:
    """The same question again is free, and the page says so."""
    browser = visit("ana")
    charged = []
    for epsilon in ("0.25", "0.25", "0.5"):
        answer = browser.post("/explore/ask", column="rides.fare", epsilon=epsilon).json()
        charged.append((answer["charged"], answer["left"]))
        assert set(answer) >= {"counts", "statement", "role"}
        assert "raw" not in answer
    assert charged == [("0.25", "9.75"), ("0", "9.75"), ("0.5", "9.25")]
    assert server.asked == [(FARE, "0.25"), (FARE, "0.25"), (FARE, "0.5")]


def test_a_free_repeat_is_called_free(visit: Visit) -> None:
    """Before it is asked: the role has paid that much for this statement; another ε has not been paid."""
    browser = visit("ana")
    browser.post("/explore/ask", column="rides.fare", epsilon="0.25")
    paid = [browser.get("/explore/price", column="rides.fare", epsilon=e).json()["paid"] for e in ("0.25", "0.5")]
    assert paid == ["2026-01-01 12:00 UTC", None]
    assert browser.get("/explore/price", column="rides.fare", epsilon="0.25").json()["left"] == "9.75"


@pytest.mark.parametrize(
    ("column", "epsilon", "word"),
    [
        ("rides.fare", "0.6", "epsilon"),
        ("rides.fare", "0", "epsilon"),
        ("rides.passenger", "0.1", "column"),
        ('rides"; SELECT 1', "0.1", "column"),
        ("zones.size", "0.1", "column"),
    ],
)
def test_only_offered_columns_within_the_roles_limit(
    visit: Visit, server: Server, column: str, epsilon: str, word: str
) -> None:
    """Whatever a browser sends; nothing is asked."""
    reply = visit("ana").post("/explore/ask", column=column, epsilon=epsilon)
    assert reply.status_code == 400
    assert word in reply.json()["error"]
    assert server.asked == []


def test_the_servers_refusal_is_told(visit: Visit, server: Server) -> None:
    """In its own words."""
    browser = visit("ana")
    server.refusal = ServerRefused("the budget is spent", "Wait.")
    reply = browser.post("/explore/ask", column="rides.fare", epsilon="0.1")
    assert (reply.status_code, reply.json()) == (409, {"error": "the budget is spent", "hint": "Wait.", "field": None})


def test_a_lost_connection_ends_the_visit(visit: Visit, server: Server) -> None:
    """The visitor logs in again."""
    browser = visit("ana")
    server.refusal = ServerLost()
    assert browser.post("/explore/ask", column="rides.fare", epsilon="0.1").status_code == 401
    assert browser.get("/explore").status_code == 303


def test_whole_numbers_stand_in_the_middle_of_their_buckets(visit: Visit) -> None:
    """0 to 6 are seven buckets."""
    answer = visit("ana").get("/explore/price", column="rides.seats", epsilon="0.5").json()
    assert "width_bucket(seats, -0.5, 6.5, 7)" in answer["statement"]


def test_counts_at_the_upper_end_belong_to_the_last_bucket() -> None:
    """`width_bucket` gives them a number of their own; nothing lies below the first."""
    column = BoundedColumn("t", "x", ("t", "x"), Fraction(0), Fraction(3), 3, "")
    assert column.counts([(0, 9), (1, 1), (3, 5), (4, 2)]) == [1, 0, 7]


class _Answering:
    """A client of a server that has declared this."""

    def __init__(self, *declared: Cells) -> None:
        self.declared = list(declared)

    async def rows(self, statement: str, epsilon: str | None = None) -> list[Cells]:
        """Return what is declared."""
        del statement, epsilon
        return self.declared

    async def close(self) -> None:
        """Do nothing."""


def test_numbers_in_json_are_asked_as_statements_have_them(json_policy: Policy) -> None:
    """The name of a path is no name of a column."""
    age, amount = ("props->>'age'", "integer", "0", "120"), ("amount", "double precision", "0", "100")
    declared = (("events", name, "events", f'"{name}"', kind, low, high, "") for name, kind, low, high in (age, amount))
    columns = asyncio.run(bounded_columns(_Answering(*declared), json_policy))
    assert [column.name for column in columns] == ["events.props->>'age'", "events.amount"]
    assert columns[0].statement == (
        "SELECT width_bucket((props->>'age')::integer, -0.5, 120.5, 100) AS bucket, COUNT(*) FROM events GROUP BY 1"
        " ORDER BY 1"
    )
