"""Paths in JSON, exhaustively: taking one person's rows away moves nothing further than claimed, whatever stands in them."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import Measurement
from tests.support.exactness import Measured, key_searches, measurements
from tests.support.fix_engines import ENGINES
from tests.support.fix_json import JsonEngines, events, with_what_is_no_json
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Row
from tests.support.served import Filled, Served

MOST, PEOPLE = 3, 24
"""How many rows of a person count, of the five that each has."""
SUMS = (
    "SELECT props->>'plan' AS plan, count(*), sum((props->>'age')::int) FROM events GROUP BY 1",
    "SELECT count(*), sum((props->>'score')::numeric), avg((props->>'weight')::float8) FROM events WHERE props IS NOT NULL",
    "SELECT count(*) FROM events WHERE props->>'plan' = 'pro' OR (props->>'active')::boolean",
    "SELECT date_trunc('month', (props->>'since')::date) AS m, count(*) FROM events GROUP BY 1",
    "SELECT max((props->>'at')::timestamp), count(DISTINCT props->>'note') FROM events",
    "SELECT avg(n) FROM (SELECT person, count(DISTINCT props->>'plan') AS n FROM events GROUP BY 1) AS t",
)
KEYS = (
    "SELECT props->>'note' AS note, count(*) FROM events GROUP BY 1",
    "SELECT (props->>'serial')::bigint AS s, props->'address'->>'city' AS c, count(*) FROM events GROUP BY 1, 2",
)


@pytest.fixture(scope="module")
def filled(json_policy: Policy, json_world: tuple[World, JsonEngines]) -> Iterator[Mapping[str, Filled]]:
    """Engines of our own, for rows that change."""
    memory = Memory(json_policy, public={})
    served = Served(json_world[0], "json_neighbours", {})
    yield {"duckdb": memory, "postgres": served}
    served.close()
    memory.close()


def _rows(engine: str) -> list[Row]:
    rows = events(PEOPLE * 5)
    return with_what_is_no_json(rows) if engine == "duckdb" else rows


def _moves(
    parts: Sequence[Measurement], name: str, filled: Mapping[str, Filled], world: World
) -> Iterator[tuple[int, int]]:
    """Yield how far each person's rows move each part, and how far they may."""
    engine, rows = filled[name], _rows(name)
    for gone in (None, *{row["person"] for row in rows if row["person"] is not None}):
        engine.fill("events", [row for row in rows if gone is None or row["person"] != gone])
        pairs = [(measured := Measured.of(part, engine, world), measured.exact()) for part in parts]
        if gone is None:
            whole = pairs
        for (measured, all_), (_, left) in zip(whole, pairs, strict=True):
            yield measured.distance(all_, left), measured.claim


@pytest.mark.parametrize("engine", ENGINES)
def test_no_person_moves_it_further_than_claimed(
    engine: str, json_policy: Policy, json_world: tuple[World, JsonEngines], filled: Mapping[str, Filled]
) -> None:
    """Nor does nobody move it."""
    policy, world = with_rows(json_policy, "events", "person", MOST), json_world[0]
    for sql in SUMS:
        parts = measurements(sql, policy, world, filled[engine], "owner")
        moves = list(_moves(parts, engine, filled, world))
        assert all(moved <= claim for moved, claim in moves), sql
        assert any(moved for moved, _ in moves), sql


@pytest.mark.parametrize("engine", ENGINES)
def test_a_person_is_in_few_of_the_groups_found_out(
    engine: str, json_policy: Policy, json_world: tuple[World, JsonEngines], filled: Mapping[str, Filled]
) -> None:
    """By the rows that are counted, and by the people who are."""
    policy, world = with_rows(json_policy, "events", "person", MOST), json_world[0]
    for sql in KEYS:
        (sums,) = measurements(sql, policy, world, filled[engine], "explorer")
        (search,) = key_searches(sql, policy, world, filled[engine], "explorer")
        moves = list(_moves((sums, search), engine, filled, world))
        assert all(moved <= claim for moved, claim in moves), sql
        assert any(moved == claim for moved, claim in moves), sql
