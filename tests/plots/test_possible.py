"""NULL groups, buckets outside the range, and error bars that stay within what is possible."""

import pytest

from dpsql.plots.answer import Layout, PlottedAnswer, ValueGrid
from dpsql.plots.charts import Possible, Provenance, box, box_notes, caption, density_curve, histogram, notes, versus
from dpsql.plots.density import density

GRID = ValueGrid(0, 60, 6)
ROWS = PlottedAnswer(
    ("bucket", "n", "n_margin"),
    ((0, 4, 5.0), (1, 10, 5.0), (3, 30, 5.0), (6, 2, 5.0), (7, 9, 5.0), (None, 7, 5.0)),
)
"""Below 0, three buckets of six, from 60 on, and NULL."""


def test_a_null_group_is_drawn_under_its_name() -> None:
    """As a bar, a point, a box and a series; numbers beside it become labels, in their order."""
    rows = PlottedAnswer(("seats", "n"), ((1, 10), (2, 20), (None, 5)))
    figure = histogram(rows)
    assert list(figure.data[0].x) == ["1", "2", "NULL"]
    assert figure.layout.xaxis.type == "category"
    assert list(versus(rows).data[0].x) == ["1", "2", "NULL"]
    quantiles = PlottedAnswer(("kind", "a", "b", "c", "d", "e"), (("x", 1, 2, 3, 4, 5), (None, 1, 2, 3, 4, 5)))
    assert list(box(quantiles).data[0].x) == ["x", "NULL"]
    series = PlottedAnswer(("zone", "kind", "n"), (("a", None, 1), ("a", "y", 2)))
    assert [trace.name for trace in histogram(series).data] == ["NULL", "y"]


def test_buckets_stand_where_their_values_are() -> None:
    """The underflow bucket does not shift the axis; missing buckets leave gaps."""
    inside, below, above, null = histogram(ROWS, buckets=GRID).data
    assert list(inside.x) == [5, 25, 55]
    assert [(bars.name, list(bars.x), list(bars.y)) for bars in (below, above, null)] == [
        ("below 0", [-15], [4]),
        ("from 60 on", [75], [9]),
        ("NULL", [95], [7]),
    ]


def test_what_is_outside_is_named_on_the_axis_and_no_number_is() -> None:
    """No tick beyond the range says a value."""
    axis = histogram(ROWS, buckets=GRID).layout.xaxis
    ticks = dict(zip(axis.tickvals, axis.ticktext, strict=True))
    assert ticks[-15] == "below 0"
    assert ticks[75] == "from 60 on"
    assert {place for place in ticks if 0 <= place <= 60} == {0, 10, 20, 30, 40, 50, 60}


def test_a_density_has_only_what_is_within_the_range() -> None:
    """As if the others had not been answered; without `buckets` they would be taken for the first and the last."""
    curve = density_curve(ROWS, (0, 60), buckets=6).data[-1]
    assert list(curve.y) == pytest.approx(density([10, 0, 30, 0, 0, 2], 0, 60).y)


def test_numbers_that_are_no_buckets_are_refused() -> None:
    """A wrong --buckets would draw nonsense."""
    with pytest.raises(ValueError, match="other numbers than those of 3 buckets"):
        histogram(ROWS, buckets=ValueGrid(0, 60, 3))
    with pytest.raises(ValueError, match="range"):
        ValueGrid(1, 1, 3)


def test_error_bars_end_where_the_possible_ends() -> None:
    """A count of 4 ± 5 reaches down to 0; an average of 58 ± 5 up to 60; one beyond has no bar outwards."""
    below = histogram(ROWS, buckets=GRID, possible=Possible(0.0)).data[1].error_y
    assert (list(below.arrayminus), list(below.array)) == ([4.0], [5.0])
    means = PlottedAnswer(("zone", "mean", "margin"), (("a", 58.0, 5.0), ("b", 61.0, 5.0), ("c", 30.0, 5.0)))
    bars = versus(means, possible=Possible(0.0, 60.0)).data[0].error_y
    assert (list(bars.arrayminus), list(bars.array)) == ([5.0, 5.0, 5.0], [2.0, 0.0, 5.0])


def test_captions_name_everything() -> None:
    """Data, statistic, ε, role and what is not drawn."""
    answered = PlottedAnswer(ROWS.columns, (*ROWS.rows, (2, None, None)))
    text = caption(
        Provenance("taxi", ("trips",), "COUNT(*)", "ε = 0.5", "analyst", "SELECT …"),
        notes(answered, Layout.of(answered), GRID),
    )
    assert text.startswith("Data: taxi, table trips; statistic: COUNT(*); ε = 0.5; role: analyst.")
    assert "Outside the range, below 0: 4." in text
    assert "Outside the range, NULL: 7." in text
    assert "1 of 7 groups have no answer (NULL) and are not drawn." in text
    assert text.endswith("SELECT …")


def test_boxes_without_quantiles_are_told() -> None:
    """They would be missing silently."""
    rows = PlottedAnswer(("kind", "a", "b", "c", "d", "e"), (("x", 1, 2, 3, 4, 5), ("y", None, None, None, None, None)))
    assert box_notes(rows)[-1] == "1 categories lack a quantile (NULL)"
