"""Soda 4: contracts of a table, each check in one of its own, and several in one."""

# mypy: ignore-errors

import json
import os
from pathlib import Path

os.environ["SODA_CORE_TELEMETRY_ENABLED"] = "false"

from soda_core.contracts import verify_contract_locally
from told import DATABASE, HOME, HOST, PASSWORD, PORT, USER, tried

CONNECTION = {
    "host": HOST, "port": int(PORT), "user": USER, "password": PASSWORD, "database": DATABASE, "sslmode": "disable",
}  # fmt: skip
SOURCE = Path(HOME) / "taxi.yml"
SOURCE.write_text(json.dumps({"type": "postgres", "name": "taxi", "connection": CONNECTION}))
OF_TABLE = {
    "schema": {"schema": {}},
    "row_count": {"row_count": {"threshold": {"must_be_between": {"greater_than": 2900, "less_than": 3100}}}},
    "freshness": {"freshness": {"column": "pickup_ts", "unit": "day", "threshold": {"must_be_less_than": 100_000}}},
    "duplicate of two columns": {"duplicate": {"columns": ["trip_id", "fare"]}},
    "metric by expression": {
        "metric": {"expression": "avg(fare)", "threshold": {"must_be_between": {"greater_than": 20, "less_than": 30}}}
    },
    "metric by query": {
        "metric": {"query": "SELECT count(*) FROM trips WHERE fare > 20", "threshold": {"must_be_greater_than": 1000}}
    },
    "failed_rows by expression": {"failed_rows": {"expression": "fare > 140"}},
    "failed_rows by query": {"failed_rows": {"query": "SELECT * FROM trips WHERE fare > 140"}},
}
OF_COLUMNS = {
    "missing": ("fare", {"missing": {}}),
    "missing, in percent": ("payment_type", {"missing": {"threshold": {"metric": "percent", "must_be_less_than": 50}}}),
    "invalid by values": ("payment_type", {"invalid": {"valid_values": ["cash", "credit card"]}}),
    "invalid by bounds": ("fare", {"invalid": {"valid_min": 0, "valid_max": 150}}),
    "invalid by reference": (
        "pickup_zone",
        {"invalid": {"valid_reference_data": {"dataset": f"taxi/{DATABASE}/public/zones", "column": "zone_id"}}},
    ),
    "duplicate of a key": ("trip_id", {"duplicate": {}}),
    "duplicate": ("payment_type", {"duplicate": {}}),
    "aggregate min": ("fare", {"aggregate": {"function": "min", "threshold": {"must_be_greater_than_or_equal": 0}}}),
    "aggregate max": ("fare", {"aggregate": {"function": "max", "threshold": {"must_be_less_than": 150}}}),
    "aggregate avg": ("fare", {"aggregate": {"function": "avg", "threshold": {"must_be_less_than": 40}}}),
    "aggregate sum": ("tip", {"aggregate": {"function": "sum", "threshold": {"must_be_greater_than": 8000}}}),
}


def verified(checks: list, columns: dict) -> list:
    listed = [{"name": name, "checks": own} for name, own in columns.items()] or [{"name": "fare"}]
    contract = Path(HOME) / "contract.yml"
    contract.write_text(
        json.dumps({"dataset": f"taxi/{DATABASE}/public/trips", "checks": checks, "columns": listed})
        if checks
        else json.dumps({"dataset": f"taxi/{DATABASE}/public/trips", "columns": listed})
    )
    verified_contract = verify_contract_locally(data_source_file_path=str(SOURCE), contract_file_path=str(contract))
    if verified_contract.has_errors:
        raise RuntimeError(verified_contract.get_errors_str())
    return [
        check_result.outcome.value
        for result in verified_contract.contract_verification_results
        for check_result in result.check_results
    ]


for name, check in OF_TABLE.items():
    tried("checks of a table", name, lambda c=check: verified([c], {}))
for name, (column, check) in OF_COLUMNS.items():
    tried("checks of columns", name, lambda c=column, k=check: verified([], {c: [k]}))


def together() -> list:
    columns: dict[str, list] = {}
    for name, (column, check) in OF_COLUMNS.items():
        if not name.startswith("aggregate m"):  # of a kind and column there is one in a contract
            columns.setdefault(column, []).append(
                {next(iter(check)): {"qualifier": name, **next(iter(check.values()))}}
            )
    return verified([OF_TABLE["row_count"], OF_TABLE["metric by expression"]], columns)


tried("together", "eleven checks in one contract", together)
