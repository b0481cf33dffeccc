"""Keys and references of several columns in the schema files."""

from pathlib import Path

import pytest

from dpsql.policy.load import load
from dpsql.policy.model import Reference, UnitBound
from tests.policy.fix_config import mistakes, write_files

LINES = """\
table: lines
key: [bill, place]
privacy_units:
  passenger: {column: payer, max_rows: 2}
columns:
  bill: {type: bigint}
  place: {type: text}
  payer: {type: integer}
"""
RETURNS = """\
table: returns
references:
  lines: {of_place: place, of_bill: bill}
privacy_units:
  passenger: {through: [of_bill, of_place], max_rows: 3}
columns:
  of_bill: {type: integer}
  of_place: {type: text}
"""


def _written(directory: Path, old: str = "", new: str = "") -> Path:
    config = write_files(directory)
    for name, text in (("lines", LINES), ("returns", RETURNS)):
        (directory / "schemas" / f"{name}.yaml").write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return config


def test_columns_that_point_to_a_row_together(tmp_path: Path) -> None:
    """Each column goes to that of the key which the reference says, in whatever order either stands."""
    tables = load(_written(tmp_path), {}).policy.tables
    lines, returns = tables["lines"], tables["returns"]
    assert lines.key is None
    assert (lines.joint_key, lines.keys) == (("bill", "place"), frozenset({frozenset({"bill", "place"})}))
    through = Reference("lines", "bill", public=False, further=("place",))
    assert returns.units == {"passenger": UnitBound("of_bill", 3, None, through, ("of_place",))}
    assert returns.references == {"lines": {"of_place": "place", "of_bill": "bill"}}
    assert returns.units["passenger"].naming == frozenset()
    assert lines.units["passenger"].naming == frozenset({"payer"})


def test_a_list_of_one_is_a_name(tmp_path: Path) -> None:
    """As if it stood there without brackets."""
    first = load(_written(tmp_path), {}).policy
    zones = tmp_path / "schemas" / "zones.yaml"
    zones.write_text(zones.read_text(encoding="utf-8").replace("key: zone_id", "key: [zone_id]"), encoding="utf-8")
    listed = load(tmp_path / "config.yaml", {}).policy
    assert (listed.tables["zones"].key, listed.fingerprint) == ("zone_id", first.fingerprint)


def test_what_is_referenced_changes_the_fingerprint(tmp_path: Path) -> None:
    """Rows would be others'."""
    turned = ("{of_place: place, of_bill: bill}", "{of_bill: place, of_place: bill}")
    texts = (("place: {type: text}", "place: {type: bigint}"), turned)
    fingerprints = set[str]()
    for number in range(1, 3):
        lines, returns = LINES, RETURNS
        for old, new in texts[:number]:
            lines, returns = lines.replace(old, new), returns.replace(old, new)
        config = write_files(tmp_path / str(number))
        (config.parent / "schemas" / "lines.yaml").write_text(lines, encoding="utf-8")
        (config.parent / "schemas" / "returns.yaml").write_text(returns, encoding="utf-8")
        fingerprints.add(load(config, {}).policy.fingerprint)
    assert len(fingerprints) == 2


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("key: [bill, place]", "key: [bill, bill]", "lines.yaml:2: key: must be a name, or a list of different names"),
        ("key: [bill, place]", "key: [bill, plaza]", 'lines.yaml:2: key: is "plaza", which is no column'),
        ("key: [bill, place]", "key: bill", 'returns.yaml:3: references.lines: the key of "lines" is "bill"'),
        ("key: [bill, place]\n", "", '"lines" declares no key; write "key: [place, bill]" in schemas/lines.yaml'),
        ("  lines: {of_place", "  lanes: {of_place", 'references.lanes: is no declared table; did you mean "lines"?'),
        ("of_bill: bill}", "of_bill: bell}", 'references.lines: "lines" has no column "bell"; did you mean "bill"?'),
        ("{of_place: place, ", "{", 'references.lines: is of one column; write "references: table.key" at the column'),
        ("of_bill: bill}", "of_ball: bill}", "references.lines.of_ball: is no column of this table"),
        ("  of_place: {type: text}", "  of_place: {type: integer}", '"place" is text and "of_place" integer'),
        ("[of_bill, of_place], max", "[of_bill, bill], max", 'passenger.through: is "bill", which is no column'),
        (
            "references:\n  lines: {of_place: place, of_bill: bill}\n",
            "",
            'which reference no table together; write "references: {table: {of_bill: …, of_place: …}}"',
        ),
        (
            "  place: {type: text}",
            "  place: {type: text, values: [a]}",
            'which references lines, but "place" of table lines has values (schemas/lines.yaml:7), and so does not identify',
        ),
        (
            "of_bill: {type: integer}",
            "of_bill: {type: integer, bounds: [1, 2]}",
            "columns.of_bill.bounds: can't be given",
        ),
    ],
)
def test_mistakes_are_told(tmp_path: Path, old: str, new: str, line: str) -> None:
    """Where they stand, with what is allowed."""
    told = mistakes(tmp_path, _written(tmp_path, old, new))
    assert any(line in mistake for mistake in told), told


_ROWS = {
    "visits.yaml": "table: visits\nkey: visit\nprivacy_units: {passenger: {column: person, max_rows: MOST}}\n"
    "columns: {visit: {type: integer}, person: {type: integer}}\n",
    "results.yaml": "table: results\nprivacy_units: {passenger: {column: visit, max_rows: 8}}\n"
    "columns: {visit: {type: integer, references: visits.visit}}\n",
}


def test_a_column_that_names_rows_names_no_unit(tmp_path: Path) -> None:
    """Visits were protected, and not passengers, and nothing said so; where each has one visit it is the same."""
    config = write_files(tmp_path)
    said = (
        'results.yaml:2: privacy_units.passenger.column: is "visit", which references visits.visit: that names a row there, '
        'of which a unit has many; write "through: visit"'
    )
    for most in ("4", "auto", "1"):
        for name, text in _ROWS.items():
            (config.parent / "schemas" / name).write_text(text.replace("MOST", most), encoding="utf-8")
        if most == "1":
            assert load(config, {}).policy.tables["results"].units["passenger"].column == "visit"
        else:
            assert any(said in mistake for mistake in mistakes(tmp_path, config))
