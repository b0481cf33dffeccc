"""Queries as PostgreSQL has bound them, and that our reading of its words is checked."""

from collections.abc import Sequence

import pytest

from dpsql.errors import Unsupported
from dpsql.lexer.reader import tokens
from dpsql.question import ColumnDescription, Settings, TemporaryTable
from dpsql.rewrite.bind.bound_reader import BoundReader, is_moving
from dpsql.rewrite.syntax.read.dialect import render
from tests.support.fix_world import World


def _read(world: World, query: str, settings: Settings = Settings(), types: Sequence[str] = ()) -> str:
    tree = BoundReader(world.oracle(settings), types)(query)
    assert tree is not None
    return render(tree)


READ = {
    "SELECT d, (SELECT count(*) FROM trips s WHERE s.fare > d) FROM (VALUES (1), (20)) v (d)": (
        "SELECT v.d, (SELECT count(*) AS count FROM public.trips AS s WHERE s.fare > CAST(v.d AS DOUBLE PRECISION)) AS count "
        "FROM (VALUES (1), (20)) AS v(d)"
    ),
    'SELECT "public"."trips"."fare" FROM "public"."trips"': "SELECT trips.fare FROM public.trips",
    "SELECT t.* FROM (SELECT fare, tip FROM trips) t(a)": ('SELECT t."fare" AS "a", t.tip FROM public.trips AS t'),
    "SELECT fare AS tip FROM trips GROUP BY fare ORDER BY tip": (
        "SELECT trips.fare AS tip FROM public.trips GROUP BY trips.fare ORDER BY trips.fare"
    ),
    "SELECT zone, count(*) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1": (
        "SELECT zones.zone, count(*) AS count FROM public.trips JOIN public.zones ON trips.pickup_zone = zones.zone_id "
        "GROUP BY zones.zone"
    ),
}


@pytest.mark.parametrize(("query", "read"), READ.items())
def test_every_name_is_resolved(world: World, query: str, read: str) -> None:
    """Bare names, names with schemas, stars, places, and outputs that are called as columns are."""
    assert _read(world, query).replace(
        "ON trips.pickup_zone = zones.zone_id", "ON trips.pickup_zone = zones.zone_id"
    ) == (read.replace("ON trips.pickup_zone = zones.zone_id", "ON trips.pickup_zone = zones.zone_id"))


def test_settings_decide_what_literals_are(world: World) -> None:
    """And nothing of them is left in what PostgreSQL says."""
    query = "SELECT count(*) FROM trips WHERE pickup_ts > '02-03-2019'"
    assert "'2019-02-03 00:00:00'" in _read(world, query)
    assert "'2019-03-02 00:00:00'" in _read(world, query, Settings(date_order="DMY", date_style="German"))
    assert "public.trips" in _read(world, query, Settings(search_path='nowhere, "public"'))
    with pytest.raises(Unsupported, match='relation "trips" does not exist'):
        _read(world, query, Settings(search_path='""'))


def test_parameters_have_their_types(world: World) -> None:
    """So that what is compared with them is cast as it is for the client."""
    read = _read(world, "SELECT count(*) FROM trips WHERE fare > $1 AND payment_type = $2", types=("integer", "text"))
    assert "trips.fare > CAST($1 AS DOUBLE PRECISION) AND trips.payment_type = $2" in read


def test_temporary_tables_are_known_by_their_columns(world: World) -> None:
    """A bare name that one of them has is its own."""
    kept = TemporaryTable("kept", (("day", "date"), ("n", "bigint")))
    read = _read(world, "SELECT (SELECT max(n) FROM kept WHERE n > fare) FROM trips", Settings(temporary=(kept,)))
    assert "FROM kept WHERE CAST(kept.n AS DOUBLE PRECISION) > trips.fare" in read


class _Otherwise:
    """A `Binder` that says of what we write that it is something else."""

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        """Say other words of what we write than of PostgreSQL's own."""
        _ = types
        return query if not again or "count" not in query else f"{query} -- otherwise"

    def describe(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Say nothing."""
        raise NotImplementedError(queries, types)


def test_a_reading_that_postgresql_does_not_share_is_none() -> None:
    """What is written again is bound again, and must be the same words."""
    assert BoundReader(_Otherwise())("SELECT sum(t.x) AS s FROM public.t") is not None
    assert BoundReader(_Otherwise())("SELECT (count(*)) AS n FROM public.t") is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'now'::timestamp",
        "SELECT $$ TOMORROW $$",
        "SELECT date U&'tod\\0061y'",
        "SELECT 'today 06:00'::timestamp",
        "SELECT '06:00today'::timestamp",
        "SELECT '{yesterday,today}'::date[]",
        "SELECT '[2019-03-01,now)'::tsrange",
    ],
)
def test_a_time_that_moves_is_noticed(text: str) -> None:
    """PostgreSQL reads it when it binds, so that what is bound serves once."""
    assert is_moving(tuple(tokens(text)))
    assert not is_moving(tuple(tokens("SELECT now(), 'nobody knows', 'unknown'")))
