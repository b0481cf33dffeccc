"""Pictures of answers as a browser draws them: what must be seen is seen, and nothing is asked of a network."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpsql.plots.answer import PlottedAnswer, ValueGrid
from dpsql.plots.charts import Picture, Possible, histogram, write_image, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROWS = PlottedAnswer(
    ("bucket", "n", "n_margin"), ((0, 40, 9.0), (1, 50, 9.0), (2, 3, 9.0), (3, 30, 9.0), (4, 20, 9.0), (None, 25, 9.0))
)
PAID = PlottedAnswer(
    ("payment", "trips", "trips_margin"), (("cash", 50, 9.0), ("credit card", 3, 9.0), (None, 25, 9.0))
)
_WIDTHS = (360, 1000)


def shown(chromium: "Browser", path: Path, width: int) -> "tuple[Page, list[str]]":
    """Open a file; also return what it asked for."""
    page = chromium.new_page(viewport={"width": width, "height": 700})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".main-svg .barlayer path")
    return page, asked


def labels(page: "Page") -> list[str]:
    """Return the labels of the x axis."""
    texts: list[str] = page.locator(".xaxislayer-above text").all_text_contents()
    return texts


@pytest.mark.parametrize("width", _WIDTHS)
def test_a_null_group_is_seen(chromium: "Browser", tmp_path: Path, width: int) -> None:
    """With a bar and a label of its own."""
    write_page([Picture(histogram(PAID, possible=Possible(0.0)), "a caption")], "Payment", tmp_path / "pay.html")
    page, asked = shown(chromium, tmp_path / "pay.html", width)
    assert labels(page) == ["cash", "credit card", "NULL"]
    assert page.locator(".barlayer .point").count() == 3
    assert page.locator("figcaption").inner_text() == "a caption"
    assert asked == [(tmp_path / "pay.html").as_uri()]
    page.close()


@pytest.mark.parametrize("width", _WIDTHS)
def test_what_is_outside_stands_beside_the_buckets(chromium: "Browser", tmp_path: Path, width: int) -> None:
    """Left and right of them, under its name; labels do not lie over each other."""
    figure = histogram(ROWS, buckets=ValueGrid(0, 30, 3), possible=Possible(0.0))
    write_page([Picture(figure)], "Fares", tmp_path / "fares.html")
    page, _ = shown(chromium, tmp_path / "fares.html", width)
    read_labels = labels(page)
    assert {"below 0", "from 30 on", "NULL"} <= set(read_labels)
    places = [box for text in page.locator(".xaxislayer-above text").all() if (box := text.bounding_box())]
    boxes = sorted(places, key=lambda box: box["x"])
    lefts = dict(zip(read_labels, [box["x"] for box in places], strict=True))
    assert lefts["below 0"] < lefts["0"] < lefts["30"] < lefts["from 30 on"]
    upright = [box for box in boxes if box["width"] > box["height"]]
    if len(upright) == len(boxes):
        assert all(left_box["x"] + left_box["width"] <= two["x"] for left_box, two in itertools.pairwise(boxes))
    page.close()


def test_error_bars_do_not_hang_below_0(chromium: "Browser", tmp_path: Path) -> None:
    """3 ± 9 reaches from 0 to 12: no error bar is drawn below the foot of the bars."""
    write_page([Picture(histogram(PAID, possible=Possible(0.0)))], "Payment", tmp_path / "pay.html")
    page, _ = shown(chromium, tmp_path / "pay.html", 1000)
    foot = max(
        box["y"] + box["height"] for bar in page.locator(".barlayer .point path").all() if (box := bar.bounding_box())
    )
    errors = [box for bar in page.locator(".errorbar path").all() if (box := bar.bounding_box())]
    assert len(errors) == 3
    assert all(box["y"] + box["height"] <= foot + 2 for box in errors)
    page.close()


def test_an_image_has_title_and_caption(chromium: "Browser", tmp_path: Path) -> None:
    """As large as it is drawn, and larger where more has to be said below."""
    sizes = []
    for caption in ("short", "a longer caption, " * 40):
        write_image(Picture(histogram(PAID, possible=Possible(0.0)), caption), "Payment & more", tmp_path / "pay.png")
        page = chromium.new_page()
        page.goto((tmp_path / "pay.png").as_uri())
        sizes.append(page.evaluate("() => [document.images[0].naturalWidth, document.images[0].naturalHeight]"))
        page.close()
    assert sizes[0][0] == sizes[1][0] == 1800
    assert sizes[0][1] < sizes[1][1]
