"""Statements of TPC-H that join many tables pass their trial: no plain run looks at all combinations of rows."""

from dataclasses import replace

import pytest

from dpsql.policy.model import TrialMode
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from dpsql.trial.subject import TrialSubject
from dpsql.trial.trial import StatementTrial
from dpsql.trial.tried_forms import TriedForms
from tests.lists.conftest import Lists
from tests.lists.statements import load

JOINS = (5, 7, 8, 9, 21)
"""They join up to eight tables, and could not be asked for want of time."""


@pytest.mark.parametrize("number", JOINS)
def test_joins_of_many_tables_pass(number: int, small: Lists) -> None:
    """By themselves, without what is known from before, and on all databases."""
    client = small.clients["duckdb", "tpch"]
    gateway = client.gateway
    deps = gateway._deps
    emitter = Emitter(deps.engine.dialect, deps.declared, deps.engine.named, deps.engine.kept)
    subject = TrialSubject.of(deps.policy, deps.rows, deps.engine, "duckdb")
    trial = StatementTrial(subject, DuckDbTrialEngine, "tests", emitter, TriedForms(None), TrialMode.ALWAYS)
    tried = replace(client, gateway=type(gateway)(replace(deps, trial=trial)))
    plan = tried.ask(f"EXPLAIN {load('tpch')[number]}").rows
    (verdict,) = [str(line) for (line,) in plan if "Trial" in str(line)]
    assert "passed" in verdict
    assert "only on some" not in verdict
