"""Text to numbers, dates, types and verifiers."""

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.policy.load import scalars
from dpsql.policy.model import OfEachType, SqlType
from tests.policy.fix_config import VERIFIER


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12))
def test_numbers_are_exact(value: Decimal) -> None:
    """Any decimal text is read as just that number."""
    assert scalars.fraction_of(str(value)) == Fraction(value)


@pytest.mark.parametrize("text", ["", "nan", "inf", "1/3", "0x10", "1 000", "١", "1e99999", "--1", "_1", "1,5"])
def test_what_is_no_number(text: str) -> None:
    """Neither other notations nor other digits nor gigantic exponents."""
    with pytest.raises(ValueError, match="must be a number"):
        scalars.fraction_of(text)


@pytest.mark.parametrize("read", [scalars.positive, scalars.probability, scalars.delta])
@pytest.mark.parametrize("text", ["1e-9999", "1e-400", "1e9999", f"0.{'0' * 400}1", f"0.{'3' * 5000}", "9" * 5000])
def test_what_no_float_comes_near_is_no_amount(text: str, read: Callable[[str], Fraction]) -> None:
    """Noise for an ε of 1e-400 can't be drawn, which would be found out once the engine has answered."""
    with pytest.raises(ValueError, match="must be a number"):
        read(text)


def test_a_number_of_any_digits_is_no_number() -> None:
    """In Python's own words, which know no configuration, its refusal would read."""
    with pytest.raises(ValueError, match="must be a number such as"):
        scalars.fraction_of("9" * 5000)


@given(st.dates())
def test_dates_are_days(day: date) -> None:
    """Days since 1970-01-01."""
    assert scalars.moment(SqlType.DATE, day.isoformat()) == (day - date(1970, 1, 1)).days


@given(st.datetimes())
def test_timestamps_are_microseconds(moment: datetime) -> None:
    """Microseconds since 1970-01-01, as a clock without a zone shows them."""
    expected = (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert scalars.moment(SqlType.TIMESTAMP, str(moment)) == expected


@pytest.mark.parametrize("zone", ["", "Z", "+00", "+00:00", "+0000"])
def test_bounds_with_a_zone_are_as_postgresql_shows_them(zone: str) -> None:
    """Its own notation of UTC is one of them."""
    assert scalars.moment(SqlType.TIMESTAMPTZ, f"1970-01-02 00:00:00{zone}") == 86_400_000_000


@pytest.mark.parametrize(
    "text", ["2019-03-01 12:00:00+02", "2019-03-01T12:00:00Z", "20190301", "2019-W09-5", "1 March"]
)
def test_other_notations_of_time_are_refused(text: str) -> None:
    """A zone would be dropped silently."""
    with pytest.raises(ValueError, match="must be a timestamp"):
        scalars.moment(SqlType.TIMESTAMP, text)


@pytest.mark.parametrize(
    ("text", "kind", "declared"),
    [
        ("integer", SqlType.INTEGER, "integer"),
        ("INT8", SqlType.BIGINT, "bigint"),
        ("double  precision", SqlType.DOUBLE, "double precision"),
        ("decimal(8)", SqlType.NUMERIC, "numeric(8,0)"),
        ("numeric", SqlType.NUMERIC, "numeric"),
        ("numeric( 10 , 2 )", SqlType.NUMERIC, "numeric(10,2)"),
        ("varchar", SqlType.TEXT, "character varying"),
        ("character varying(7)", SqlType.TEXT, "character varying(7)"),
        ("timestamp without time zone", SqlType.TIMESTAMP, "timestamp"),
        ("timestamp with time zone", SqlType.TIMESTAMPTZ, "timestamptz"),
        ("CHAR(3)", SqlType.CHARACTER, "character(3)"),
        ("character", SqlType.CHARACTER, "character(1)"),
        ("uuid", SqlType.UUID, "uuid"),
    ],
)
def test_types(text: str, kind: SqlType, declared: str) -> None:
    """PostgreSQL's names and its common abbreviations."""
    assert scalars.column_type(text) == (kind, declared)


@pytest.mark.parametrize(
    "text",
    [
        "jsonb(3)",
        "text(5)",
        "numeric(0)",
        "numeric(3,4)",
        "varchar(0)",
        "integer); DROP TABLE x",
        "char(0)",
        "char(3, 1)",
        "bpchar",
        "",
    ],
)
def test_types_that_are_refused(text: str) -> None:
    """What the analysis has no rules for, and what would break out of a declaration."""
    with pytest.raises(ValueError, match=r"must be one of|takes no such length|must be char"):
        scalars.column_type(text)


@pytest.mark.parametrize(
    "text",
    ["hunter2", VERIFIER[:-1], VERIFIER.replace("4096", "1"), VERIFIER.replace("SHA-256", "SHA-1"), VERIFIER + "A", ""],
)
def test_what_is_no_verifier(text: str) -> None:
    """A password, a damaged verifier, or one that is too quick to try; the message repeats none of it."""
    with pytest.raises(ValueError, match="SCRAM-SHA-256 verifier, not a password") as caught:
        scalars.verifier(text)
    assert not text or text not in str(caught.value)


def test_there_is_something_for_each_type() -> None:
    """The fields of `OfEachType` are the types, so that mypy misses a new one wherever nothing is said of it."""
    places = OfEachType(**{field.name: field.name for field in fields(OfEachType)})
    assert {type_: places.of(type_) for type_ in SqlType} == {type_: type_.name.lower() for type_ in SqlType}
    assert len(fields(OfEachType)) == len(SqlType)
