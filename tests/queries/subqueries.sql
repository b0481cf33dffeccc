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
--> refused 0A000
SELECT count(*) FROM trips t, LATERAL (SELECT t.fare AS f) AS l;

-- recursive
--> refused 0A000: RECURSIVE
WITH RECURSIVE r AS (SELECT fare FROM trips UNION ALL SELECT fare FROM r) SELECT count(*) FROM r;

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
