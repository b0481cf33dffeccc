"""The owner's report: exact counts of what is not as declared, on both engines, and what bounds on rows would keep."""

import ast
from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from pathlib import Path

import pytest

from dpsql.engines.base import OwnerEngine
from dpsql.engines.owner import ColumnReport, UnitReport, report
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Policy, SqlType, Table, UnitBound
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts

PACKAGE = Path(__file__).parent.parent.parent / "dpsql"
VISITS = Table(
    "visits",
    {
        column.name: column
        for column in (
            Column("who", SqlType.INTEGER, "integer"),
            Column("cost", SqlType.DOUBLE, "double precision", bounds=Interval.of(0, 10)),
            Column("days", SqlType.INTEGER, "integer", bounds=Interval.of(1, 3), nullable=True),
            Column("kind", SqlType.TEXT, "text", values=("a", "b")),
            Column("note", SqlType.TEXT, "text", nullable=True),
        )
    },
    {"person": UnitBound("who", 3)},
    file="visits.yaml",
)
POLICY = Policy("clinic", {"visits": VISITS}, {}, {}, "")
SQL = """
CREATE TABLE visits (who INTEGER, cost DOUBLE PRECISION, days INTEGER, kind TEXT, note TEXT);
INSERT INTO visits VALUES (1, 5, 2, 'a', NULL), (1, -1, 4, 'c', ''), (1, 'NaN', 0, NULL, ''), (1, 'Infinity', NULL, 'b', ''),
  (2, 10.5, 1, 'A', ''), (3, NULL, 1, 'a', ''), (NULL, 0, 9, 'a', '');
"""


@pytest.mark.parametrize("engine", ["duck", "postgres"])
def test_what_is_not_as_declared_is_counted(request: pytest.FixtureRequest, engine: str) -> None:
    """Clipped values, values without a place, missing ones, rows that are nobody's."""
    make: Callable[[str], OwnerEngine] = request.getfixturevalue(engine)
    (reported,) = report(POLICY, make(SQL), DeclaredFacts({}))
    assert (reported.name, reported.rows) == ("visits", 7)
    assert reported.columns == (
        ColumnReport("who", nulls=1, below=None, above=None, outside=None),
        ColumnReport("cost", nulls=2, below=1, above=2, outside=None),
        ColumnReport("days", nulls=None, below=1, above=2, outside=None),
        ColumnReport("kind", nulls=1, below=None, above=None, outside=2),
    )
    assert reported.units == (UnitReport("person", 3, nobodys=1, histogram={4: 1, 1: 2}),)


def test_a_bound_keeps_what_it_keeps() -> None:
    """kept(C) = Σ min(n, C) / N; the error adds what is lost to the noise of one group."""
    units = UnitReport("person", 3, nobodys=0, histogram={4: 1, 1: 2})
    assert units.choices() == (1, 2, 3, 5)
    assert [units.kept(most) for most in units.choices()] == [3 / 6, 4 / 6, 5 / 6, 1]
    assert units.error(5, Fraction(2), 1) == pytest.approx(2.5 * sqrt(2) / 6)
    assert units.error(1, Fraction(2), 3) == pytest.approx(sqrt(0.25 + (0.5 * sqrt(2) * 3 / 6) ** 2))
    assert UnitReport("person", 3, nobodys=0, histogram={}).choices() == (1, 3)


def test_exact_rows_go_to_the_owner_alone() -> None:
    """Beside the engines themselves only the report asks for rows that nobody paid for."""
    texts = {file: file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}
    users = {
        file.relative_to(PACKAGE).as_posix()
        for file, text in texts.items()
        if "for_owner" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "for_owner"
    }
    assert users == {"engines/owner.py"}
