"""What every driver is asked, and what is right, for any mark that a driver has for its parameters."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.clients.asked import GROUPED, ROWS, TABLES

Mark = Callable[[int], str]
"""Writes the nth parameter, from 1 on."""

DOLLAR: Mark = "${}".format
PERCENT: Mark = lambda _: "%s"  # noqa: E731  (three values of one kind)
QUESTION: Mark = lambda _: "?"  # noqa: E731
NAMED: Mark = "(:p{})".format
"""SQLAlchemy's, in parentheses since it reads `:p1::integer` otherwise."""

COLUMNS = (
    "SELECT column_name, data_type FROM information_schema.columns"
    " WHERE table_schema = 'public' AND table_name = 'trips' ORDER BY ordinal_position"
)
SLOW = "SELECT count(*) FROM endless"
"""Takes hours unless somebody stops it."""
_COUNT = "SELECT count(*) AS n FROM trips WHERE"


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of parameters: what is asked with one, for how many trips that holds, and the value as text."""

    name: str
    condition: str
    value: str
    count: int = 3000

    def statement(self, mark: Mark) -> str:
        """Return the question, with the parameter's type spelled: not every driver says it."""
        asked = self.condition if self.condition.startswith("SELECT") else f"{_COUNT} {self.condition}"
        return asked.replace("$", f"{mark(1)}::{self.name}")


KINDS = (
    Kind("boolean", "(fare > 20) = $", "true", 1920),
    Kind("smallint", "passenger_count = $", "1", 750),
    Kind("integer", "pickup_zone = $", "2", 600),
    Kind("bigint", "trip_id < $", "100", 100),
    Kind("real", "fare > $", "20.5", 1920),
    Kind("double precision", "fare > $", "20.5", 1920),
    Kind("numeric", "fare > $", "20.5", 1920),
    Kind("text", "payment_type = $", "cash", 1000),
    Kind("varchar", "payment_type = $", "cash", 1000),
    Kind("date", "pickup_ts < $", "2019-03-08", 776),
    Kind("timestamp", "pickup_ts < $", "2019-03-08 00:00:00", 776),
    Kind("timestamptz", "pickup_ts < $", "2019-03-08 00:00:00+00", 776),
    Kind("interval", "pickup_ts < timestamp '2019-03-01' + $", "7 days", 776),
    Kind("time", "$ = time '12:30'", "12:30:00"),
    Kind("uuid", "$ = uuid '0e37df36-f698-11e6-8dd4-cb9ced3df976'", "0e37df36-f698-11e6-8dd4-cb9ced3df976"),
    Kind("bytea", "$ = bytea '\\x000102ff'", "\\x000102ff"),
    Kind("jsonb", "SELECT CASE WHEN $ IS NULL THEN 0 ELSE count(*) END AS n FROM trips", '{"a": [1, null]}'),
    Kind("integer[]", "pickup_zone = ANY($)", "{1,2}", 1200),
)
WORDS: Mapping[str, str] = {
    "UTF8": "Café 東京 Привет",
    "UNICODE": "Café 東京",
    "LATIN1": "Café",
    "WIN1251": "Привет",
    "SJIS": "東京 表",
    "GBK": "北京",
    "EUC_KR": "서울",
}
"""A word that each encoding can say; the second byte of 表 in SJIS is a backslash."""


_SERIES = (
    "(SELECT timestamp '2019-03-01' + interval '13 minutes' * n AS pickup_ts, (3 + n % 50)::double precision AS fare"
    " FROM generate_series(0, 2999) AS n)"
)
_CUBE = """\
SELECT date_trunc('{}', ("trips".pickup_ts::timestamptz AT TIME ZONE '{}')) "trips__when", count(*) "trips__count"
FROM public.trips AS "trips"
WHERE ("trips".pickup_ts >= '2019-03-04T00:00:00.000Z'::timestamptz
  AND "trips".pickup_ts <= '2019-03-20T23:59:59.999Z'::timestamptz)
GROUP BY 1 ORDER BY 1 ASC LIMIT 10000"""
_METABASE = """\
-- Metabase:: userID: 1 queryType: MBQL queryHash: 3ba6f1b4
SELECT {0} AS "key", COUNT(*) AS "count" FROM "public"."trips" AS "trips" GROUP BY {0} ORDER BY {0} ASC"""
TIMES: Mapping[str, str] = {
    "Cube by day": _CUBE.format("day", "UTC"),
    "Cube by hour in Los Angeles": _CUBE.format("hour", "America/Los_Angeles"),
    "Metabase by month": _METABASE.format("""CAST(DATE_TRUNC('month', "trips"."pickup_ts") AS date)"""),
    "Metabase by week": _METABASE.format(
        """(DATE_TRUNC('week', ("trips"."pickup_ts" + INTERVAL '1 day')) + INTERVAL '-1 day')"""
    ),
    "Metabase by hour of day": _METABASE.format("""CAST(extract(hour from "trips"."pickup_ts") AS integer)"""),
    "Metabase in bins": _METABASE.format("""FLOOR(("trips"."fare" / 10.0)) * 10.0"""),
    "Metabase in bins from 3": _METABASE.format("""((FLOOR((("trips"."fare" - 3.0) / 12.5)) * 12.5) + 3.0)"""),
}
"""What clients write for dimensions of time and of bins; `over_series` asks PostgreSQL the same of made-up rows."""


def over_series(statement: str) -> str:
    """Return a statement over what is in the table, without it."""
    return re.sub(r'FROM ("?public"?\.)?"?trips"?( AS "trips")?', f'FROM {_SERIES} AS "series"', statement).replace(
        '"trips".', '"series".'
    )


def in_words(word: str) -> str:
    """Return a question that has a word in it, and gives it back."""
    return f"SELECT '{word}' AS word, count(*) AS n FROM trips WHERE payment_type <> '{word}'"


def environment(mark: Mark) -> dict[str, str]:
    """Return the questions as variables of the environment, which every language can read."""
    kinds = [f"{kind.name}\t{kind.statement(mark)}\t{kind.value}" for kind in KINDS]
    return {
        "ASK_TABLES": TABLES,
        "ASK_COLUMNS": COLUMNS,
        "ASK_GROUPED": GROUPED,
        "ASK_IN": f"{_COUNT} pickup_zone IN ({mark(1)},{mark(2)})",
        "ASK_ARRAY": f"{_COUNT} pickup_zone = ANY({mark(1)}::integer[])",
        "ASK_TYPES": "\n".join(kinds),
        "ASK_ROWS": ROWS,
        "ASK_SLOW": SLOW,
        "ASK_SERIES": _SERIES,
        "ASK_TIMES": "\x1e".join(f"{name}\t{asked}\t{over_series(asked)}" for name, asked in TIMES.items()),
        "ASK_WORDS": "\n".join(f"{name}\t{in_words(word)}" for name, word in WORDS.items()),
    }
