"""How a server is spoken of, and to."""

import pytest

from dpsql.accounting.postgres.session import shown_place


@pytest.mark.parametrize(
    ("dsn", "told"),
    [
        ("postgresql://me:hunter2@db.example:5433/ledgers", "postgresql://db.example:5433/ledgers"),
        ("postgresql:///ledgers?host=/run/pg&password=hunter2", "postgresql:///run/pg/ledgers"),
        ("postgresql://me@db.example", "postgresql://db.example/"),
    ],
)
def test_a_place_is_told_without_its_password(dsn: str, told: str) -> None:
    """Nor with who logs in."""
    assert shown_place(dsn) == told
