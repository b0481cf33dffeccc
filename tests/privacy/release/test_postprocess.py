"""Released numbers as text: whatever the noise, PostgreSQL can read it as the column's type."""

import pytest

from dpsql.privacy.release.postprocess import format_number


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (1.4e19, "bigint", "9223372036854775807"),
        (-1.4e19, "bigint", "-9223372036854775808"),
        (3e9, "integer", "2147483647"),
        (-1e5, "smallint", "-32768"),
        (2.5, "bigint", "2"),
        (None, "bigint", None),
        (1.4e300, "double precision", "1.4e+300"),
        (1.4e39, "real", "3.4028234663852886e+38"),
        (-1.4e39, "real", "-3.4028234663852886e+38"),
        (1e-46, "real", "0"),
        (-0.1, "real", "-0.1"),
        (90_000_000_000.4, "interval", "1 days 3600000000 microseconds"),
        (-86_400_000_001.0, "interval", "-1 days -1 microseconds"),
        (1.4e30, "interval", "106751991 days 14454775807 microseconds"),
    ],
)
def test_numbers_stay_within_their_type(value: float | None, type_: str, text: str | None) -> None:
    """Noise knows no limit: a count at a tiny ε left bigint, and its answer was an error that was paid for."""
    assert format_number(value, type_) == text
