-- everything passes through
--> answered, 1 measurement
SELECT count(*) FROM (SELECT * FROM trips) AS t;

-- five deep
--> answered, 1 measurement
--> within 0.001
SELECT a.p, avg(a.f) FROM (SELECT p, f FROM (SELECT p, f + 1 AS f FROM (SELECT payment_type AS p, fare AS f FROM
(SELECT * FROM (SELECT * FROM trips) AS e WHERE fare > 5) AS d) AS c WHERE f < 100) AS b WHERE p IS NOT NULL) AS a GROUP BY a.p;

-- a common table expression
--> answered, 1 measurement
WITH far AS (SELECT * FROM trips WHERE trip_distance > 5)
SELECT payment_type, count(*) AS n FROM far GROUP BY payment_type ORDER BY n;

-- one of another
--> answered, 1 measurement
WITH a AS (SELECT fare AS f, payment_type AS p FROM trips), b AS (SELECT * FROM a WHERE f > 10) SELECT count(p) FROM b;

-- an answer
--> answered, 1 measurement
WITH n AS (SELECT payment_type, count(*) AS n FROM trips GROUP BY 1) SELECT sum(n), max(n), count(*) FROM n;

-- two uses of an answer
--> answered, 1 measurement
WITH n AS (SELECT payment_type AS p, count(*) AS n FROM trips GROUP BY 1)
SELECT a.p, a.n FROM n AS a WHERE a.n = (SELECT max(n) FROM n);

-- an answer beside an answer
--> answered, 2 measurements
SELECT (SELECT count(*) FROM trips) AS trips, (SELECT count(*) FROM rides) AS rides;

-- the same question twice is one measurement
--> answered, 1 measurement
SELECT (SELECT count(*) FROM trips) AS a, (SELECT count(*) FROM trips) AS b;

-- answers below each other
--> answered, 2 measurements
SELECT 'cash' AS what, count(*) FROM trips WHERE payment_type = 'cash'
UNION ALL SELECT 'dear', count(*) FROM trips WHERE fare > 100 ORDER BY 1;

-- columns renamed
--> answered, 1 measurement
SELECT t.b, count(*) FROM (SELECT payment_type, fare FROM trips) AS t (b, c) WHERE t.c > 10 GROUP BY 1;

-- how many groups there are is public
--> answered, free
SELECT count(*) AS rowcount FROM (SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type LIMIT 100) AS q;

-- how many groups have enough rows is not
--> answered, 1 measurement
SELECT count(*) FROM (SELECT payment_type FROM trips GROUP BY payment_type HAVING count(*) > 2000) AS q;

-- windows over answers
--> answered, 1 measurement
SELECT payment_type, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS r, sum(count(*)) OVER () AS all_of_them,
  round(100.0 * count(*) / sum(count(*)) OVER (), 3) AS percent FROM trips GROUP BY payment_type ORDER BY r;

-- a window that is spelled as an aggregate of rows beside it is of the answer's rows
--> answered, 1 measurement
SELECT payment_type, count(*), count(*) OVER () AS groups, count(*) FILTER (WHERE payment_type = 'cash') OVER () AS cash,
  count(*) FILTER (WHERE payment_type = 'cash') AS paid FROM trips GROUP BY payment_type ORDER BY count(*) OVER (), 1;

-- a spine
--> answered, 1 measurement
SELECT s.d, coalesce(a.n, 0) AS n FROM generate_series(timestamp '2019-03-01', '2019-03-05', '1 day') AS s (d)
LEFT JOIN (SELECT date_trunc('day', pickup_ts) AS d, count(*) AS n FROM trips GROUP BY 1) AS a ON a.d = s.d ORDER BY 1;

-- windows over private rows
--> refused 42501
SELECT rank() OVER (ORDER BY fare) FROM trips;

-- some private rows
--> refused 42501: LIMIT
SELECT avg(fare) FROM (SELECT fare FROM trips LIMIT 10) AS t;

-- distinct private rows
--> answered, 1 measurement
SELECT count(*) FROM (SELECT DISTINCT ON (passenger_id) passenger_id, fare FROM trips ORDER BY 1, 2) AS t;

-- distinct private rows of a zone
--> refused 42501: DISTINCT ON shows rows
SELECT count(*) FROM (SELECT DISTINCT ON (pickup_zone) passenger_id, fare FROM trips ORDER BY pickup_zone, 2) AS t;

-- a number of private rows beside each public one
--> answered, 1 measurement
SELECT z.zone, (SELECT count(*) FROM trips t WHERE t.pickup_zone = z.zone_id) AS n FROM zones z;

-- private rows one by one, by a bare name
--> refused 0A000: zone_id belongs to a query around this one
SELECT zone, (SELECT n FROM (SELECT count(*) AS n FROM trips WHERE pickup_zone = zone_id) AS t) AS n FROM zones;

-- lateral
--> answered, 1 measurement
SELECT count(*), sum(f) FROM trips t, LATERAL (SELECT t.fare AS f) AS l;

-- recursive
--> refused 0A000: RECURSIVE
WITH RECURSIVE r AS (SELECT fare FROM trips UNION ALL SELECT fare FROM r) SELECT count(*) FROM r;

-- days that are made one by one
--> answered, 1 measurement
WITH RECURSIVE d(x) AS (SELECT date '2019-03-01' UNION ALL SELECT x + 1 FROM d WHERE x < date '2019-03-05') SELECT x, count(*) FROM d JOIN rides ON rides.day = d.x GROUP BY x;

-- such rows of public tables, which other queries read, beside private rows that pass through
--> answered, 1 measurement
--> empty 1 group
WITH RECURSIVE d(x, z) AS (SELECT 1, b.zone FROM zones b WHERE b.zone_id = 1 UNION ALL SELECT d.x + 1, coalesce(b.zone, 'none') FROM d LEFT JOIN zones b ON b.zone_id = d.x + 1 WHERE d.x < 4), r AS (SELECT from_zone AS f FROM rides WHERE fare > 10), e AS (SELECT x + 0 AS y, z FROM d WHERE x > 1) SELECT z, count(*) FROM r JOIN e ON f = y GROUP BY z;

-- such rows in a condition, by the name of a public table
--> answered, 1 measurement
WITH RECURSIVE zones AS (SELECT 1 AS n UNION SELECT n % 3 + 1 FROM zones) SELECT count(*) FROM rides WHERE from_zone IN (SELECT n FROM zones);

-- such rows LEFT JOIN private ones
--> answered, 1 measurement
WITH RECURSIVE d(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM d WHERE x < 5) SELECT x, count(rides.fare) FROM d LEFT JOIN rides ON rides.from_zone = d.x GROUP BY x ORDER BY x;

-- such rows among those that another stage reads
--> answered, 2 measurements
WITH RECURSIVE d(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM d WHERE x < 5) SELECT count(*) FROM rides WHERE from_zone IN (SELECT from_zone FROM rides JOIN d ON from_zone = x GROUP BY 1 ORDER BY count(*) DESC LIMIT 2);

-- such rows without an end
--> refused 0A000: too long to evaluate
WITH RECURSIVE d AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM d) SELECT count(*) FROM rides WHERE from_zone IN (SELECT x FROM d);

-- such rows in an order
--> refused 0A000: the recursive query "d" can't stand beside private rows
WITH RECURSIVE d(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM d WHERE x < 5) SEARCH DEPTH FIRST BY x SET o SELECT count(*) FROM rides JOIN d ON from_zone = x;

-- private rows behind those who read them
--> answered, 1 measurement
--> unlike
WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT fare FROM rides) SELECT count(*) FROM a;

-- all units of either, in place of FULL JOIN
--> answered, 1 measurement
--> within 0.001
SELECT count(*), avg(a.n), count(b.m) FROM (SELECT rider AS u FROM rides WHERE late UNION SELECT passenger_id FROM trips WHERE payment_type = 'cash') AS u LEFT JOIN (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS a ON a.rider = u.u LEFT JOIN (SELECT passenger_id, count(*) AS m FROM trips GROUP BY 1) AS b ON b.passenger_id = u.u;

-- an answer over common table expressions of its own
--> answered, 1 measurement
WITH w AS (WITH a AS (SELECT payment_type AS p, fare AS f FROM trips), b AS (SELECT * FROM a WHERE f > 10) SELECT count(p) AS n FROM b)
SELECT n FROM w;

-- rows of a CTE that names its columns
--> answered, 1 measurement
--> within 0.001
WITH paid (how, money) AS (SELECT payment_type, total FROM trips WHERE fare > 5) SELECT how, avg(money), count(*) FROM paid GROUP BY how;

-- rows of single units in a CTE that names its columns
--> answered, 1 measurement
--> within 0.001
WITH r (who, n) AS (SELECT passenger_id, count(*) FROM trips GROUP BY 1) SELECT avg(n), count(*) FROM r;

-- a CTE that names some of its columns
--> answered, 1 measurement
WITH a (x) AS (SELECT passenger_count, payment_type FROM trips) SELECT x, payment_type, count(*) FROM a GROUP BY 1, 2;

-- rows of several values that are not among others
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE (r.rider, r.seats) NOT IN (SELECT rider, seats FROM rides WHERE seats > 3);

-- rows of several values that are not among others, which may be missing
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE (r.tip, r.rider) NOT IN (SELECT tip, rider FROM rides WHERE tip > 20);
