"""Margins on the demo's million trips hold against the exact answer of the clamped table, with a C that is chosen.

Neither what a C takes off nor noise is seen by who reads the answer: the truth is what an analyst would have been told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.demo.trips import generate
from dpsql.engines.base import PreparedMeasurements
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.policy.model import Policy
from dpsql.question import Cancellation
from tests.gateway.engines import Rows, Watched
from tests.support.fix_policy import with_chosen_rows, with_epsilon, without_reuse
from tests.support.fix_world import NewClient

_CLAMPED = """
CREATE VIEW clamped AS SELECT * REPLACE (
  CASE WHEN NOT isnan(fare) THEN least(greatest(fare, 0), 150) END AS fare,
  CASE WHEN NOT isnan(tip) THEN least(greatest(tip, 0), 40) END AS tip,
  CASE WHEN payment_type IN ('cash', 'credit card') THEN payment_type END AS payment_type
) FROM demo.trips WHERE passenger_id IS NOT NULL
"""
_DAY = "pickup_ts >= '2019-03-12' AND pickup_ts < '2019-03-13'"
_CARD = "payment_type = 'credit card'"

CELLS = [
    ("count(*)", "TRUE"),
    ("count(*)", "fare > 30"),
    ("count(*)", _DAY),
    ("sum(fare)", "TRUE"),
    ("sum(fare)", _DAY),
    ("avg(fare)", "TRUE"),
    ("avg(fare)", "fare > 30"),
    ("avg(tip)", f"{_CARD} AND {_DAY}"),
    ("variance(fare)", "TRUE"),
    ("variance(fare)", _DAY),
    ("count(DISTINCT passenger_id)", "TRUE"),
    ("median(fare)", "TRUE"),
    ("median(fare)", _DAY),
]
"""What is asked of which trips."""
_UNCOVERED = {(CELLS[-1], Fraction(1, 10))}
"""The margin of a median is chosen with it and knows nothing of what its C takes off: there it covers in 90 of 100."""
_WIDTH = 4
"""How many times as wide as 95 % of the errors a margin may be, since it has to hold for other records as well."""
_WIDE = {(CELLS[1], Fraction(1, 10)): 8}
"""Of few trips, with little ε, the margin has what C may take off more of than it did."""
_ANSWERS = 400
_BY_CHANCE = 0.025
"""How much less than 95 % of so many answers it may be by chance, in one of 100 cells."""


@dataclass(slots=True)
class Remembering(Watched):
    """An engine whose answers are remembered: the same trips are counted in each epoch, with other noise."""

    remembered: dict[str, Rows] = field(default_factory=dict)

    def run(self, prepared: PreparedMeasurements, sql: str, charge: Charge, cancellation: Cancellation) -> Rows:
        """Ask once."""
        if sql not in self.remembered:
            self.remembered[sql] = Watched.run(self, prepared, sql, charge, cancellation)
        return self.remembered[sql]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's file."""
    path = tmp_path_factory.mktemp("demo") / "taxi.duckdb"
    generate(path)
    return path


@pytest.fixture(scope="module")
def truth(demo: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The clamped table."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{demo}' AS demo (READ_ONLY)")
        connection.execute(_CLAMPED)
        yield connection


@pytest.fixture(scope="module")
def engine(demo: Path) -> Iterator[Remembering]:
    """The engine that the demo has."""
    duck = DuckDb(demo)
    yield Remembering(duck)
    duck.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "epsilon"),
    [(cell, each) for cell in CELLS for each in (Fraction(1), Fraction(1, 10)) if (cell, each) not in _UNCOVERED],
    ids=lambda value: str(value) if isinstance(value, Fraction) else " where ".join(value),
)
def test_the_truth_is_within_the_margin(
    cell: tuple[str, str],
    epsilon: Fraction,
    engine: Remembering,
    truth: duckdb.DuckDBPyConnection,
    policy: Policy,
    new_client: NewClient,
) -> None:
    """In 95 of 100 answers, or more where what the chosen C takes off counts; and margins are not far too wide."""
    asked, where = cell
    ((exact,),) = truth.execute(f"SELECT {asked} FROM clamped WHERE {where}").fetchall()
    policy = without_reuse(with_epsilon(with_chosen_rows(policy, "trips", "passenger"), epsilon))
    client = new_client(engine, policy=policy, entropy=np.random.default_rng(17).bytes)
    errors, margins = [], []
    for _ in range(_ANSWERS):
        client.ledger.advance("another")
        ((answer, margin),) = client.ask(f"SELECT {asked}, dpsql.margin({asked}) FROM trips WHERE {where}").rows
        if answer is not None:  # a median of too few rows for the ε
            errors.append(abs(float(str(answer)) - float(exact)))
            margins.append(float(str(margin)))
    assert len(errors) > _ANSWERS / 2
    covered = np.mean(np.array(errors) <= np.array(margins))
    assert covered >= 0.95 - _BY_CHANCE, f"{covered:.3f}"
    assert np.median(margins) <= _WIDE.get((cell, epsilon), _WIDTH) * np.quantile(errors, 0.95) + 1
