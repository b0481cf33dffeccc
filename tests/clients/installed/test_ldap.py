"""Users whose passwords OpenLDAP knows: who gets in, who does not, and what happens where it is away."""

import html
import http.cookiejar
import re
import ssl
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import HTTPError

import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.policy.model import yaml_name
from tests.clients.installed.slapd import PEOPLE, THEIRS, Slapd, running
from tests.clients.site import Site, configure, serving, with_shadow

STRANGERS = "nobody,ou=people"
_TLS = f", tls: {{certificate: {THEIRS}/localhost.crt, key: {THEIRS}/localhost.key}}"
_LDAP = 'ldap: {{url: "{url}", user_dn: "cn={{user}},ou=people,dc=example,dc=org", ca: {ca}}}\n'


@dataclass(frozen=True, slots=True)
class Asking:
    """A server that asks a directory."""

    site: Site
    config: Path
    log: Path

    def connect(self, user: str, password: str, ways: str | None = None) -> psycopg.Connection:
        """Log in over TLS, in one of the ways that the client takes."""
        words = f"host=127.0.0.1 port={self.site.port} dbname=taxi sslmode=require"
        return psycopg.connect(words if ways is None else f"{words} require_auth={ways}", user=user, password=password)

    def refusal(self, user: str, password: str) -> str:
        """Return what is said to somebody who is not let in."""
        with pytest.raises(psycopg.OperationalError) as refused:
            self.connect(user, password)
        return str(refused.value).partition("FATAL:")[2].strip().replace(user, "…")


def write_config(place: Path, url: str, *, ca: Path = THEIRS / "localhost.crt") -> Path:
    """Write a configuration with the directory's users beside one whose password dpsql knows."""
    config = configure(place, tls=_TLS)
    text = config.read_text()
    users = "".join(f"  {yaml_name(name)}: {{role: analyst, ldap: true}}\n" for name in PEOPLE)
    text = text.replace(
        "users:\n  ana:", f"{_LDAP.format(url=url, ca=ca)}web: {{port: 0{_TLS}}}\nusers:\n{users}  local:"
    )
    config.write_text(text, encoding="utf-8")
    return config


@pytest.fixture(scope="module")
def slapd() -> Iterator[Slapd]:
    """OpenLDAP."""
    with TemporaryDirectory(prefix="dpsql-slapd-") as made, running(Path(made)) as server:
        yield server


@pytest.fixture(scope="module", params=["ldaps", "ldap"])
def asking(slapd: Slapd, request: pytest.FixtureRequest) -> Iterator[Asking]:
    """A server that asks it, over TLS from the beginning and by StartTLS."""
    port = slapd.secure if request.param == "ldaps" else slapd.plain
    with TemporaryDirectory(prefix="dpsql-ldap-") as made:
        place = Path(made)
        place.chmod(0o711)
        config = write_config(place, f"{request.param}://localhost:{port}")
        with (place / "log").open("w") as log, serving(config, log=log) as site:
            yield Asking(site, config, place / "log")


@pytest.mark.parametrize("name", PEOPLE)
def test_who_knows_the_directorys_password_gets_in(name: str, asking: Asking) -> None:
    """Whatever letters are in the name: none of them means anything in a distinguished name."""
    with asking.connect(name, PEOPLE[name]) as connection:
        assert connection.execute("SELECT count(*) >= 0, current_user FROM trips").fetchall() == [(True, name)]


def test_nobody_else_gets_in(asking: Asking) -> None:
    """And hears the same, whether the name is known, to whom, and what was wrong; no password is none."""
    before = asking.refusal("local", "not the password")
    said = {
        asking.refusal(user, password)
        for user, password in (
            ("ana", "what bob knows"),
            ("ana", "\x01"),
            ("ana,ou=people,dc=example,dc=org", PEOPLE["ana"]),
            (STRANGERS, PEOPLE["ana"]),
            ("*", PEOPLE["ana"]),
            ("mallory", "anything"),
        )
    }
    assert said == {before}
    for user in ("ana", "mallory"):
        with pytest.raises(psycopg.OperationalError):
            asking.connect(user, "")


def test_the_servers_own_users_do_not_send_their_passwords(asking: Asking) -> None:
    """They log in as before, and the directory's over TLS alone."""
    with asking.connect("local", asking.site.password, "scram-sha-256"):
        pass
    with pytest.raises(psycopg.OperationalError, match="authentication method requirement"):
        asking.connect("ana", PEOPLE["ana"], "scram-sha-256")
    with pytest.raises(psycopg.OperationalError, match="connections without TLS are refused"):
        psycopg.connect(asking.site.dsn.replace("user=ana", "user=bob"))


def test_names_that_are_nobodys_are_not_sent(asking: Asking, slapd: Slapd) -> None:
    """Nor is what is said for a password with them."""
    for number in range(12):
        asking.refusal(f"stranger{number}", "some password")
    assert "stranger" not in slapd.log
    assert "dpsql-nobody" in slapd.log


def test_guessing_ends_after_few_guesses(asking: Asking, slapd: Slapd) -> None:
    """However many are made at once; somebody else's log-in is not held up by it."""
    before = slapd.refused()
    with ThreadPoolExecutor(40) as many:
        said = list(many.map(lambda number: asking.refusal("bob", f"guess {number}"), range(40)))
    assert len(set(said)) == 1
    assert slapd.refused() - before <= 10
    with asking.connect("ana", PEOPLE["ana"]):
        pass


def _browser() -> urllib.request.OpenerDirector:
    anybody = ssl.create_default_context(cafile=THEIRS / "localhost.crt")
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=anybody), cookies)


def _entered(asking: Asking, user: str, password: str) -> str:
    """Log in on the pages, and return where that leads, or what is said instead."""
    browser, pages = _browser(), asking.site.pages.rstrip("/")
    form = browser.open(f"{pages}/login").read().decode()
    token = re.search(r'name="token" value="([^"]+)"', form)
    fields = {"user": user, "password": password} | ({"token": token[1]} if token else {})
    browser.addheaders = [("Origin", pages)]
    try:
        return str(browser.open(f"{pages}/login", urllib.parse.urlencode(fields).encode()).url).removeprefix(pages)
    except HTTPError as refused:
        return f"{refused.code} {html.unescape(refused.read().decode())}"


def test_the_pages_ask_the_directory_too(asking: Asking) -> None:
    """By the same log-in."""
    assert _entered(asking, "ana", PEOPLE["ana"]) == "/ask"
    assert "Wrong name or password" in _entered(asking, "ana", "something else")
    assert "Wrong name or password" in _entered(asking, "mallory", "something else")


def test_a_directory_that_is_away_is_told(asking: Asking, slapd: Slapd) -> None:
    """Nobody's password is called wrong then, and nothing is counted; it is asked again as soon as it is there."""
    slapd.stop()
    try:
        for _ in range(12):
            assert "the directory that knows passwords can't be asked now" in asking.refusal("ana", PEOPLE["ana"])
        with asking.connect("local", asking.site.password):
            pass
        assert "can't be asked now" in _entered(asking, "ana", PEOPLE["ana"])
    finally:
        slapd.start()
    assert "can't be asked:" in asking.log.read_text()
    with asking.connect("ana", PEOPLE["ana"]):
        pass


def test_check_asks_it(slapd: Slapd, tmp_path: Path) -> None:
    """And tells what would keep its users out, before anybody is."""
    with_shadow(tmp_path / "config.yaml")
    right, believed = f"ldaps://localhost:{slapd.secure}", THEIRS / "localhost.crt"
    config = write_config(tmp_path, right)
    done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert "the directory localhost answers, over TLS" in done.output
    assert done.exit_code == 0, done.output
    text, other = config.read_text(), THEIRS / "certificates" / "ecdsa-sha384.pem"
    for url, ca, why in (
        (right, other, "certificate verify failed"),
        (f"ldap://localhost:{slapd.plain}", other, "certificate verify failed"),
        (f"ldaps://127.0.0.2:{slapd.secure}", believed, "can't be asked"),
        (f"ldaps://127.0.0.1:{slapd.plain}", believed, "can't be asked"),
        (f"ldap://127.0.0.1:{slapd.secure}", believed, "can't be asked"),
    ):
        config.write_text(text.replace(right, url).replace(f"ca: {believed}", f"ca: {other if ca is other else ca}"))
        done = CliRunner().invoke(app, ["check", "--config", str(config)])
        assert (done.exit_code, why in done.output) == (1, True), done.output
