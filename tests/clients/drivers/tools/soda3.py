"""Soda Core 3: checks in SodaCL, each by itself, and a profile of all columns."""

# mypy: ignore-errors

import json

from soda.scan import Scan
from told import DATABASE, HOST, PASSWORD, PORT, USER, tried

SOURCE = {
    "data_source taxi": {
        "type": "postgres", "host": HOST, "port": PORT, "username": USER, "password": PASSWORD, "database": DATABASE,
        "schema": "public", "sampler": {"disable_samples": True},
    },
}  # fmt: skip
CHECKS = [
    "row_count > 0",
    "row_count between 2900 and 3100",
    "missing_count(fare) = 0",
    {"missing_percent(payment_type) < 50": {"samples limit": 0}},
    {"duplicate_count(payment_type) > 0": {"samples limit": 0}},
    "duplicate_count(trip_id) = 0",
    "avg(fare) between 20 and 30",
    "min(fare) >= 0",
    "max(fare) < 150",
    "sum(tip) > 8000",
    "stddev(fare) < 20",
    "percentile(fare, 0.5) < 40",
    {"invalid_count(payment_type) = 0": {"valid values": ["cash", "credit card"]}},
    {"invalid_percent(fare) < 1": {"valid min": 0, "valid max": 150}},
    {
        "schema": {
            "fail": {
                "when required column missing": ["fare", "tip"],
                "when wrong column type": {"fare": "double precision"},
            }
        }
    },
    "values in (pickup_zone) must exist in zones (zone_id)",
    {"failed rows": {"fail condition": "fare > 140"}},
    {"dear > 10": {"dear expression": "COUNT(CASE WHEN fare > 40 THEN 1 END)"}},
    "freshness(pickup_ts) < 100000d",
]


def scanned(text: dict, *, strictly: bool = True) -> Scan:
    scan = Scan()
    scan.disable_telemetry()
    scan.set_data_source_name("taxi")
    scan.set_scan_definition_name("taxi")
    scan.add_configuration_yaml_str(json.dumps(SOURCE))
    scan.add_sodacl_yaml_str(json.dumps(text))
    scan.execute()
    if strictly and scan.has_error_logs():
        raise RuntimeError(scan.get_error_logs_text())
    return scan


def checked(check: object) -> object:
    return [each.outcome.value for each in scanned({"checks for trips": [check]})._checks]


scanned_columns: dict[str, object] = {}


def profiled() -> object:
    scan = scanned({"profile columns": {"columns": ["trips.%"]}}, strictly=False)
    scanned_columns.update(
        {
            result_column.column_name: result_column
            for table in scan._profile_columns_result_tables
            for result_column in table.result_columns
        }
    )
    return sorted(scanned_columns)


def values_of(column: object) -> object:
    if column.average is not None:
        return [column.mins, column.maxs]
    return sorted(([frequent["value"], frequent["frequency"]] for frequent in column.frequent_values or ()), key=str)


tried("a profile", "profile columns", profiled)
for name, given_column in scanned_columns.items():
    tried("counts of", f"counts of {name}", lambda c=given_column: [c.distinct_values, c.missing_values])
    tried("means of", f"means of {name}", lambda c=given_column: [c.average, c.standard_deviation])
    tried("values of", f"values of {name}", lambda c=given_column: values_of(c))
for check in CHECKS:
    tried("checks", check if isinstance(check, str) else next(iter(check)), lambda c=check: checked(c))
tried(
    "together",
    "all checks in one scan",
    lambda: [each.outcome.value for each in scanned({"checks for trips": CHECKS[:15]})._checks],
)
