"""One HTML file with pictures that needs no network: the drawing library is written into it once."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap

import plotly.graph_objects as go
from plotly.io import to_html
from plotly.offline import get_plotlyjs

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; color: #1c1f24 }
figure { margin: 2rem 0; border: 1px solid #d8dbe0; border-radius: 6px; padding: .5rem; background: #fff }
figcaption { padding: .25rem .5rem; color: #444b55 }
"""
_OPTIONS = {
    "displaylogo": False,
    "responsive": True,
    # the library's own button would upload the picture's numbers to its maker
    "modeBarButtonsToRemove": ["sendChartToCloud"],
}
_WIDE, _HIGH, _LINE, _LETTERS = 900, 560, 15, 140
"""Pixels of an image, of a line of the text under it, and how many letters such a line has."""
_NO_NETWORK = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
"""A content security policy under which a browser fetches and sends nothing."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with the text under it."""

    figure: go.Figure
    caption: str = ""


def gallery_page(pictures: Sequence[Picture], title: str) -> str:
    """Return the whole page."""
    figures = "\n".join(map(_figure, pictures))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_NO_NETWORK}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><script>{get_plotlyjs()}</script></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{figures}\n</body></html>\n"
    )


def write_page(pictures: Sequence[Picture], title: str, path: Path) -> None:
    """Write the page to a file."""
    path.write_text(gallery_page(pictures, title), encoding="utf-8")


def write_image(picture: Picture, title: str, path: Path) -> None:
    """Write a picture with its title above and its text below as PNG; kaleido asks Chromium for it."""
    lines = [escape(line) for line in wrap(picture.caption, _LETTERS)]
    figure = go.Figure(picture.figure).update_layout(
        title={"text": escape(title), "x": 0.02}, margin={"t": 60, "b": 110 + _LINE * len(lines)}
    )
    below = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "yshift": -75, "yanchor": "top", "xanchor": "left"}
    figure.add_annotation(text="<br>".join(lines), showarrow=False, align="left", font_size=11, **below)
    figure.write_image(path, width=_WIDE, height=_HIGH + _LINE * len(lines), scale=2)


def _figure(picture: Picture) -> str:
    drawing = to_html(picture.figure, full_html=False, include_plotlyjs=False, config=_OPTIONS)
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>" if picture.caption else ""
    return f"<figure>{drawing}{caption}</figure>"
