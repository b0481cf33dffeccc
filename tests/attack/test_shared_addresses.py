"""Strangers who share one's address, behind a router or a proxy, guess passwords of names that they make up."""

import psycopg
import pytest

from dpsql.private_files import Scratch
from tests.clients.site import Site, configure, serving

GUESSES = 110
"""Of names from one address; a hundred bar it."""


def _guess(site: Site, name: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(site.words.replace("user=ana", f"user={name}"))


def test_strangers_bar_nobody_who_has_been_there() -> None:
    """Who has logged in from the address does so again, while they are turned away; new names are as well."""
    with Scratch("dpsql-strangers-", mode=0o711) as place:
        config = configure(place.path)
        text = config.read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if line.startswith("  ana:"))
        config.write_text(f"{text.rstrip()}\n{line.replace('ana', 'bob', 1)}\n", encoding="utf-8")
        with serving(config) as site:
            with psycopg.connect(site.words):
                pass
            for number in range(GUESSES):
                _guess(site, f"stranger{number}")
            _guess(site, "bob")
            with psycopg.connect(site.words, autocommit=True) as session:
                assert session.execute("SELECT 1").fetchone() == (1,)
