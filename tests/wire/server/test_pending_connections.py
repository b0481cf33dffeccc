"""Who is let in before anybody knows who they are, and who goes for whom."""

from dataclasses import dataclass

import pytest

from dpsql.wire.server.limits import PendingConnections


@dataclass(eq=False, slots=True)
class AcceptedConnection:
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
    """The clock."""
    return Now()


@pytest.fixture
def pending(now: Now) -> PendingConnections[AcceptedConnection]:
    """Room for eight, of whom four come from one place."""
    return PendingConnections(8, now)


def fill(pending: PendingConnections[AcceptedConnection], *addresses: str) -> list[AcceptedConnection]:
    """Let one in from each address."""
    accepted = [AcceptedConnection() for _ in addresses]
    assert all(pending.admit(accepted, address) for accepted, address in zip(accepted, addresses, strict=True))
    return accepted


def test_one_place_has_half(pending: PendingConnections[AcceptedConnection]) -> None:
    """The next one from there is refused, and others are let in."""
    fill(pending, *["192.0.2.1"] * 4)
    assert not pending.admit(AcceptedConnection(), "192.0.2.1")
    assert pending.admit(AcceptedConnection(), "192.0.2.2")


def test_a_network_of_one_customer_is_one_place(pending: PendingConnections[AcceptedConnection]) -> None:
    """Nobody takes all by having many addresses."""
    fill(pending, *(f"2001:db8::{n}" for n in range(1, 5)))
    assert not pending.admit(AcceptedConnection(), "2001:db8::ffff")


def test_oldest_makes_room_after_a_moment(pending: PendingConnections[AcceptedConnection], now: Now) -> None:
    """Nobody goes at once, so that many can log in at the same time."""
    first, second, *_ = fill(pending, *["192.0.2.1"] * 4)
    now.time = 0.9
    assert not pending.admit(AcceptedConnection(), "192.0.2.1")
    now.time = 1.0
    assert pending.admit(AcceptedConnection(), "192.0.2.1")
    assert (first.gone, second.gone, len(pending)) == (True, False, 4)


def test_a_full_house_takes_from_whoever_has_most(pending: PendingConnections[AcceptedConnection], now: Now) -> None:
    """Those who are few stay, though they came first."""
    few = fill(pending, "192.0.2.1", "192.0.2.2")
    many = fill(pending, *["192.0.2.3"] * 4, *["192.0.2.4"] * 2)
    now.time = 5.0
    assert pending.admit(AcceptedConnection(), "192.0.2.5")
    assert [connection.gone for connection in (*few, *many)] == [False, False, True, False, False, False, False, False]


def test_who_may_not_go_stays(pending: PendingConnections[AcceptedConnection], now: Now) -> None:
    """Another goes, or nobody."""
    accepted = fill(pending, *["192.0.2.1"] * 4)
    accepted[0].may_go = False
    now.time = 5.0
    assert pending.admit(AcceptedConnection(), "192.0.2.1")
    assert [connection.gone for connection in accepted] == [False, True, False, False]
    for each in accepted:
        each.may_go = False
    now.time = 5.5
    assert not pending.admit(AcceptedConnection(), "192.0.2.1")


def test_who_leaves_is_counted_no_more(pending: PendingConnections[AcceptedConnection]) -> None:
    """Also when told twice."""
    accepted = fill(pending, *["192.0.2.1"] * 4)
    pending.remove(accepted[0])
    pending.remove(accepted[0])
    assert pending.admit(AcceptedConnection(), "192.0.2.1")
    assert len(pending) == 4
