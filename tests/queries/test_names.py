"""Names that several queries around a column have: what is answered means what PostgreSQL says, in whatever spelling.

`ANSWERED` are right. `EITHER` are right or refused: a refusal may become an answer, and never a wrong one.
"""

from dataclasses import dataclass
from itertools import product

import psycopg
import pytest

from dpsql.errors import DpsqlError
from tests.queries.test_golden import compare
from tests.support.fix_dirty import NewUser
from tests.support.golden import Golden
from tests.support.reference import Reference

_V = "(VALUES (1), (20))"
_HOURS = "(VALUES (timestamp '2019-03-01'), (timestamp '2019-03-04'), (timestamp '2019-03-06'))"
_S = "SELECT count(*) FROM"
_BY = "FROM trips GROUP BY 1"
_DAY = "interval '1 day'"

ANSWERED = f"""\
SELECT {{d}}, ({_S} trips s WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s WHERE {{d}} < s.fare) AS n FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips WHERE fare >= {{d}}) FROM {_V} {{v}}
SELECT {{d}}, (SELECT avg(tip) FROM trips s WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, (SELECT sum(tip) FROM trips s WHERE s.fare > {{d}} AND s.payment_type = 'cash') FROM {_V} {{v}}
SELECT {{d}} AS fare, ({_S} trips s WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}} AS tip, ({_S} trips s WHERE s.fare <> {{d}}) FROM {_V} {{v}}
WITH w AS (SELECT * FROM {_V} {{v}}) SELECT d, ({_S} trips s WHERE s.fare > d) FROM w
WITH w (d) AS (VALUES (1), (20)) SELECT d, ({_S} trips s WHERE s.fare > w.d) FROM w
WITH w (d) AS {_V} SELECT x.d, ({_S} trips s WHERE s.fare > d) FROM w AS x
SELECT d, ({_S} trips s WHERE s.fare > d) FROM (SELECT d FROM {_V} {{v}} WHERE {{d}} > 1) AS w
SELECT d, ({_S} trips s WHERE s.fare > d) FROM generate_series(1, 3) AS d
SELECT zone_id, ({_S} trips s WHERE s.pickup_zone > zone_id) FROM zones WHERE zone_id < 5
SELECT zone_id, ({_S} trips s WHERE s.pickup_zone > zones.zone_id) FROM zones WHERE zone_id < 5
SELECT public.zones.zone_id, ({_S} trips s WHERE s.pickup_zone > public.zones.zone_id) FROM zones WHERE zone_id < 5
SELECT zone_id AS fare, ({_S} public.trips WHERE public.trips.pickup_zone > zone_id) FROM zones WHERE zone_id < 5
SELECT {{d}}, ({_S} trips s WHERE s.pickup_ts >= {{d}} AND s.pickup_ts < {{d}} + {_DAY}) FROM {_HOURS} {{v}}
SELECT {{d}}, ({_S} trips WHERE pickup_ts >= {{d}} AND pickup_ts < {{d}} + {_DAY}) AS n FROM {_HOURS} {{v}}
SELECT {{d}}, (SELECT avg(fare) FROM trips s WHERE s.pickup_ts >= {{d}}) FROM {_HOURS} {{v}}
SELECT {{d}}, n FROM {_V} {{v}}, LATERAL (SELECT count(*) AS n FROM trips s WHERE s.fare > {{d}}) AS l
SELECT {{d}}, l.n FROM {_V} {{v}} CROSS JOIN LATERAL (SELECT count(*) AS n FROM trips s WHERE s.fare > {{d}}) AS l
SELECT {{d}}, l.n FROM {_V} {{v}} LEFT JOIN LATERAL (SELECT count(*) AS n FROM trips WHERE fare > {{d}}) AS l ON true
SELECT {{d}}, count FROM {_HOURS} {{v}}, LATERAL ({_S} trips WHERE pickup_ts >= {{d}} AND pickup_ts < {{d}} + {_DAY}) l
SELECT {{d}}, ({_S} trips s JOIN zones z ON z.zone_id = s.pickup_zone WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s WHERE s.fare > {{d}} AND s.tip < {{d}}) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s WHERE s.passenger_count = {{d}}) FROM {_V} {{v}}
SELECT {{d}}, (SELECT count(*) AS d FROM trips s WHERE s.fare > {{d}}) AS n FROM {_V} {{v}}
SELECT {{d}}, (SELECT count(*) - 1 FROM trips s WHERE s.fare > {{d}}) + 1 AS n FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s WHERE s.fare > {{d}}), ({_S} trips s WHERE s.fare < {{d}}) FROM {_V} {{v}}
SELECT paid, (SELECT avg(fare) FROM rides s WHERE s.paid = r.paid) FROM rides r GROUP BY paid
SELECT paid, (SELECT avg(fare) FROM rides s WHERE s.paid = rides.paid) FROM rides GROUP BY paid
SELECT stars AS paid, (SELECT avg(fare) FROM rides s WHERE s.stars = r.stars) FROM rides r GROUP BY stars
SELECT count(*) FROM rides r WHERE fare > (SELECT avg(s.fare) FROM rides s WHERE s.rider = r.rider)
SELECT count(*) FROM rides WHERE fare > (SELECT avg(s.fare) FROM rides s WHERE s.rider = rides.rider)
SELECT count(*) FROM rides WHERE fare > (SELECT avg(s.fare) FROM rides s WHERE s.rider = public.rides.rider)
SELECT count(*) FROM rides r WHERE shared OR EXISTS (SELECT 1 FROM zones WHERE zone_id = from_zone AND borough = 'Queens')
SELECT count(*) FROM rides r WHERE from_zone IN (SELECT zone_id FROM zones z WHERE zone_id = from_zone AND zone_id < 9)
""".splitlines()

EITHER = f"""\
SELECT passenger_count, (SELECT max(passenger_count) FROM generate_series(1, 3) AS passenger_count) {_BY}
SELECT passenger_count, ({_S} zones WHERE zone_id < passenger_count) {_BY}
SELECT passenger_count, ({_S} zones WHERE zone_id < public.trips.passenger_count) {_BY}
SELECT passenger_count AS zone_id, ({_S} zones z WHERE z.zone_id < passenger_count) {_BY}
SELECT t.passenger_count, ({_S} zones t WHERE t.zone_id < passenger_count) FROM trips t GROUP BY 1
SELECT passenger_count, ({_S} zones, (SELECT 2 AS passenger_count) q WHERE zone_id < passenger_count) {_BY}
SELECT passenger_count, ({_S} json_each('null') AS j (passenger_count) WHERE passenger_count IS NULL) {_BY}
SELECT passenger_count {_BY} HAVING count(*) > (SELECT 1000 * count(*) FROM zones WHERE zone_id < passenger_count)
SELECT passenger_count, count(*) {_BY} ORDER BY (SELECT -count(*) FROM zones WHERE zone_id < passenger_count), 1
SELECT passenger_count, (SELECT ({_S} zones WHERE zone_id < passenger_count)) {_BY}
SELECT (SELECT sum(fare)) FROM trips
SELECT (SELECT sum(fare) FROM zones WHERE zone_id = 1) FROM trips
SELECT (SELECT sum(fare + zone_id) FROM zones WHERE zone_id = 1) FROM trips
SELECT {{d}}, (SELECT max(s.fare + {{d}}) FROM trips s) FROM {_V} {{v}}
SELECT {{d}}, (SELECT sum(CASE WHEN s.fare > {{d}} THEN 1 ELSE 0 END) FROM trips s) FROM {_V} {{v}}
SELECT {{d}}, (SELECT count(*) FILTER (WHERE s.fare > {{d}}) FROM trips s) FROM {_V} {{v}}
SELECT count(*) FROM trips, {_V} {{v}} WHERE fare > {{d}}
SELECT {{d}}, count(*) FROM trips JOIN {_V} {{v}} ON fare > {{d}} GROUP BY 1
SELECT {{d}} AS fare, count(*) FROM trips JOIN {_V} {{v}} ON fare > {{d}} GROUP BY {{d}}
SELECT {{d}}, count(t.fare) FROM {_V} {{v}} LEFT JOIN trips t ON t.fare > {{d}} GROUP BY {{d}}
SELECT {{d}} AS fare, count(t.fare) FROM {_V} {{v}} LEFT JOIN trips t ON t.fare > {{d}} GROUP BY {{d}} ORDER BY fare
SELECT {{d}} * 2 AS d, count(t.fare) FROM {_V} {{v}} LEFT JOIN trips t ON t.fare > {{d}} GROUP BY {{d}} ORDER BY d
SELECT -{{d}} AS d, count(fare) FROM {_V} {{v}} LEFT JOIN trips ON fare > {{d}} GROUP BY v.d HAVING count(fare) > 1 ORDER BY d
SELECT {{d}}, l.n FROM {_V} {{v}}, LATERAL ({_S} trips s WHERE s.fare > {{d}}) AS l (n)
SELECT {{d}}, ({_S} trips v WHERE v.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips compared WHERE compared.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s, generate_series(1, 20) AS d WHERE s.fare > d) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s, generate_series(1, 20) AS q WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, ({_S} (SELECT fare AS d FROM trips) s WHERE s.d > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, ({_S} (SELECT fare AS d FROM trips) s WHERE d > 5) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s WHERE s.fare > (SELECT max({{d}}))) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s WHERE s.fare > {{d}} AND s.tip < (SELECT avg(tip) FROM trips)) FROM {_V} {{v}}
SELECT {{d}}, (SELECT ({_S} trips s WHERE s.fare > {{d}})) FROM {_V} {{v}}
SELECT {{d}}, ({_S} trips s WHERE s.fare > {{d}} HAVING count(*) > 10) FROM {_V} {{v}}
SELECT {{d}}, (SELECT max({{d}}) FROM trips s WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, (SELECT count(*) + {{d}} FROM trips s WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}} FROM {_V} {{v}} WHERE ({_S} trips s WHERE s.fare > {{d}}) > 1000
SELECT {{d}} FROM {_V} {{v}} ORDER BY ({_S} trips s WHERE s.fare > {{d}})
SELECT {{d}}, ({_S} trips s WHERE s.fare > {{d}}) FROM {_V} {{v}} GROUP BY {{d}}
SELECT DISTINCT {{d}}, ({_S} trips s WHERE s.fare > {{d}}) FROM {_V} {{v}}
SELECT {{d}}, w.e, ({_S} trips s WHERE s.fare > {{d}} AND s.tip > w.e) FROM {_V} {{v}}, (VALUES (1), (2)) AS w(e)
SELECT {{d}}, w.d, ({_S} trips s WHERE s.fare > w.d) FROM {_V} {{v}}, (VALUES (1), (2)) AS w(d)
SELECT {{d}}, l.n FROM {_V} {{v}}, LATERAL (SELECT count(*) AS n FROM trips v WHERE v.fare > {{d}}) AS l
SELECT {{d}}, n FROM {_V} {{v}}, LATERAL (SELECT count(*) AS n FROM trips s WHERE s.fare > {{d}}) l, (VALUES (7)) w(n2)
SELECT {{d}}, l.n FROM {_V} {{v}}, LATERAL (SELECT tip > 1 AS p, count(*) n FROM trips s WHERE s.fare > {{d}} GROUP BY 1) AS l
SELECT {{d}}, (SELECT l.n FROM (SELECT count(*) AS n FROM trips s WHERE s.fare > {{d}}) AS l) FROM {_V} {{v}}
SELECT x, (SELECT {{d}} FROM {_V} {{v}} LIMIT 1) FROM (SELECT count(*) AS x FROM trips) AS t
WITH d AS (SELECT 5 AS fare) SELECT ({_S} trips s WHERE s.fare > d.fare) FROM d
WITH d AS (SELECT 5 AS d) SELECT ({_S} trips s WHERE s.fare > d) FROM d
SELECT zone_id, ({_S} trips zones WHERE zones.pickup_zone > zone_id) FROM zones WHERE zone_id < 5
SELECT zone_id, ({_S} trips AS zones WHERE zones.pickup_zone > public.zones.zone_id) FROM zones WHERE zone_id < 5
SELECT paid, (SELECT avg(fare) FROM rides r WHERE r.paid = paid) FROM rides r GROUP BY paid
SELECT paid AS stars, (SELECT avg(fare) FROM rides s WHERE s.stars = 5) FROM rides r GROUP BY paid
SELECT count(*) FROM rides r WHERE fare > (SELECT avg(fare) FROM rides s WHERE s.rider = rider)
SELECT count(*) FROM rides r WHERE fare > (SELECT avg(fare) FROM rides r WHERE r.rider = rider)
SELECT count(*) FROM rides s WHERE fare > (SELECT avg(r.fare) FROM rides r WHERE r.rider = s.rider AND r.fare < s.fare)
{_S} rides r, LATERAL (SELECT avg(s.fare) AS fare FROM rides s WHERE s.rider = r.rider) AS l WHERE r.fare > l.fare
SELECT count(*) FROM rides r, LATERAL (SELECT avg(s.fare) AS a FROM rides s WHERE s.rider = r.rider) AS l WHERE fare > a
SELECT count(*) FROM rides r WHERE EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider AND s.tip > r.tip)
{_S} rides r JOIN zones z ON zone_id = from_zone WHERE borough IN (SELECT borough FROM zones y WHERE y.zone_id = to_zone)
""".splitlines()

D = {"bare": "d", "qualified": "v.d"}
V = {"bare": "AS v(d)", "qualified": "AS v (d)"}


@dataclass(frozen=True, slots=True)
class _Case:
    sql: str
    answered: bool


CASES = {
    case.sql: case
    for (statements, answered), how in product(((ANSWERED, True), (EITHER, False)), D)
    for statement in statements
    for case in [_Case(statement.format(d=D[how], v=V[how]), answered)]
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_name_means_what_postgresql_says(case: _Case, user: NewUser, reference: Reference) -> None:
    """Right, or refused before anything is charged."""
    client = user("ana")
    client.ledger.advance("each statement is the first")
    before = client.charges
    try:
        answer = client.ask(case.sql)
    except DpsqlError as error:
        refusal: DpsqlError | psycopg.Error = error
    except psycopg.Error as error:
        refusal = error
    else:
        expected = reference.answer(case.sql, "passenger")
        assert (answer.names, answer.types) == (expected.names, expected.types)
        left = compare(answer, expected, Golden("", "", case.sql, "answered", within=1e-6))
        assert all(row[-1] in (0, None) for row in left), left
        return
    assert not case.answered, refusal
    assert client.charges == before
    if isinstance(refusal, psycopg.Error):  # then it is no statement of PostgreSQL's
        with pytest.raises(type(refusal)):
            reference.answer(case.sql, "passenger")
