"""Numbers for keys."""

from dpsql.accounting.sql.store import place_of_key


def test_places_are_fixed_and_fit_into_a_lock() -> None:
    """Each process finds the same one; files and PostgreSQL have signed numbers of 64 bits."""
    assert place_of_key("a") == 3649569658711240562
    assert len({place_of_key(str(number)) for number in range(1000)}) == 1000
    assert all(0 <= place_of_key(str(number)) < 2**62 for number in range(1000))
