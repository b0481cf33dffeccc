"""`dpsql demo`, with a stand-in for the server."""

import errno
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import pytest
from typer.testing import CliRunner

from dpsql.cli.commands import demo as module
from dpsql.cli.commands.serve import Signals
from dpsql.cli.main import app
from dpsql.clock import Clock
from dpsql.demo.growing_trips import HurriedClock
from dpsql.demo.trips import generate
from dpsql.policy.config import Config

RUN = CliRunner()


class FakeServer:
    """Takes every port but those that are taken."""

    taken: ClassVar[set[int]] = set()
    seen: ClassVar[list[Config]] = []
    clocks: ClassVar[list[Clock | None]] = []

    def __init__(self, config: Config, clock: Clock | None = None) -> None:
        self.clocks.append(clock)
        self.seen.append(config)
        self.address = (config.listen.host, config.listen.port)
        self.pages = f"http://127.0.0.1:{config.web.port}/" if config.web else None

    async def __aenter__(self) -> Self:
        if self.address[1] in self.taken:
            raise OSError(errno.EADDRINUSE, "address in use")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Stop."""


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Stand-ins for what takes time; gives the links that were asked."""

    async def at_once(_signals: Signals) -> None:
        """Be interrupted at once."""

    links: list[str] = []
    monkeypatch.setattr(module, "Server", FakeServer)
    monkeypatch.setattr(module, "_ask", lambda link, _question: links.append(link))
    monkeypatch.setattr(Signals, "until_stopped", at_once)
    monkeypatch.setattr("dpsql.demo.setting.generate", lambda _path: None)
    yield links
    FakeServer.taken = set()
    FakeServer.seen.clear()
    FakeServer.clocks.clear()


def _links(output: str) -> list[str]:
    return [line.removeprefix("connect: ") for line in output.splitlines() if line.startswith("connect: ")]


def test_each_user_has_a_link(asked: list[str]) -> None:
    """One line a user; the first question is asked with one of them."""
    done = RUN.invoke(app, ["demo"])
    assert done.exit_code == 0, done.output
    links = _links(done.stdout)
    assert [link.split(":")[1] for link in links] == ["//olga", "//ana", "//tess"]
    assert all(link.endswith("@127.0.0.1:5439/taxi") for link in links)
    assert asked == links[:1]
    lines = done.stdout.splitlines()
    for name, role in (("olga", "owner"), ("ana", "collaborator"), ("tess", "third party")):
        (place,) = (place for place, line in enumerate(lines) if f"//{name}:" in line)
        assert lines[place - 1].startswith(f"{name}, {role}, ")  # whose line it is, before it


def test_the_next_free_port_is_taken() -> None:
    """A port in use is no reason to give up."""
    FakeServer.taken = {5439, 5440}
    done = RUN.invoke(app, ["demo"])
    assert done.exit_code == 0
    assert all(":5441/" in link for link in _links(done.stdout))


@pytest.mark.parametrize(("port", "pages"), [(7000, 10_000), (65_000, 62_000), (0, 0)])
def test_the_pages_move_with_the_port(port: int, pages: int) -> None:
    """So that two demos run beside each other, and a port that was chosen says where the pages are."""
    done = RUN.invoke(app, ["demo", "--port", str(port)])
    assert f"pages: http://127.0.0.1:{pages}/" in done.stdout


def test_no_free_port_is_an_error() -> None:
    """After twenty tries it says so."""
    FakeServer.taken = set(range(7000, 7020))
    done = RUN.invoke(app, ["demo", "--port", "7000"])
    assert done.exit_code == 1
    assert "no free port from 7000 to 7019" in done.stderr


def test_passwords_are_new_and_kept_as_verifiers() -> None:
    """Two runs differ, and the server never sees a password."""
    first, second = (_links(RUN.invoke(app, ["demo"]).stdout) for _ in range(2))
    assert set(first).isdisjoint(second)
    verifiers = [user.verifier for config in FakeServer.seen for user in config.users.values()]
    assert len(set(verifiers)) == 6
    assert all(verifier.startswith("SCRAM-SHA-256$") for verifier in verifiers)


def test_each_run_has_a_fresh_ledger_that_is_removed() -> None:
    """What was spent in one demo is not spent in the next."""
    RUN.invoke(app, ["demo"])
    RUN.invoke(app, ["demo"])
    ledgers = [str(config.ledger) for config in FakeServer.seen]
    assert len(set(ledgers)) == 2


def test_only_the_demo_that_grows_has_another_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And only then does a table grow, or is a copy made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpsql.demo.setting.generate", lambda path: generate(path, 1_000))
    assert RUN.invoke(app, ["demo"]).exit_code == 0
    done = RUN.invoke(app, ["demo", "--growing"])
    assert done.exit_code == 0, done.output
    assert "a day lasts a minute" in done.stdout
    usual, hurried = FakeServer.clocks
    assert usual is None
    assert isinstance(hurried, HurriedClock)
    assert [config.snapshot is not None for config in FakeServer.seen] == [False, True]
    assert [config.policy.tables["trips"].grows is not None for config in FakeServer.seen] == [False, True]
