"""Prints the statements that MetricFlow writes for PostgreSQL; runs where MetricFlow is installed, and asks no server."""

import datetime as dt
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from metricflow.engine.metricflow_engine import MetricFlowEngine, MetricFlowQueryRequest
from metricflow.protocols.sql_client import SqlEngine
from metricflow.sql.render.postgres import PostgresSQLSqlPlanRenderer
from metricflow_semantic_interfaces.parsing.dir_to_model import parse_yaml_file_paths_to_semantic_manifest
from metricflow_semantic_interfaces.validations.semantic_manifest_validator import SemanticManifestValidator
from metricflow_semantics.model.semantic_manifest_lookup import SemanticManifestLookup

HERE = Path(__file__).parent
MODEL = ("model.yaml", "metrics.yaml")


@dataclass(frozen=True)
class Postgres:
    """What MetricFlow asks of a client before it sends anything."""

    sql_engine_type = SqlEngine.POSTGRES
    sql_plan_renderer = PostgresSQLSqlPlanRenderer()


def main() -> None:
    """Print all statements."""
    manifest = parse_yaml_file_paths_to_semantic_manifest([str(HERE / name) for name in MODEL]).semantic_manifest
    SemanticManifestValidator().checked_validations(manifest)
    engine = MetricFlowEngine(SemanticManifestLookup(manifest), Postgres())
    asked = yaml.safe_load((HERE / "queries.yaml").read_text(encoding="utf-8"))
    sys.stdout.write("-- What MetricFlow writes for tests/lists/metricflow: `python -m tests.lists.layers`.\n")
    for number, query in enumerate(asked, 1):
        sql = engine.explain(_request(query)).sql_statement.without_descriptions.sql
        sys.stdout.write(f"\n-- [{number}] {query['title']}\n{sql.strip()};\n")


def _request(query: Mapping[str, Any]) -> MetricFlowQueryRequest:
    return MetricFlowQueryRequest.create(
        metric_names=query.get("metrics"),
        group_by_names=query.get("by"),
        where_constraints=query.get("where"),
        order_by_names=query.get("order"),
        limit=query.get("limit"),
        time_constraint_start=_time(query.get("start")),
        time_constraint_end=_time(query.get("end")),
        min_max_only=query.get("min_max_only", False),
    )


def _time(day: dt.date | None) -> dt.datetime | None:
    return None if day is None else dt.datetime.combine(day, dt.time())


if __name__ == "__main__":
    main()
