"""Statements over paths in JSON pass: made-up columns of JSON have values of every kind, and what is no JSON."""

import json
from collections.abc import Iterator, Mapping

import pytest

from dpsql.policy.model import Policy
from dpsql.trial.records import made_up_records
from tests.properties.test_json import KEYS, SUMS
from tests.support.fix_engines import ENGINES
from tests.support.fix_json import JsonEngines
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.served import Served
from tests.support.tried import Court, court


@pytest.fixture(scope="module")
def courts(json_policy: Policy, json_world: tuple[World, JsonEngines]) -> Iterator[Mapping[str, Court]]:
    """Give a place to try statements in, for each engine."""
    world, memory = json_world[0], Memory(json_policy, public={})
    served = Served(world, "json_trials", {})
    yield {"duckdb": court(json_policy, world, memory), "postgres": court(json_policy, world, served)}
    served.close()
    memory.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_statements_over_paths_pass(engine: str, courts: Mapping[str, Court]) -> None:
    """With declared keys and with such that are found."""
    for sql in SUMS:
        assert courts[engine].tried(sql, "owner").new
    for sql in KEYS:
        assert courts[engine].tried(sql, "explorer").new


def test_made_up_json_is_as_declared_and_is_not(json_policy: Policy) -> None:
    """Some keys are missing, some values are of another type or beyond their bounds, and some texts are no JSON."""
    records = made_up_records(json_policy, {}, {"events": frozenset()})
    cells = [row[2] for made in records for row in made.tables["events"].rows]
    assert None in cells
    assert {"{", "[]", "null"} <= set(cells)
    objects = [json.loads(cell) for cell in cells if cell is not None and cell.startswith('{"')]
    plans, ages = ([each.get(key) for each in objects] for key in ("plan", "age"))
    assert {"free", "pro", "team", None} <= {plan for plan in plans if not isinstance(plan, (list, dict))}
    assert any(isinstance(plan, (list, dict, bool)) for plan in plans)
    assert any(isinstance(age, int) and age > 120 for age in ages)
    assert any(isinstance(age, int) and 0 <= age <= 120 for age in ages)
    assert any(isinstance(each.get("address"), dict) for each in objects)
