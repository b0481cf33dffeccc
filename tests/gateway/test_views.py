"""Views that can't be made or asked about are found when the configuration is checked, each with file, line and reason."""

from pathlib import Path

import pytest

from dpsql.assembly import servable
from dpsql.errors import ConfigError
from tests.policy.fix_config import write_files

FILE = "schemas/cards.yaml"

WRONG = (
    ("SELECT * FROM trip", '"cards" can\'t be made: relation "trip" does not exist; allowed: trips, zones'),
    (
        "SELECT * FROM other.trips",
        '"cards" can\'t be made: relation "other.trips" does not exist; allowed: trips, zones',
    ),
    ("SELECT relname FROM pg_class", '"cards" reads "pg_class", which is no declared table; allowed: trips, zones'),
    ("SELECT * FROM dpsql.charges", '"cards" reads "dpsql.charges", which is no declared table; allowed: trips, zones'),
    ("SELECT farre FROM trips", '"cards" can\'t be made: column "farre" does not exist'),
    ("SELECT FROM WHERE", '"cards" can\'t be made: syntax error at or near "WHERE"'),
    ("SELECT 1; DROP TABLE trips", '"cards" can\'t be made: cannot insert multiple commands into a prepared statement'),
    ("DELETE FROM trips", '"cards" can\'t be made: syntax error at or near "DELETE"'),
    ("SELECT fare FROM trips WHERE seats = $1", '"cards" can\'t be made: there is no parameter $1'),
    ("SELECT fare, fare FROM trips", '"cards" can\'t be made: column "fare" specified more than once'),
    ("SELECT json_array(fare) AS o FROM trips", '"cards" can\'t be read: JSON_ARRAY is not understood'),
    ("SELECT * FROM cards", '"cards" reads itself: cards → cards'),
    ("SELECT fare FROM trips LIMIT 9", '"cards" can\'t be asked about: LIMIT on private rows is not supported'),
    (
        "SELECT a.fare FROM trips a, trips b",
        '"cards" can\'t be asked about: the join with "trips" must be on the privacy unit',
    ),
    (
        "SELECT fare FROM trips INTERSECT ALL SELECT fare FROM trips",
        '"cards" can\'t be asked about: INTERSECT of private rows is not supported',
    ),
    (
        "SELECT fare FROM trips WHERE fare > (SELECT x FROM (SELECT fare AS x FROM trips) t)",
        "\"cards\" can't be asked about: rows of a protected table can't be read by a subquery",
    ),
)


def checked(directory: Path, *views: str, changes: dict[str, tuple[str, str]] | None = None) -> None:
    """Check a configuration with views of these texts, and with some text of its files replaced."""
    path = write_files(directory, changes)
    for number, view in enumerate(views):
        name = "cards" if not number else f"cards{number}"
        (directory / "schemas" / f"{name}.yaml").write_text(f"table: {name}\n{view}\n", encoding="utf-8")
    servable(path)


@pytest.mark.parametrize(("query", "reason"), WRONG)
def test_what_can_not_be_asked_about_is_told(tmp_path: Path, query: str, reason: str) -> None:
    """One line has the file, the line, the view and the reason."""
    with pytest.raises(ConfigError) as failed:
        checked(tmp_path, f"view: {query}")
    assert failed.value.message.startswith(f"{FILE}:2: view: {reason}")


def test_a_circle_of_views_is_told(tmp_path: Path) -> None:
    """The way round is shown; whoever reads one of them is told too."""
    with pytest.raises(ConfigError) as failed:
        checked(
            tmp_path, "view: SELECT fare FROM cards1", "view: SELECT fare FROM cards2", "view: SELECT fare FROM cards1"
        )
    assert '"cards1" reads itself: cards1 → cards2 → cards1' in failed.value.message
    assert f'{FILE}:2: view: reads the view "cards1", which can\'t be read' in failed.value.message


def test_a_column_that_the_query_has_not_is_told(tmp_path: Path) -> None:
    """What is said of columns is said of those that there are."""
    with pytest.raises(ConfigError, match='"cards" has no column "far"; its columns: fare'):
        checked(tmp_path, "view: SELECT fare FROM trips\ncolumns: {far: {type: bigint}}")


RIGHT = (
    "view: SELECT fare FROM trips WHERE day > '2019-03-05'",
    "view: SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1",
    "view: SELECT payment, avg(fare) FROM trips GROUP BY payment",
    "view: SELECT borough FROM zones ORDER BY 1 LIMIT 3",
    "view: SELECT t.fare, z.borough FROM trips t JOIN zones z ON z.zone_id = t.zone;",
    "view: SELECT fare FROM trips UNION ALL SELECT fare FROM trips",
    'view: WITH "trips" AS (SELECT * FROM "public".trips) SELECT * FROM trips',
    "view: SELECT fare FROM trips\ncolumns: {fare: {type: bigint, description: whole dollars}}",
)


@pytest.mark.parametrize("view", RIGHT)
def test_what_can_be_asked_about_is_not(tmp_path: Path, view: str) -> None:
    """Rows, rows of single units, answers and public rows may have names."""
    checked(tmp_path, view)


def test_an_answer_over_a_table_with_an_enumeration_is_a_view(tmp_path: Path) -> None:
    """Whether the view reads that column or not."""
    column = ("columns:\n", "columns:\n  mood: {type: enum, values: [sad, glad]}\n")
    view = "view: SELECT payment, count(*) AS n FROM trips GROUP BY payment"
    other = "view: SELECT mood, count(*) AS n FROM trips WHERE mood > 'sad' GROUP BY mood"
    checked(tmp_path, view, other, changes={"schemas/trips.yaml": column})
