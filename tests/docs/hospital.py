"""The hospital of deploy/example on PostgreSQL: domains, enumerations, partitions, comments, keys, and what can't be read."""

from tests.docs.pages import ROOT

_TEXT = (ROOT / "deploy" / "example" / "hospital.sql").read_text(encoding="utf-8")
DDL, _ROWS = _TEXT.split("-- Rows.\n")
PATIENTS = 20_000


def rows(patients: int) -> str:
    """Return the statements that make so many patients and what belongs to them."""
    return _ROWS.replace(str(PATIENTS), str(patients))
