"""The fingerprint changes with what a measurement means, and with nothing else."""

from pathlib import Path

import pytest

from dpsql.policy.load import load
from tests.policy.fix_config import load_changed, write_files

TRIPS, ZONES = "schemas/trips.yaml", "schemas/zones.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (TRIPS, "150]", "151]"),
        (TRIPS, "max_rows: 20", "max_rows: 21"),
        (TRIPS, "max_rows: 20", "max_rows: auto"),
        (TRIPS, "max_rows: 20", "max_rows: {auto: 20}"),
        (TRIPS, "max_rows: 20", "max_rows: 20, max_groups_per_unit: 5"),
        (TRIPS, "nullable: true", "nullable: false"),
        (TRIPS, "cash", "card"),
        (TRIPS, "values: [1, 2]", "values: [2, 1]"),
        (TRIPS, ", references: zones.zone_id", ""),
        (TRIPS, "numeric(10, 2)", "numeric(10, 3)"),
        (TRIPS, "smallint", "integer"),
        (TRIPS, "seats:", "chairs:"),
        (TRIPS, "  passenger: {column", "  rider: {column: passenger_id, max_rows: 20}\n  passenger: {column"),
        (ZONES, "borough:", "part:"),
    ],
)
def test_a_declaration_changes_it(tmp_path: Path, file: str, old: str, new: str) -> None:
    """Whatever a clamp, a weight or a key depends on."""
    before = load(write_files(tmp_path / "before"), {}).policy.fingerprint
    assert load_changed(tmp_path / "after", file, old, new).policy.fingerprint != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.yaml", "epsilon: 5,", "epsilon: 6,"),
        ("config.yaml", "users:", "web: {port: 1}\nusers:"),
        (TRIPS, "table: trips", "table: trips\ndescription: rides\nexpected_rows: 1_000"),
        (TRIPS, "passenger_id: {type: integer}\n", "passenger_id: {type: int4, description: who}\n"),
        (ZONES, "table: zones\npublic: true", "public: true\ntable: zones"),
    ],
)
def test_the_rest_does_not(tmp_path: Path, file: str, old: str, new: str) -> None:
    """Budgets, addresses, descriptions, expected rows, the order of keys."""
    before = load(write_files(tmp_path / "before"), {}).policy.fingerprint
    assert load_changed(tmp_path / "after", file, old, new).policy.fingerprint == before


def test_a_policy_with_a_number_keeps_its_fingerprint(tmp_path: Path) -> None:
    """It is that of the version before C was ever chosen: answers that were paid for are found by it."""
    fingerprint = load(write_files(tmp_path), {}).policy.fingerprint
    assert fingerprint == "c3d8d0482776c79f114fca1693724d8c08509661636183f8ff67b13bcf53c0c5"


_JSON = "{type: jsonb, paths: {plan: {type: text, values: [free, pro]}, age: {type: integer, bounds: [0, 9]}}}"


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("[free, pro]", "[free]", True),
        ("bounds: [0, 9]", "bounds: [0, 8]", True),
        ("age:", "years.age:", True),
        ("age:", "Age:", True),
        ("type: integer", "type: bigint", True),
        ("age: {type: integer, bounds: [0, 9]}", "level: {type: integer}", True),
        ("[free, pro]}", "[free, pro], description: what they pay for}", False),
    ],
)
def test_paths_in_json_are_declarations(tmp_path: Path, old: str, new: str, changes: bool) -> None:
    """Each is a column of its own."""
    seats = "{type: smallint, values: [1, 2]}"
    before = load_changed(tmp_path / "before", TRIPS, seats, _JSON).policy.fingerprint
    after = load_changed(tmp_path / "after", TRIPS, seats, _JSON.replace(old, new)).policy.fingerprint
    assert (after != before) is changes


def test_columns_are_shown_as_before_there_was_json(tmp_path: Path) -> None:
    """The identities of stored answers have columns in them, as they show themselves."""
    column = load(write_files(tmp_path), {}).policy.tables["trips"].columns["payment"]
    assert repr(column) == (
        "Column(name='payment', type=<SqlType.TEXT: 'text'>, declared='text', bounds=None, values=('cash', 'no'), step=None, "
        "references=None, nullable=True, description=None, in_numbers=False, names_unit=False)"
    )


def test_the_order_of_columns_does_not(tmp_path: Path) -> None:
    """Columns are known by name."""
    before = load(write_files(tmp_path / "before"), {}).policy.fingerprint
    path = write_files(tmp_path / "after")
    zones = path.parent / ZONES
    *head, first, second = zones.read_text().splitlines()
    zones.write_text("\n".join([*head, second, first]))
    assert load(path, {}).policy.fingerprint == before
