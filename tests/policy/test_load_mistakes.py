"""Every mistake has a line that names the file, the line, the value, and what is allowed."""

from pathlib import Path

import pytest

from dpsql.errors import ConfigError
from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.load import load
from tests.policy.fix_config import mistakes, write_files

CONFIG, TRIPS, ZONES = "config.yaml", "schemas/trips.yaml", "schemas/zones.yaml"

ZONES_LACK_A_KEY = (
    'schemas/trips.yaml:8: columns.zone.references: is "zones.zone_id", but "zones" declares no key; '
    'write "key: zone_id" in schemas/zones.yaml'
)
BONDS = (
    'schemas/trips.yaml:10: columns.fare.bonds: is not a known key; did you mean "bounds"? '
    "allowed: bounds, description, nullable, paths, references, step, type, type_name, values"
)


def _cases() -> list[tuple[str, ...]]:
    """Read the golden file: blocks of file, old text, new text, and what is said."""
    blocks = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8").strip().split("\n\n")[1:]
    marks = ("file ", "- ", "+ ", "= ")
    cases = []
    for block in blocks:
        lines = block.split("\n")
        assert len(lines) == len(marks)
        parts = [line[len(mark) :] for mark, line in zip(marks, lines, strict=True)]
        cases.append(tuple(part.replace("\\n", "\n") for part in parts))
    return cases


@pytest.mark.parametrize(("file", "old", "new", "line"), _cases())
def test_one_mistake_is_told_alone(tmp_path: Path, file: str, old: str, new: str, line: str) -> None:
    """One wrong thing gives one line, with nothing that merely follows from it."""
    assert mistakes(tmp_path, write_files(tmp_path, {file: (old, new)})) == [f"{file}:{line}"]


def test_an_engine_with_the_key_of_another(tmp_path: Path) -> None:
    """The wrong key and the missing one are two lines."""
    keys = "csv, database, memory, oldest, snapshot, spill, tables, threads"
    assert mistakes(tmp_path, write_files(tmp_path, {CONFIG: ("database: taxi.duckdb", "dsn: secret")})) == [
        f"config.yaml:2: engine.dsn: is not for duckdb, which takes {keys}",
        'config.yaml:2: engine: lacks the key "database" (or "tables")',
    ]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """Mistakes in several files, of spelling and of sense, come in one message, in order."""
    path = write_files(
        tmp_path,
        {
            CONFIG: ("epsilon: 0.1", "epsilon: 6"),
            TRIPS: ("bounds: [-0.1, 150]", "bonds: [-0.1, 150]"),
            ZONES: ("key: zone_id\n", ""),
        },
    )
    assert mistakes(tmp_path, path) == [
        'config.yaml:13: roles.owner.per_query.epsilon: is "6", but the role\'s whole budget is 5',
        ZONES_LACK_A_KEY,
        BONDS,
    ]


def test_a_least_price_leaves_what_a_choice_of_rows_pays(tmp_path: Path) -> None:
    """The number that is needed is told: no statement could be paid, and each said that it had five measurements."""
    unit, small = ("max_rows: 20", "max_rows: auto"), ("epsilon: 0.1}", "epsilon: 0.1, least: 0.02}")
    assert load(write_files(tmp_path, {TRIPS: unit, CONFIG: small})).policy.roles["owner"].least
    path = write_files(tmp_path, {TRIPS: unit, CONFIG: (small[0], "epsilon: 0.1, least: 0.03}")})
    told = 'is "0.03", it may be at most 0.02, what choosing max_rows of trips pays; or declare that number'
    assert mistakes(tmp_path, path) == [f"config.yaml:13: roles.owner.per_query.least: {told}"]


def test_a_protected_table_needs_a_unit(tmp_path: Path) -> None:
    """A table is public by an explicit word only."""
    path = write_files(tmp_path, {ZONES: ("public: true\nkey: zone_id\n", "")})
    assert mistakes(tmp_path, path) == [
        ZONES_LACK_A_KEY,
        'schemas/zones.yaml:1: needs "privacy_units", or "public: true" if everybody may see its rows',
    ]


def test_a_public_table_has_no_unit(tmp_path: Path) -> None:
    """Rows that everybody sees protect nobody."""
    unit = "public: true\nprivacy_units: {p: {column: zone_id, max_rows: 1}}\n"
    path = write_files(tmp_path, {ZONES: ("public: true\n", unit)})
    assert mistakes(tmp_path, path) == [
        "schemas/zones.yaml:3: privacy_units: can't be declared for a public table, whose rows everybody may see"
    ]


def test_a_table_is_declared_once(tmp_path: Path) -> None:
    """Two files can't declare one table, in whatever case."""
    path = write_files(tmp_path)
    (tmp_path / "schemas" / "zz.yml").write_text("table: Zones\npublic: true\ncolumns: {a: {type: text}}\n")
    assert mistakes(tmp_path, path) == [
        'schemas/zz.yml:1: table: is "Zones", which schemas/zones.yaml declares already'
    ]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "1: is empty"),
        (b"# nothing\n", "1: is empty"),
        (b"table: \xff", "1: is not UTF-8 text: byte 7 is wrong"),
        (b"table: a\x00b", "1: is not YAML text: it has control characters"),
        (b"table: [a\ncolumns: x", "2: is not YAML: expected ',' or ']', but got ':'"),
        (b"- a\n", "1: must be a mapping (key: value)"),
        (b"a: 1\n---\nb: 1\n", "2: is not YAML: but found another document"),
        (b"? [a]\n: b\n", "1: a key must be plain text"),
        (b"a: &a {b: *a}\n", "1: a.b: is nested too deeply or too large"),
        (b"- " * 6_000, "1: is nested too deeply"),
    ],
)
def test_a_file_that_is_no_schema(tmp_path: Path, content: bytes, line: str) -> None:
    """What is not a mapping in YAML is told in one line, whatever it is."""
    path = write_files(tmp_path)
    (tmp_path / "schemas" / "bad.yaml").write_bytes(content)
    assert f"schemas/bad.yaml:{line}" in mistakes(tmp_path, path)


def test_a_missing_configuration(tmp_path: Path) -> None:
    """The file itself may not be there."""
    with pytest.raises(ConfigError, match=r"none\.yaml: there is no such file$") as raised:
        load(tmp_path / "none.yaml")
    assert "docs/configuration.md has a whole one to begin with" in (raised.value.hint or "")


@pytest.mark.parametrize(("written", "meant"), [("datetime", "timestamp"), ("String", "text"), ("int64", "bigint")])
def test_a_type_as_another_system_calls_it(tmp_path: Path, written: str, meant: str) -> None:
    """The hint is what it is here, whichever word looks like it."""
    path = write_files(tmp_path, {"schemas/trips.yaml": ("type: timestamp", f"type: {written}")})
    assert any(f'did you mean "{meant}"?' in line for line in mistakes(tmp_path, path))


def test_an_empty_directory_of_schemas(tmp_path: Path) -> None:
    """There must be a table."""
    path = write_files(tmp_path, {CONFIG: ("schemas: schemas", "schemas: none")})
    (tmp_path / "none").mkdir()
    assert mistakes(tmp_path, path) == ['config.yaml:3: schemas: is "none", which has no .yaml file']


def test_secrets_are_not_repeated(tmp_path: Path) -> None:
    """Neither a password nor what came from the environment stands in a message."""
    path = write_files(tmp_path, {CONFIG: ("port: 5439", 'port: "${PORT}"')})
    told = mistakes(tmp_path, path, {"PORT": "hunter2"})
    assert told == ["config.yaml:5: listen.port: is not right; it must be a port from 0 to 65535"]


def test_the_hint_counts(tmp_path: Path) -> None:
    """The hint says how many mistakes there are."""
    path = write_files(tmp_path, {CONFIG: ("port: 5439", "port: x")})
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert caught.value.hint == "1 mistake in the configuration."


def test_zcdp_of_the_data_set_needs_a_delta(tmp_path: Path) -> None:
    """What no role has the data set need not have, but for that."""
    path = write_files(tmp_path, {CONFIG: ("{epsilon: 10, delta: 1e-5}", "{epsilon: 10, accounting: zcdp}")})
    path.write_text(path.read_text().replace("delta: 1e-6, ", ""))
    assert mistakes(tmp_path, path) == [
        "config.yaml:8: budget.passenger.accounting: is zcdp, which needs a delta: what ρ comes to in ε is said at a δ"
    ]


def test_what_may_be_meant_otherwise_is_noted(tmp_path: Path) -> None:
    """A point between thousands is one before decimals; it is no mistake."""
    changes = {CONFIG: ("epsilon: 10,", "epsilon: 20.000,"), TRIPS: ("[-0.1, 150]", "[-0.1, 150.000]")}
    said = "the point is no separator of thousands, which is _"
    assert load(write_files(tmp_path, changes)).notes == (
        f"{tmp_path}/config.yaml:8: budget.passenger.epsilon: 20.000 is 20: {said}",
        f"{tmp_path}/schemas/trips.yaml:10: columns.fare.bounds[1]: 150.000 is 150: {said}",
    )
    assert load(write_files(tmp_path, {CONFIG: ("epsilon: 10,", "epsilon: 10.125,")})).notes == ()


def test_a_tab_is_told(tmp_path: Path) -> None:
    """Nobody sees it."""
    path = write_files(tmp_path, {CONFIG: ("roles:\n  owner:", "roles:\n\towner:")})
    assert mistakes(tmp_path, path) == ["config.yaml:10: is not YAML: there is a tab, where YAML takes spaces"]


def test_a_table_that_grows_needs_a_copy(tmp_path: Path) -> None:
    """Which the configuration says, in another file than the table's."""
    grows = "grows: {by: day, closes: {every: day, after: 2 days}, term: year}"
    changes = {TRIPS: ("columns:\n  passenger_id", f"{grows}\ncolumns:\n  passenger_id")}
    said = 'config.yaml:2: engine: answers from the records themselves, and table "trips" grows, which needs a copy: '
    next_step = "snapshot: true, or take grows out of the table's file"
    assert mistakes(tmp_path, write_files(tmp_path, changes)) == [said + next_step]
    copied = ("database: taxi.duckdb}", "database: taxi.duckdb, snapshot: true}")
    table = load(write_files(tmp_path, {**changes, CONFIG: copied})).policy.tables["trips"]
    assert table.grows == Grows("day", Every.DAY, 2, TermLength.YEAR, 30)
    assert table.said_of(table.columns["day"]) == (
        "grows by it: a day is closed 2 days after its end, and standing questions are paid once a year"
    )
    assert table.said_of(table.columns["fare"]) is None
