"""Who is let in before anybody knows who they are, and who goes for whom."""

from dataclasses import dataclass

import pytest

from dpsql.wire.server.lobby import Lobby


@dataclass(eq=False, slots=True)
class Comer:
    """A connection that remembers whether it was hung up on."""

    may_go: bool = True
    gone: bool = False

    def abort(self) -> None:
        """Be hung up on."""
        self.gone = True


class Now:
    """A clock that a test turns."""

    time = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.time


@pytest.fixture
def now() -> Now:
    """The lobby's clock."""
    return Now()


@pytest.fixture
def lobby(now: Now) -> Lobby[Comer]:
    """A lobby for eight, of whom four come from one place."""
    return Lobby(8, now)


def fill(lobby: Lobby[Comer], *addresses: str) -> list[Comer]:
    """Let one in from each address."""
    comers = [Comer() for _ in addresses]
    assert all(lobby.enter(comer, address) for comer, address in zip(comers, addresses, strict=True))
    return comers


def test_one_place_has_half(lobby: Lobby[Comer]) -> None:
    """The next one from there is refused, and others are let in."""
    fill(lobby, *["192.0.2.1"] * 4)
    assert not lobby.enter(Comer(), "192.0.2.1")
    assert lobby.enter(Comer(), "192.0.2.2")


def test_a_network_of_one_customer_is_one_place(lobby: Lobby[Comer]) -> None:
    """Nobody takes all by having many addresses."""
    fill(lobby, *(f"2001:db8::{n}" for n in range(1, 5)))
    assert not lobby.enter(Comer(), "2001:db8::ffff")


def test_oldest_makes_room_after_a_moment(lobby: Lobby[Comer], now: Now) -> None:
    """Nobody goes at once, so that many can log in at the same time."""
    first, second, *_ = fill(lobby, *["192.0.2.1"] * 4)
    now.time = 0.9
    assert not lobby.enter(Comer(), "192.0.2.1")
    now.time = 1.0
    assert lobby.enter(Comer(), "192.0.2.1")
    assert (first.gone, second.gone, len(lobby)) == (True, False, 4)


def test_a_full_house_takes_from_whoever_has_most(lobby: Lobby[Comer], now: Now) -> None:
    """Those who are few stay, though they came first."""
    few = fill(lobby, "192.0.2.1", "192.0.2.2")
    many = fill(lobby, *["192.0.2.3"] * 4, *["192.0.2.4"] * 2)
    now.time = 5.0
    assert lobby.enter(Comer(), "192.0.2.5")
    assert [one.gone for one in (*few, *many)] == [False, False, True, False, False, False, False, False]


def test_who_may_not_go_stays(lobby: Lobby[Comer], now: Now) -> None:
    """Another goes, or nobody."""
    comers = fill(lobby, *["192.0.2.1"] * 4)
    comers[0].may_go = False
    now.time = 5.0
    assert lobby.enter(Comer(), "192.0.2.1")
    assert [one.gone for one in comers] == [False, True, False, False]
    for one in comers:
        one.may_go = False
    now.time = 5.5
    assert not lobby.enter(Comer(), "192.0.2.1")


def test_who_leaves_is_counted_no_more(lobby: Lobby[Comer]) -> None:
    """Also when told twice."""
    comers = fill(lobby, *["192.0.2.1"] * 4)
    lobby.leave(comers[0])
    lobby.leave(comers[0])
    assert lobby.enter(Comer(), "192.0.2.1")
    assert len(lobby) == 4
