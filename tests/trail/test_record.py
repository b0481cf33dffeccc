"""What a line says, and what it never does."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import Privacy
from dpsql.trail.record import AuditVerdict, verdict_of
from tests.trail.lines import record

_FREE, _PAID = Privacy(Fraction(0), Fraction(0)), Privacy(Fraction(1, 3), Fraction(0))


def test_what_does_not_apply_is_left_out() -> None:
    """A line has what it needs, in a fixed order."""
    assert list(record("SELECT 1").fields()) == ["time", "event", "user", "role", "address", "statement", "verdict"]


def test_a_charge_is_never_understated() -> None:
    """A third is rounded up; the ledger has the exact amount."""
    fields = replace(record("SELECT 1"), cost=_PAID, seconds=0.01234).fields()
    assert (fields["epsilon"], fields["delta"], fields["milliseconds"]) == ("0.333333333334", "0", 12.3)


def test_a_very_long_text_is_known_by_its_hash() -> None:
    """It must not fill the disk."""
    written = str(record("x" * 10**6).fields()["statement"])
    assert len(written) < 101_000
    assert "(1000000 characters, SHA-256 " in written


def test_many_long_parameters_are_known_by_their_hash() -> None:
    """All of a statement's together take no more than one text: who is refused pays nothing for a line."""
    written = replace(record("SELECT 1"), parameters=("x" * 10**5, None, *["y" * 10**5] * 150)).fields()["parameters"]
    assert isinstance(written, list)
    assert written[:2] == ["x" * 10**5, None]
    assert len(written) == 3
    assert written[2].startswith("… (150 more of 15000000 characters, SHA-256 ")
    short = ("1", "", None, "x" * 99_000)
    assert replace(record("SELECT 1"), parameters=short).fields()["parameters"] == list(short)


def test_a_text_that_is_none_is_written_all_the_same() -> None:
    """Half a surrogate pair would otherwise keep all other lines from being written."""
    assert record("a\ud800\0b").fields()["statement"] == "a\ufffd\ufffdb"


@pytest.mark.parametrize(
    ("code", "cost", "verdict"),
    [
        ("42501", _FREE, AuditVerdict.REFUSED),
        ("53400", _FREE, AuditVerdict.REFUSED),
        ("22012", _PAID, AuditVerdict.FAILED),
        ("58000", _FREE, AuditVerdict.FAILED),
        ("57014", _FREE, AuditVerdict.FAILED),
        ("53100", _FREE, AuditVerdict.FAILED),
    ],
)
def test_failing_is_not_being_refused(code: str, cost: Privacy, verdict: AuditVerdict) -> None:
    """What was paid for, or is no fault of the statement's, has failed."""
    assert verdict_of(code, cost) is verdict


@pytest.mark.parametrize("verdict", AuditVerdict)
def test_what_could_not_be_written_in_time_was_not_answered(verdict: AuditVerdict) -> None:
    """Its line says later that the client has heard an error."""
    later = replace(record("SELECT 1"), verdict=verdict).unwritten()
    assert later.verdict in (AuditVerdict.FAILED, AuditVerdict.REFUSED, AuditVerdict.PUBLIC)
    assert (later.code == "58030") == (later.verdict is not verdict)


def test_blanks_of_parameters_stay() -> None:
    """They are what was sent: '  x' is another value than 'x'. Around a statement they are nothing."""
    written = replace(record("  SELECT 1 "), parameters=("  x ", " ", "\n")).fields()
    assert (written["statement"], written["parameters"]) == ("SELECT 1", ["  x ", " ", "\n"])
