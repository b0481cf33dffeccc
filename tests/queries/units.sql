-- an average of units' counts
--> answered, 1 measurement
--> within 0.001
SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id) AS t;

-- how many units
--> answered, 1 measurement
SELECT count(*) FROM (SELECT passenger_id FROM trips WHERE fare > 10 GROUP BY passenger_id HAVING count(*) > 1) AS t;

-- how many units, by DISTINCT
--> answered, 1 measurement
SELECT count(*) AS n FROM (SELECT DISTINCT passenger_id FROM trips) AS t;

-- sums of units
--> answered, 1 measurement
--> within 0.001
SELECT sum(s), avg(s), sum(m), avg(m) FROM (SELECT rider, sum(fare) AS s, max(fare) AS m FROM rides GROUP BY 1) AS t;

-- every aggregate of a unit
--> answered, 1 measurement
--> within 0.001
SELECT sum(a), sum(b), sum(c), sum(d), avg(e), sum(f), sum(g), sum(h), sum(i::int), sum(j::int) FROM (
  SELECT rider, count(*) AS a, count(tip) AS b, count(DISTINCT paid) AS c, sum(seats) AS d, avg(seats) AS e, sum(tip) AS f,
  min(weight) AS g, sum(price) FILTER (WHERE late) AS h, bool_or(shared) AS i, bool_and(late) AS j
  FROM rides GROUP BY rider) AS t;

-- a histogram of units' counts
--> answered, 1 measurement
--> empty 17 groups
SELECT n, count(*) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id) AS t GROUP BY n ORDER BY n;

-- units in classes
--> answered, 1 measurement
--> within 0.001
--> empty 2 groups
SELECT CASE WHEN n > 3 THEN 'many' WHEN n > 1 THEN 'some' ELSE 'one' END AS class, count(*), avg(f)
FROM (SELECT passenger_id, count(*) AS n, max(passenger_count) AS f FROM trips GROUP BY passenger_id) AS t GROUP BY 1;

-- classes made inside
--> answered, 1 measurement
--> empty 1 group
SELECT class, count(*) FROM (SELECT CASE WHEN count(*) > 2 THEN 'many' ELSE 'few' END AS class FROM trips GROUP BY passenger_id) AS t
GROUP BY class ORDER BY 1;

-- a CTE of units with conditions inside and outside
--> answered, 1 measurement
--> within 0.001
WITH p AS (SELECT passenger_id AS id, count(*) AS n, sum(tip) / (sum(fare) + 1) AS share FROM trips WHERE fare > 2 GROUP BY 1 HAVING count(*) >= 2)
SELECT count(*), avg(share) FROM p WHERE n < 6 AND share < 0.5;

-- quantiles of units' sums
--> answered, 2 measurements
--> unlike PostgreSQL, which interpolates
SELECT median(s), max(n) FROM (SELECT passenger_id, sum(fare) AS s, count(*) AS n FROM trips GROUP BY 1) AS t;

-- per unit and key
--> answered, 1 measurement
SELECT zone, count(*), avg(n) FROM (SELECT passenger_id, pickup_zone AS zone, count(*) AS n FROM trips GROUP BY 1, 2) AS t GROUP BY zone;

-- per unit and day
--> answered, 1 measurement
SELECT avg(n), count(*) FROM (SELECT passenger_id, date_trunc('day', pickup_ts) AS day, count(*) AS n FROM trips GROUP BY 1, 2) AS t;

-- on how many days a unit was seen
--> answered, 1 measurement
--> within 0.001
SELECT avg(days) FROM (SELECT id, count(*) AS days FROM (SELECT DISTINCT passenger_id AS id, pickup_ts::date AS day FROM trips) AS d
GROUP BY id) AS t;

-- the same by count DISTINCT
--> answered, 1 measurement
--> within 0.001
SELECT avg(days) FROM (SELECT count(DISTINCT pickup_ts::date) AS days FROM trips GROUP BY passenger_id) AS t;

-- times of units
--> answered, 1 measurement
--> within 0.001
SELECT avg(extract(epoch FROM last - first)) FROM (
  SELECT rider, min(picked) AS first, max(picked) AS last FROM rides GROUP BY rider HAVING count(*) > 1) AS t;

-- the day on which units were first seen
--> answered, 1 measurement
--> empty 3 groups
SELECT date_trunc('day', first) AS day, count(*) FROM (SELECT rider, min(picked) AS first FROM rides GROUP BY rider) AS t GROUP BY 1;

-- per unit of a joined public table
--> answered, 1 measurement
SELECT borough, avg(n) FROM (SELECT passenger_id, borough, count(*) AS n FROM trips JOIN zones ON zone_id = pickup_zone GROUP BY 1, 2) AS t
GROUP BY borough;

-- a public table joined to units
--> answered, 1 measurement
SELECT z.borough, count(*), avg(n) FROM (SELECT passenger_id, pickup_zone AS zone, count(*) AS n FROM trips GROUP BY 1, 2) AS t
JOIN zones AS z ON z.zone_id = t.zone GROUP BY z.borough;

-- joined back to the units' rows
--> answered, 1 measurement
--> within 0.001
SELECT payment_type, count(*), avg(n) FROM trips AS t
JOIN (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS u ON t.passenger_id = u.passenger_id GROUP BY 1;

-- joined back where it is there
--> answered, 1 measurement
--> within 0.001
SELECT count(*), count(n), avg(n) FROM trips
LEFT JOIN (SELECT passenger_id, count(*) AS n FROM trips WHERE payment_type = 'cash' GROUP BY 1) AS u USING (passenger_id);

-- two tables' numbers of units
--> answered, 1 measurement
--> within 0.001
SELECT count(*), avg(t.n + r.n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS t
JOIN (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS r ON t.passenger_id = r.rider;

-- units of another kind
--> answered, 1 measurement
--> within 0.001
--> as tess
SELECT avg(n) FROM (SELECT driver_id, count(*) AS n FROM trips GROUP BY driver_id) AS t;

-- units of another kind than the role's
--> refused 42501: must group by "passenger_id"
SELECT avg(n) FROM (SELECT driver_id, count(*) AS n FROM trips GROUP BY driver_id) AS t;

-- other units as keys
--> refused 42501: grouping by "driver_id"
SELECT driver_id, count(*) FROM (SELECT passenger_id, driver_id FROM trips GROUP BY 1, 2) AS t GROUP BY 1;

-- units themselves
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id) AS t;

-- the units of units
--> refused 42501: grouping by "passenger_id"
SELECT passenger_id, sum(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id) AS t GROUP BY 1;

-- some units
--> refused 42501: LIMIT
SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id ORDER BY n DESC LIMIT 10) AS t;

-- units in order
--> refused 42501: must be PARTITION BY the privacy unit
SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM trips GROUP BY 1) AS t WHERE r < 9;

-- DISTINCT numbers of units
--> refused 0A000: DISTINCT
SELECT count(*) FROM (SELECT DISTINCT count(*) AS n FROM trips GROUP BY passenger_id) AS t;

-- sets of units
--> refused 0A000: single units
SELECT avg(n) FROM (SELECT passenger_id, pickup_zone, count(*) AS n FROM trips GROUP BY GROUPING SETS ((1), (1, 2))) AS t;

-- a value of a unit that depends on the order
--> refused 0A000: array_agg
SELECT count(f) FROM (SELECT passenger_id, array_agg(fare) AS f FROM trips GROUP BY 1) AS t;

-- a vote of a unit
--> refused 0A000: of single units is not supported
SELECT mode, count(*) FROM (SELECT passenger_id, mode() WITHIN GROUP (ORDER BY payment_type) AS mode FROM trips GROUP BY 1) AS t GROUP BY 1;

-- sums of a unit without bounds
--> refused 55000: column "trip_id" has no declared bounds
SELECT avg(s) FROM (SELECT passenger_id, sum(trip_id) AS s FROM trips GROUP BY 1) AS t;

-- units by a column of theirs without values
--> refused 55000: "number"
SELECT number, avg(n) FROM (SELECT rider, number, count(*) AS n FROM rides GROUP BY 1, 2) AS t GROUP BY 1;

-- units by a column that is found
--> answered, 2 measurements
--> as eve
--> unlike PostgreSQL, where nothing is hidden
SELECT note, count(*) FROM (SELECT rider, note FROM rides GROUP BY 1, 2) AS t GROUP BY 1;

-- medians of units
--> answered, 1 measurement
--> within 0.001
SELECT avg(m), avg(p), avg(s) FROM (SELECT rider, median(fare) AS m, percentile_cont(0.9) WITHIN GROUP (ORDER BY tip DESC) AS p,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY seats) AS s FROM rides GROUP BY rider) AS t;

-- spreads of units
--> answered, 1 measurement
--> within 0.001
SELECT avg(a), avg(b), avg(c), avg(d) FROM (SELECT rider, stddev(fare) AS a, var_pop(seats) AS b, stddev_pop(price) AS c,
  variance(weight) FILTER (WHERE late) AS d FROM rides GROUP BY rider) AS t;

-- rows above their unit's median
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE seats > (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY seats) FROM rides s WHERE s.rider = r.rider);

-- a histogram of units' medians
--> answered, 1 measurement
--> empty 1 group
SELECT m, count(*) FROM (SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY seats) AS m FROM rides GROUP BY rider) AS t GROUP BY m;

-- a percentile from above, whose ties would be decided the other way round
--> refused 0A000: of single units is not supported
SELECT avg(m) FROM (SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY seats DESC) AS m FROM rides GROUP BY rider) AS t;

-- texts of units: what is ordered is their places
--> refused 0A000: max(rides.paid) of single units is not supported
SELECT count(*) FROM (SELECT rider, max(paid) AS m FROM rides GROUP BY rider) AS t WHERE m = '1';

-- a percentile of texts
--> refused 0A000: of single units is not supported
SELECT m, count(*) FROM (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY paid) AS m FROM rides GROUP BY rider) AS t GROUP BY m;

-- a text beside the largest of the same individual's, which engines would read as a number
--> refused 0A000: max(s.paid) of single units is not supported
SELECT count(*) FROM rides AS t WHERE paid = (SELECT max(s.paid) FROM rides AS s WHERE s.rider = t.rider);

-- intervals of units are intervals: a number alone is of seconds
--> answered, 1 measurement
SELECT count(*) FROM (SELECT rider FROM rides GROUP BY rider HAVING max(dropped - picked) > '2000000') AS t;

-- the same, compared with an interval
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE most > interval '20 days'), count(*) FILTER (WHERE mean > '12 days'), count(*) FILTER (WHERE total > '120 days')
FROM (SELECT max(dropped - picked) AS most, avg(dropped - picked) AS mean, sum(dropped - picked) AS total FROM rides GROUP BY rider) AS t;

-- several percentiles of a unit, which nobody reads
--> answered, 1 measurement
SELECT count(*) FROM (SELECT rider, percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY fare) AS q FROM rides GROUP BY rider) AS t;

-- several percentiles of a unit
--> refused 0A000: of single units is not supported
SELECT avg(q[1]) FROM (SELECT rider, percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY fare) AS q FROM rides GROUP BY rider) AS t;

-- a profile of a table, the unit among its columns
--> answered, 1 measurement
--> unlike PostgreSQL, which computes with units
SELECT count(*), min(passenger_id), max(passenger_id), avg(passenger_id), avg(fare), count(passenger_id) FROM trips;

-- a profile by groups
--> answered, 1 measurement
--> unlike PostgreSQL, which computes with units
SELECT payment_type, sum(passenger_id), count(*) FROM trips GROUP BY payment_type;
