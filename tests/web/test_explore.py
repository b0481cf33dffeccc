"""The page Explore: built-in samples, and questions about real columns."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from dpsql.plots.samples import samples
from dpsql.web.ask import Bounded
from dpsql.web.site import Gone, Refused
from tests.web.browsing import Browser
from tests.web.conftest import Server

Visit = Callable[..., Browser]
FARE = "SELECT width_bucket(fare, 0, 150, 100) AS bucket, COUNT(*) FROM rides GROUP BY 1 ORDER BY 1"


def test_all_distributions_are_offered(visit: Visit) -> None:
    """Six of the textbook, four of taxis, and the visitor's bounded number columns; no public and no time column."""
    text = visit("ana").get("/explore").text
    assert all(f'<option value="{name}"' in text for name in samples())
    assert text.count("data-real") == 2
    assert 'value="rides.fare"' in text
    assert 'value="rides.seats"' in text


@pytest.mark.parametrize(("unit", "rows"), [("row", 1), ("passenger", 5), ("driver", 40)])
def test_the_unit_decides_the_sensitivity(visit: Visit, unit: str, rows: int) -> None:
    """And with it the scale, C/ε; the guess depends on ε alone: e^ε/(1+e^ε)."""
    answer = visit("ana").get("/explore/sample", sample="fare", unit=unit, epsilon="0.5").json()
    assert answer["sensitivity"] == rows
    assert answer["scale"] == pytest.approx(2 * rows)
    assert answer["typical"] == pytest.approx(1 / math.sinh(0.5 / rows))
    assert answer["guess"] == pytest.approx(math.exp(0.5) / (1 + math.exp(0.5)))


def test_a_refresh_draws_only_the_noise_again(visit: Visit) -> None:
    """The raw line and the numbers stay; two private lines are equal with a probability below 1e-50."""
    browser = visit("ana")
    one, two = (browser.get("/explore/sample", sample="tip", unit="row", epsilon="0.1").json() for _ in range(2))
    assert one.pop("private") != two.pop("private")
    assert one.pop("distance") != two.pop("distance")
    assert one == two


def test_distance_falls_with_epsilon(visit: Visit) -> None:
    """From about 1 at ε = 0.01 to about 0.0025 at 10; each step is far beyond the spread of one draw."""
    browser = visit("ana")
    found = [
        browser.get("/explore/sample", sample="fare", unit="row", epsilon=epsilon).json()["distance"]["light"]
        for epsilon in ("0.01", "0.1", "1", "10")
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.4
    assert found[3] < 0.01


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "0"},
        {"epsilon": "11"},
        {"epsilon": "nan"},
        {"epsilon": "1e400"},
        {"epsilon": "1/0"},
        {"epsilon": ""},
        {"sample": "secret"},
        {"unit": "nobody"},
    ],
)
def test_samples_refuse_what_makes_no_sense(visit: Visit, wrong: dict[str, str]) -> None:
    """With a text for the visitor."""
    reply = visit("ana").get("/explore/sample", **{"sample": "fare", "unit": "row", "epsilon": "1", **wrong})
    assert reply.status_code == 400
    assert next(iter(wrong)) in reply.json()["error"]


def test_both_lines_have_the_smoothing_that_is_named(visit: Visit) -> None:
    """None, 2 and 5 per cent of the range; changing it draws no noise again, because all are there at once."""
    answer = visit("ana").get("/explore/sample", sample="tip", unit="row", epsilon="0.3").json()
    for name in ("none", "light", "strong"):
        assert answer["raw"][name]["x"] == answer["private"][name]["x"]
        assert answer["raw"][name]["step"] is answer["private"][name]["step"] is (name == "none")
    assert answer["distance"]["none"] > answer["distance"]["light"] > answer["distance"]["strong"]
    assert max(answer["private"]["light"]["y"]) < 1.5 * max(answer["raw"]["light"]["y"])


def test_the_page_opens_with_nobodys_trips(visit: Visit) -> None:
    """A hospital begins with a textbook's distribution, and with rows, not with taxis and passengers."""
    text = visit("ana").get("/explore").text
    assert '<option value="normal" selected>' in text
    assert text.count(" selected>") == 2
    assert ">40 rows</span>" in text


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
    assert (answer["sensitivity"], answer["scale"]) == (20, 80)
    assert (server.asked, server.lines) == ([], [])


def test_a_real_column_is_asked_and_charged_once(visit: Visit, server: Server) -> None:
    """The same question again is free, and the page says so."""
    browser = visit("ana")
    charged = []
    for epsilon in ("0.25", "0.25", "0.5"):
        answer = browser.post("/explore/ask", column="rides.fare", epsilon=epsilon).json()
        charged.append((answer["charged"], answer["left"]))
        assert set(answer) >= {"private", "statement", "role"}
        assert "raw" not in answer
    assert charged == [("0.25", "9.75"), ("0", "9.75"), ("0.5", "9.25")]
    assert server.asked == [(FARE, "0.25"), (FARE, "0.25"), (FARE, "0.5")]


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
    server.refusal = Refused("the budget is spent", "Wait.")
    reply = browser.post("/explore/ask", column="rides.fare", epsilon="0.1")
    assert (reply.status_code, reply.json()) == (409, {"error": "the budget is spent", "hint": "Wait.", "field": None})


def test_a_lost_connection_ends_the_visit(visit: Visit, server: Server) -> None:
    """The visitor logs in again."""
    browser = visit("ana")
    server.refusal = Gone()
    assert browser.post("/explore/ask", column="rides.fare", epsilon="0.1").status_code == 401
    assert browser.get("/explore").status_code == 303


def test_whole_numbers_stand_in_the_middle_of_their_buckets(visit: Visit) -> None:
    """0 to 6 are seven buckets."""
    answer = visit("ana").get("/explore/price", column="rides.seats", epsilon="0.5").json()
    assert "width_bucket(seats, -0.5, 6.5, 7)" in answer["statement"]


def test_counts_at_the_upper_end_belong_to_the_last_bucket() -> None:
    """`width_bucket` gives them a number of their own; nothing lies below the first."""
    column = Bounded("t", "x", ("t", "x"), Fraction(0), Fraction(3), 3, "")
    assert column.counts([(0, 9), (1, 1), (3, 5), (4, 2)]) == [1, 0, 7]
