"""Which replies are compressed: our own files, and nothing that has something of a visitor in it."""

import gzip
from collections.abc import Callable

import pytest

from tests.web.browsing import Browser

Visit = Callable[..., Browser]


@pytest.mark.parametrize("name", ["style.css", "ask.js", "built/codemirror.js", "icon.svg"])
def test_files_are_compressed_for_whoever_takes_it(visit: Visit, name: str) -> None:
    """They are the same bytes either way, and are not sent again to a browser that has them."""
    browser = visit()
    browser.client.headers["accept-encoding"] = "gzip"
    packed = browser.get(f"/static/{name}")
    browser.client.headers["accept-encoding"] = "identity"
    plain = browser.get(f"/static/{name}")
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) == len(gzip.compress(plain.content, mtime=0))
    browser.client.headers["accept-encoding"] = "gzip"
    browser.client.headers["if-none-match"] = packed.headers["etag"]
    assert browser.get(f"/static/{name}").status_code == 304


@pytest.mark.parametrize("path", ["/ask", "/budget", "/ask/who", "/login"])
def test_pages_are_not_compressed(visit: Visit, path: str) -> None:
    """Lengths of compressed answers could be guessed with (BREACH)."""
    browser = visit("ana")
    browser.client.headers["accept-encoding"] = "gzip"
    assert "content-encoding" not in browser.get(path).headers
