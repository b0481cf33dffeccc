"""Tables in schemas of the owner's: their names in the files, what refers to them, and what can't be meant."""

from pathlib import Path

import pytest

from dpsql.policy.load import load
from dpsql.policy.model import Reference, TableName
from tests.policy.fix_config import FILES, mistakes, write_files

ENCOUNTERS = """\
table: clinical.encounters
key: encounter_id
privacy_units:
  passenger: {column: patient, max_rows: 5}
columns:
  encounter_id: {type: bigint}
  patient: {type: integer}
  ward: {type: integer, references: {table: clinical.zones, column: zone_id}}
  city: {type: integer, references: zones.zone_id}
"""
WARDS = FILES["schemas/zones.yaml"].replace("table: zones", "table: clinical.zones")
LABS = """\
table: clinical.labs
privacy_units:
  passenger: {through: encounter}
columns:
  encounter: {type: bigint, references: clinical.encounters.encounter_id}
"""


def _written(directory: Path, files: dict[str, str], changes: dict[str, tuple[str, str]] | None = None) -> Path:
    config = write_files(directory, changes)
    for name, text in files.items():
        (directory / "schemas" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "schemas" / name).write_text(text, encoding="utf-8")
    return config


ALL = {"clinical/encounters.yaml": ENCOUNTERS, "clinical/wards.yml": WARDS, "labs.yaml": LABS}


def test_a_name_is_a_schema_and_a_name() -> None:
    """What has no schema is of `public`, in whichever of both ways it is written."""
    assert TableName.of("clinical.encounters") == TableName("clinical", "encounters")
    assert TableName.of("trips") == TableName.of("public.trips") == TableName("public", "trips")
    assert [TableName.of(text).text for text in ("public.trips", "a.b")] == ["trips", "a.b"]
    assert [TableName.of(text).quoted for text in ("trips", 'a."b')] == ['"public"."trips"', '"a"."""b"']
    assert [TableName.of(text).called for text in ("trips", "A.b")] == ['"trips"', '"A"."b"']


def test_tables_of_one_name_in_two_schemas(tmp_path: Path) -> None:
    """Each is declared by its own file, in a folder or not, and references say which they mean."""
    policy = load(_written(tmp_path, ALL), {}).policy
    assert set(policy.tables) == {"trips", "zones", "clinical.encounters", "clinical.zones", "clinical.labs"}
    assert policy.schemas == ("clinical",)
    columns = policy.tables["clinical.encounters"].columns
    assert columns["ward"].references == Reference("clinical.zones", "zone_id")
    assert columns["city"].references == Reference("zones", "zone_id")
    unit = policy.tables["clinical.labs"].units["passenger"]
    assert unit.through == Reference("clinical.encounters", "encounter_id", public=False)
    assert policy.taken == {*policy.tables, "encounters", "labs"}


def test_public_in_words_changes_nothing(tmp_path: Path) -> None:
    """A policy is the same one, with the same fingerprint, where `public.` is written or left out."""
    plain = load(write_files(tmp_path / "a"), {}).policy
    changes = {
        "schemas/trips.yaml": ("table: trips", "table: public.trips"),
        "schemas/zones.yaml": ("table: zones", "table: public.zones"),
        "config.yaml": ("tables: [trips]", "tables: [public.trips]\n    where: {public.trips: seats > 1}"),
    }
    written = load(write_files(tmp_path / "b", changes), {}).policy
    assert written.fingerprint == plain.fingerprint
    assert (written.tables, written.roles["owner"].tables) == (plain.tables, frozenset({"trips"}))
    assert set(written.roles["owner"].where) == {"trips"}
    target = ("references: zones.zone_id", "references: public.zones.zone_id")
    assert load(write_files(tmp_path / "c", {"schemas/trips.yaml": target}), {}).policy.tables == plain.tables


def test_a_role_may_be_granted_a_schema(tmp_path: Path) -> None:
    """`clinical.*` stands for its protected tables that have the unit, and for its views."""
    view = "table: clinical.seen\nview: SELECT count(*) AS n FROM clinical.encounters\n"
    changes = {"config.yaml": ("tables: [trips]", "tables: [clinical.*]")}
    role = load(_written(tmp_path, {**ALL, "seen.yaml": view}, changes), {}).policy.roles["owner"]
    assert role.tables == frozenset({"clinical.encounters", "clinical.labs", "clinical.seen"})


WRONG: tuple[tuple[str, str, str], ...] = (
    ("table: clinical.encounters", "table: a.b.c", 'table: is "a.b.c"; it must be a name, or schema.name'),
    ("table: clinical.encounters", "table: pg_x.y", "must be of another schema: pg_x is PostgreSQL's own"),
    ("table: clinical.encounters", "table: dpsql.budget", "must be of another schema: dpsql is dpsql's own"),
    ("table: clinical.encounters", "table: .y", "must be a name of 1 to 63 bytes"),
    ("table: clinical.encounters", "table: Public.y", 'schema differs from "public" only in case'),
    ("table: clinical.encounters", "table: core.y", "in the folder of another schema; write clinical.y"),
    ("table: clinical.encounters", "table: encounters", "in the folder of another schema; write clinical.encounters"),
    ("references: zones.zone_id", "references: wards.zone_id", 'is "wards.zone_id", which is no declared table.column'),
    ("references: zones.zone_id", "references: {table: zones}", "must be table.column, or {table: clinical.zones"),
    ("column: zone_id}", "column: zone}", '"clinical.zones" has no column "zone"'),
)


@pytest.mark.parametrize(("old", "new", "told"), WRONG)
def test_a_mistake_in_a_name_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    """With what is allowed."""
    assert old in ENCOUNTERS
    files = {"clinical/encounters.yaml": ENCOUNTERS.replace(old, new), "wards.yaml": WARDS}
    lines = mistakes(tmp_path, _written(tmp_path, files))
    assert any(told in line for line in lines), lines


def test_a_text_that_may_be_two_keys_is_refused(tmp_path: Path) -> None:
    """A column's name may have a dot; then the table is given by itself."""
    wards = WARDS.replace("zone_id", '"zones.id"').replace("clinical.zones", "clinical")
    zones = WARDS.replace("zone_id", "id")
    text = ENCOUNTERS.replace("references: zones.zone_id", "references: clinical.zones.id").replace(
        "references: {table: clinical.zones, column: zone_id}", "references: {table: clinical, column: zones.id}"
    )
    files = {"clinical/e.yaml": text, "wards.yaml": wards, "zones2.yaml": zones}
    (line,) = mistakes(tmp_path, _written(tmp_path, files))
    assert 'is "clinical.zones.id", which may be "zones.id" of "clinical" or "id" of "clinical.zones"' in line
    right = text.replace("references: clinical.zones.id", "references: {table: clinical.zones, column: id}")
    columns = (
        load(_written(tmp_path, {**files, "clinical/e.yaml": right}), {}).policy.tables["clinical.encounters"].columns
    )
    assert columns["ward"].references == Reference("clinical", "zones.id")
    assert columns["city"].references == Reference("clinical.zones", "id")


def test_the_same_table_twice_by_two_names_is_refused(tmp_path: Path) -> None:
    """Of two conditions under two names for one table, none is dropped without a word."""
    twice = (
        "tables: [trips]\n    where: {trips: seats > 1, public.trips: seats > 0}\n"
        "    columns: {trips: [fare], public.trips: [seats]}"
    )
    lines = mistakes(tmp_path, write_files(tmp_path, {"config.yaml": ("tables: [trips]", twice)}))
    assert [line.partition(": ")[2] for line in lines] == [
        'roles.owner.where.public.trips: is the same table as "trips", which stands beside it',
        'roles.owner.columns.public.trips: is the same table as "trips", which stands beside it',
    ]


def test_a_schema_without_tables_is_told(tmp_path: Path) -> None:
    """With those that there are."""
    changes = {"config.yaml": ("tables: [trips]", "tables: [clinica.*]")}
    (line,) = mistakes(tmp_path, _written(tmp_path, ALL, changes))
    assert 'is "clinica.*", where nothing is that the role could use; did you mean "clinical.*"?' in line


def test_a_search_path_is_of_schemas_that_there_are(tmp_path: Path) -> None:
    """In the order that is given; others are told."""
    changes = {"config.yaml": ("schemas: schemas\n", "schemas: schemas\nsearch_path: [clinical, public]\n")}
    policy = load(_written(tmp_path / "a", ALL, changes), {}).policy
    assert policy.search_path == ("clinical", "public")
    assert policy.asked_as("trips") == '"public"."trips"'
    assert load(_written(tmp_path / "b", ALL), {}).policy.asked_as("trips") == '"trips"'
    changes = {"config.yaml": ("schemas: schemas\n", "schemas: schemas\nsearch_path: [clinic]\n")}
    (line,) = mistakes(tmp_path, _written(tmp_path / "c", ALL, changes))
    assert 'search_path[0]: is "clinic", which no table is in; did you mean "clinical"?' in line


def test_enumerations_are_in_schemas(tmp_path: Path) -> None:
    """In that of their table, unless they are given a name, with a schema or without."""
    text = ENCOUNTERS.replace("ward: {type: integer, references: {table: clinical.zones, column: zone_id}}", "{}")
    said = {"": '"clinical"."encounters_a"', ", type_name: mood": '"mood"', ", type_name: core.Mood": '"core"."Mood"'}
    for place, (words, declared) in enumerate(said.items()):
        file = text.replace("{}", f"a: {{type: enum, values: [x]{words}}}")
        policy = load(_written(tmp_path / str(place), {"clinical/encounters.yaml": file}), {}).policy
        column = policy.tables["clinical.encounters"].columns["a"]
        assert (column.declared, column.spelled_type) == (
            declared,
            declared if "." in declared else f"public.{declared}",
        )
        assert policy.schemas == (("clinical", "core") if "core" in words else ("clinical",))
