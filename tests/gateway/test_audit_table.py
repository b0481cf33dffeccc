"""`dpsql.audit`: the trail's newest lines, however long those are that clients have made."""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import Ledger
from dpsql.errors import QueryCanceled
from dpsql.gateway.catalogue.virtual_tables import AccountsStatement, Books, with_accounts
from dpsql.gateway.measuring import account
from dpsql.policy.model import Policy
from dpsql.privacy.release.release import Profile
from dpsql.question import Asker, Cancellation
from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.trail.record import BEGINNING, ChainedLine, chain_line, read_line

_ASKED = AccountsStatement("SELECT statement FROM dpsql.audit", ())


class _Trail:
    """Lines without an end."""

    def __init__(self, length: int) -> None:
        self.length, self.taken = length, 0

    def __call__(self) -> Iterator[ChainedLine]:
        line = read_line(chain_line({"statement": "x" * self.length}, BEGINNING)[0][:-1])
        assert line is not None
        while True:
            self.taken += 1
            yield line


@pytest.fixture
def owner(policy: Policy) -> Account:
    """Give an account that may see them."""
    payer = account(policy, Asker("ana", "owner"))
    return replace(payer, role=replace(payer.role, owner=True))


def _shown(trail: _Trail, owner: Account, cancellation: Cancellation) -> str:
    return with_accounts(
        _ASKED, parse_query, owner, Books(cast("Ledger", None), trail, cancellation, Profile, tuple, tuple)
    )


def test_ten_thousand_short_lines_are_shown(owner: Account) -> None:
    """And no more."""
    trail = _Trail(10)
    _shown(trail, owner, Cancellation())
    assert trail.taken == 10_000


def test_of_long_lines_fewer_are_read(owner: Account) -> None:
    """Ten thousand of them would fill the server's memory, and take minutes in which its other sessions wait."""
    trail = _Trail(2**20)
    assert len(_shown(trail, owner, Cancellation())) < 10**6
    assert trail.taken <= 64


def test_reading_ends_when_it_is_cancelled(owner: Account) -> None:
    """Nobody reads on for a client that has gone."""
    trail, cancellation = _Trail(10), Cancellation()
    cancellation.cancel()
    with pytest.raises(QueryCanceled):
        _shown(trail, owner, cancellation)
    assert trail.taken == 1
