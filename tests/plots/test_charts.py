"""Charts carry the answer and its margins, and a page needs no network."""

import re
from fractions import Fraction

import pytest

from dpsql.epsilon.advising.rule import Promises
from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe
from dpsql.epsilon.risks.study import study_risk
from dpsql.plots.answer import PlottedAnswer
from dpsql.plots.charts import Picture, box, density_curve, gallery_page, histogram, rule_figure, study_figure, versus

COUNTS = PlottedAnswer(("zone", "n", "n_margin"), (("a", 10, 2.5), ("b", 20, 2.5)))


def test_histogram_has_a_bar_and_an_error_bar_a_row() -> None:
    """Heights are the answer, error bars its margins."""
    (bars,) = histogram(COUNTS).data
    assert (list(bars.x), list(bars.y), list(bars.error_y.array)) == (["a", "b"], [10, 20], [2.5, 2.5])


def test_histogram_without_margins_has_no_error_bars() -> None:
    """None are invented."""
    (bars,) = histogram((("zone", "n"), [("a", 10)])).data
    assert bars.error_y.array is None


def test_series_are_drawn_apart() -> None:
    """One trace a value of the series, with its own rows."""
    rows = [("a", "x", 1), ("a", "y", 2), ("b", "x", 3)]
    first, second = histogram((("zone", "kind", "n"), rows)).data
    assert (first.name, list(first.y), second.name, list(second.y)) == ("x", [1, 3], "y", [2])


@pytest.mark.parametrize(("noised", "other"), [("x", "y"), ("y", "x")])
def test_margins_stand_on_the_axis_with_noise(noised: str, other: str) -> None:
    """Either axis may be the noised one."""
    answer = PlottedAnswer(("score", "mean", "margin"), ((1, 60.5, 3.0), (2, 61.5, 2.0)))
    figure = versus(answer, x="score", y="mean", noised="x" if noised == "x" else "y")
    (points,) = figure.data
    assert list(points[f"error_{noised}"].array) == [3.0, 2.0]
    assert points[f"error_{other}"].array is None


def test_box_takes_five_quantiles() -> None:
    """Whisker, quartile, median, quartile, whisker."""
    (boxes,) = box((("kind", "a", "b", "c", "d", "e"), [("chr", 1, 2, 3, 4, 5)])).data
    assert [list(boxes[part]) for part in ("lowerfence", "q1", "median", "q3", "upperfence")] == [
        [1],
        [2],
        [3],
        [4],
        [5],
    ]
    with pytest.raises(ValueError, match="five quantiles, not 1"):
        box((("kind", "a"), [("chr", 1)]))


def test_density_has_a_band_where_margins_are_known() -> None:
    """The band comes first, below the line."""
    assert [trace.name for trace in density_curve(COUNTS, (0.0, 2.0)).data] == ["margin", "private"]
    bare = PlottedAnswer(("bucket", "n"), ((0, 10), (1, 20)))
    assert [trace.name for trace in density_curve(bare, (0.0, 2.0)).data] == ["private"]


def test_risk_curves_mark_the_epsilon_that_meets_the_requirement() -> None:
    """Upper and tight bound, the requirement, and both ε."""
    figure = study_figure(study_risk(Universe.of([1, 2, 3, 10]), StudiedStatistic.named("mean"), Fraction(1, 3)))
    assert [trace.name for trace in figure.data] == ["upper bound", "tight bound"]
    assert [shape.x0 for shape in figure.layout.shapes] == pytest.approx([0.0, 0.38293927, 0.43172012])


def test_curves_of_a_count_have_no_mark() -> None:
    """Any ε will do, so none is marked."""
    figure = study_figure(study_risk(Universe.of([1, 2, 3, 10]), StudiedStatistic.named("count"), Fraction(1, 3)))
    assert len(figure.layout.shapes) == 1


def test_rule_curves_cross_the_limit_at_the_total() -> None:
    """At the marked total, membership is what was asked for."""
    figure = rule_figure(Promises(10_000, Fraction(1, 3), Fraction(3, 4), Fraction(9, 10)))
    assert len(figure.data) == 3
    membership = figure.data[1]
    place = min(range(len(membership.x)), key=lambda at: abs(membership.x[at] - 1.0986))
    assert membership.y[place] == pytest.approx(0.75, abs=0.01)


def test_names_and_values_are_not_code() -> None:
    """A column called like a closing tag stays text."""
    evil = "</script><script>alert(1)</script>"
    text = gallery_page([Picture(histogram(((evil, "n"), [(evil, 1)])), evil)], evil)
    assert evil not in text


def test_a_page_loads_nothing_from_elsewhere() -> None:
    """The library is written into the page once; no tag has an address, and the policy forbids every request."""
    text = gallery_page([Picture(histogram(COUNTS), "a <caption>"), Picture(versus(COUNTS))], "Title & more")
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", text)
    assert text.count("plotly.js v") == 1
    assert "a &lt;caption&gt;" in text
    assert "Title &amp; more" in text
    assert '"modeBarButtonsToRemove": ["sendChartToCloud"]' in text
