"""Schema files with views: what they may say, and the line that tells of a mistake."""

from pathlib import Path

import pytest

from dpsql.policy.load import load
from dpsql.policy.model import View, ViewColumn
from tests.policy.fix_config import mistakes, write_files

VIEW = """\
table: cards
description: rides paid by card
view: >
  SELECT fare, zone
  FROM trips;
columns:
  fare: {type: "numeric(8, 1)", description: in dollars}
"""


def loaded(directory: Path, text: str = VIEW) -> Path:
    """Return the configuration with a file of that text."""
    path = write_files(directory)
    (directory / "schemas" / "cards.yaml").write_text(text, encoding="utf-8")
    return path


def test_a_view_is_read(tmp_path: Path) -> None:
    """What the file says is in the policy, where no table has the view's name."""
    policy = load(loaded(tmp_path)).policy
    columns = {"fare": ViewColumn("numeric(8,1)", "in dollars")}
    assert policy.views == {
        "cards": View("cards", "SELECT fare, zone FROM trips", columns, "rides paid by card", "schemas/cards.yaml", 3)
    }
    assert set(policy.tables) == {"trips", "zones"}


def test_a_role_may_be_granted_a_view(tmp_path: Path) -> None:
    """Alone, without the tables that it reads."""
    path = loaded(tmp_path)
    path.write_text(path.read_text().replace("tables: [trips]", "tables: [cards]"))
    assert load(path).policy.roles["owner"].tables == frozenset({"cards"})


WRONG = (
    (VIEW.replace("cards", "Trips"), '1: table: is "Trips", which schemas/trips.yaml declares already'),
    (VIEW + "public: true\n", "8: public: is not a known key; allowed: columns, description, table, view"),
    (
        VIEW.replace("type:", "bounds: [0, 1], type:"),
        "7: columns.fare.bounds: is not a known key; allowed: description, type",
    ),
    (VIEW.replace("table: cards\n", ""), '1: lacks the key "table"'),
    (VIEW.replace("numeric(8, 1)", "money"), '7: columns.fare.type: is "money"; it must be one of'),
)


@pytest.mark.parametrize(("text", "line"), WRONG)
def test_a_mistake_in_a_view_is_told(tmp_path: Path, text: str, line: str) -> None:
    """One line, with what is allowed."""
    (told,) = mistakes(tmp_path, loaded(tmp_path, text))
    assert told.startswith(f"schemas/cards.yaml:{line}")
