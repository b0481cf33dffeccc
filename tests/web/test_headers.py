"""What browsers are told, and that nothing on a page breaks it."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dpsql.web
from tests.web.browsing import Browser
from tests.web.conftest import Server

Visit = Callable[..., Browser]
STATIC = Path(dpsql.web.__file__).parent / "static"
PATHS = (
    "/ask",
    "/ask/who",
    "/explore",
    "/choose",
    "/budget",
    "/budget/charges",
    "/explore/story",
    "/login",
    "/ready",
    "/nothing",
    "/static/style.css",
    "/static/nothing",
)


@pytest.mark.parametrize("user", [None, "ana"])
@pytest.mark.parametrize("path", PATHS)
def test_every_response_has_the_policy(visit: Visit, path: str, user: str | None) -> None:
    """Also redirects, errors and files: our own scripts and styles, nothing inline, nothing from or to elsewhere."""
    headers = visit(user).get(path).headers
    directives = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert directives == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' blob:",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_a_broken_page_has_the_policy_and_says_nothing(visit: Visit, server: Server) -> None:
    """The cause is for the operator's log."""
    browser = visit("ana")
    server.lines = None  # type: ignore[assignment]  # something that can't happen
    reply = browser.get("/budget")
    assert (reply.status_code, reply.json()["error"]) == (500, "something went wrong")
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_pages_are_not_stored(visit: Visit) -> None:
    """The next user of the machine finds nothing in the browser."""
    browser = visit("ana")
    assert browser.get("/budget").headers["cache-control"] == "no-store"
    assert browser.get("/budget/charges").headers["cache-control"] == "no-store"


class _Reader(HTMLParser):
    """Notes what a strict policy would refuse, and every address."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one tag."""
        given = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in given):
            self.wrong.append(tag)
        self.wrong += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        self.addresses += [str(given[name]) for name in ("src", "href", "action") if name in given]


@pytest.mark.parametrize("path", ["/login", "/ask", "/explore", "/choose", "/budget"])
def test_pages_have_nothing_inline_and_nothing_from_elsewhere(visit: Visit, path: str) -> None:
    """No style, no handler, no script but our own files."""
    reader = _Reader()
    reader.feed(visit(None if path == "/login" else "olga").get(path).text)
    assert reader.wrong == []
    assert [address for address in reader.addresses if not address.startswith(("/", "#"))] == []


OURS = sorted(file for file in STATIC.rglob("*") if file.is_file() and file.parent.name != "built")


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.name)
def test_files_name_no_other_place(file: Path) -> None:
    """All that a page needs comes from this server; the only address is the name of SVG."""
    text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "//" not in text.replace("// ", "").replace("http", "//http") or file.suffix == ".js"
    assert "http" not in text
    assert "url(" not in text
    assert "eval(" not in text


@pytest.mark.parametrize("file", sorted((STATIC / "built").glob("*.js")), ids=lambda file: file.name)
def test_libraries_make_no_code_and_name_no_place(file: Path) -> None:
    """The addresses in them are names of XML's."""
    text = file.read_text(encoding="utf-8")
    assert "eval(" not in text
    assert "new Function" not in text
    assert set(re.findall(r"https?://([^/\"'`]+)", text)) <= {"www.w3.org"}


@pytest.mark.parametrize("user", [None, "ana"])
def test_unknown_addresses_are_pages_to_people(visit: Visit, user: str | None) -> None:
    """And JSON to scripts; the address is text."""
    browser = visit(user)
    browser.client.headers["accept"] = "text/html,application/xhtml+xml"
    reply = browser.get("/nothing/<b>here</b>")
    assert reply.status_code == 404
    assert "There is no such page" in reply.text
    assert "<b>here" not in reply.text
    browser.client.headers["accept"] = "*/*"
    assert browser.get("/nothing").json()["error"] == "Not Found"


@pytest.mark.parametrize("path", ["/budget/", "/static"])
def test_no_address_is_made_of_what_a_request_calls_this_host(visit: Visit, path: str) -> None:
    """Whatever name it has, nobody is sent there."""
    browser = visit("ana")
    browser.client.headers["host"] = "evil.example"
    reply = browser.get(path)
    assert reply.status_code == 404
    assert "location" not in reply.headers


def test_a_form_that_is_too_old_is_a_page(visit: Visit) -> None:
    """With the reason."""
    browser = visit("ana")
    browser.client.headers["accept"] = "text/html"
    browser.token = ""
    reply = browser.post("/logout")
    assert reply.status_code == 403
    assert "This form is too old; load the page again." in reply.text
