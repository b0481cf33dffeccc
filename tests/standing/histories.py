"""A growing table of tests, its standing question, and accounts in memory over copies that a test fills."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import duckdb

from dpsql.accounting.ledger import LastMeasurement
from dpsql.engines.snapshot.accounts import AccountedSums, HeldAccounts
from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, MechanismName, SqlType, Table, UnitBound
from dpsql.privacy.features.feature import ONE, Feature, ScaledExpr, Shape
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import exact_sums
from dpsql.question import Cancellation
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.groups import groups
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Ref, both
from dpsql.rewrite.ir.relation import Join, Relation, Source
from dpsql.standing.questions import Ordinary, StandingPart, recognize_question

FIRST = date(2026, 1, 1)
GROWS = Grows("at", Every.DAY, 1, TermLength.MONTH, 5)
Row = tuple[str | None, int, float]
"""Whose a row is, on which day from FIRST on, and a value."""


def day_of(number: int) -> date:
    """Return a period by its number."""
    return FIRST + timedelta(days=number)


def table(c: int, units: Sequence[str] = (), grows: Grows | None = GROWS) -> Table:
    """Return a table that grows by the day; `tag` has the same values as the unit."""
    low = Fraction((FIRST - date(1970, 1, 1)).days)
    columns = (
        Column("who", SqlType.TEXT, "text", names_unit=True),
        Column("at", SqlType.DATE, "date", Interval(low, low + 400)),
        Column("tag", SqlType.TEXT, "text", values=tuple(units) or ("a",)),
        Column("x", SqlType.DOUBLE, "double precision", Interval(Fraction(0), Fraction(8))),
    )
    return Table("t", {c.name: c for c in columns}, {"person": UnitBound("who", c)}, grows=grows)


def ref(declared: Table, name: str) -> Ref:
    """Return a column."""
    return Ref(0, declared.name, name, declared.columns[name])


def asked(
    declared: Table,
    days: int,
    *,
    keys: Sequence[str] = ("at", "tag"),
    c: int | None = None,
    features: Sequence[Feature] = (),
) -> tuple[MeasurementPlan, PricedMeasurement]:
    """Return the plan of SELECT at, tag, count(*), sum(x) … WHERE at within so many days GROUP BY at, tag."""
    at, x = ref(declared, "at"), ref(declared, "x")
    low = int((FIRST - date(1970, 1, 1)).days)
    where = both(
        Apply("ge", (at, Const(low, SqlType.DATE)), SqlType.BOOLEAN),
        Apply("lt", (at, Const(low + days, SqlType.DATE)), SqlType.BOOLEAN),
    )
    relation = Relation((Source(declared, Join.FROM),), where, {}, (at, x))
    every = [ref(declared, name) for name in keys]
    env = DeclaredFacts({}).env(every)
    asked_for = Interval(Fraction(low), Fraction(low + days - 1))
    known = {key: facts if key != at else replace(facts, interval=asked_for) for key, facts in env.items()}
    found = groups(every, relation, known, {}, 10**6)
    value = Feature(Shape.VALUE, x=ScaledExpr(x, Interval(Fraction(0), Fraction(8))))
    bound = ContributionBound(ref(declared, "who"), c or declared.units["person"].max_rows, Form.REWEIGHT)
    measured = tuple(features) or (ONE, value)
    sums = Sums(relation, TRUE, found, measured, bound, Fraction(1), MechanismName.CUBE)
    return MeasurementPlan(found, (sums,), ()), PricedMeasurement(sums, "", "m")


def standing(declared: Table, days: int) -> StandingPart:
    """Return that as the standing question that it is."""
    found = recognize_question(*asked(declared, days), "person", datetime(2026, 1, 15, tzinfo=UTC))
    assert isinstance(found, StandingPart), found if isinstance(found, Ordinary) else None
    return found


@dataclass
class Copies:
    """Accounts in memory, and a copy of the table that a test fills anew."""

    connection: duckdb.DuckDBPyConnection
    emitter: Emitter
    number: int = 0

    @property
    def accounts(self) -> HeldAccounts:
        """Return the accounts."""
        return HeldAccounts(self.connection)

    def fill(self, rows: Sequence[Row]) -> None:
        """Let a new copy have just these rows."""
        self.connection.execute(
            'CREATE OR REPLACE TABLE records.main.t (who VARCHAR, "at" DATE, tag VARCHAR, x DOUBLE)'
        )
        if rows:
            whose, days, values = zip(*rows, strict=True)
            self.connection.execute(
                "INSERT INTO records.main.t SELECT who, DATE '2026-01-01' + d::INTEGER, who, x FROM "
                "(SELECT unnest(?::VARCHAR[]) AS who, unnest(?::INTEGER[]) AS d, unnest(?::DOUBLE[]) AS x)",
                [list(whose), list(days), list(values)],
            )

    def measured(
        self, part: StandingPart, question: str, days: Sequence[int]
    ) -> dict[tuple[object, ...], Sequence[int]]:
        """Return the exact coordinates of each cell of some periods, measured together, by its shown keys."""
        self.number += 1
        sums = part.for_periods([day_of(day) for day in days])
        until = datetime(2027, 1, 1, tzinfo=UTC)
        statements = AccountedSums(sums.units_accounted(self.emitter), sums.sql(self.emitter), sums.bound.mass, until)
        to = LastMeasurement(self.number, f"claim {self.number}")
        rows = self.accounts.measure(question, to, statements, timeout=60, cancellation=Cancellation())
        return dict(zip(sums.groups.shown, exact_sums(sums, rows).coordinates, strict=True))

    def used(self, question: str) -> dict[str, int]:
        """Return every unit's account."""
        return dict(self.connection.execute(f'SELECT unit, used FROM standing.main."accounts {question}"').fetchall())


@contextmanager
def copies() -> Iterator[Copies]:
    """Give new accounts, and no copy yet."""
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS records")
        connection.execute("ATTACH ':memory:' AS standing")
        connection.execute("CREATE TABLE standing.main.lineage (name VARCHAR)")
        connection.execute(
            "CREATE TABLE standing.main.questions (question VARCHAR, number BIGINT, claim VARCHAR, until TIMESTAMP)"
        )
        for name, columns in (("kinds", "kind"), ("forgotten", "hashed")):
            connection.execute(f"CREATE TABLE standing.main.{name} (question VARCHAR, {columns} VARCHAR)")
        connection.execute("CREATE TABLE standing.main.keyed (sign VARCHAR)")
        yield Copies(connection, Emitter(DUCKDB, DeclaredFacts({}), lambda name: f'records.main."{name}"'))
