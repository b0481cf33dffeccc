-- joined with VALUES on whole numbers
--> answered, 1 measurement
SELECT v.label, count(*) FROM trips JOIN (VALUES (1, 'one'), (2, 'two'), (3, 'three')) AS v (id, label)
ON passenger_count = v.id GROUP BY v.label ORDER BY 1;

-- joined with VALUES on texts, others stay
--> answered, 1 measurement
--> within 0.001
SELECT coalesce(v.kind, 'other') AS kind, count(*), avg(fare) FROM trips
LEFT JOIN (VALUES ('cash', 'notes'), ('credit card', 'plastic')) AS v (paid, kind) ON payment_type = v.paid GROUP BY 1;

-- bands of a number
--> answered, 1 measurement
--> within 0.001
SELECT b.name, count(*), sum(tip) FROM trips
JOIN (VALUES (0, 10, 'low'), (10, 30, 'middle'), (30, 1000, 'high')) AS b (lo, hi, name) ON fare >= b.lo AND fare < b.hi
GROUP BY b.name ORDER BY b.name;

-- bands that overlap count a row twice
--> answered, 1 measurement
--> unlike
SELECT b.name, count(*) FROM trips
JOIN (VALUES (0, 20, 'low'), (10, 30, 'middle')) AS b (lo, hi, name) ON fare >= b.lo AND fare < b.hi GROUP BY b.name;

-- an array
--> answered, 1 measurement
SELECT u.n, count(*) FROM trips JOIN unnest(ARRAY[1, 2, 5]) AS u (n) ON u.n = passenger_count GROUP BY u.n ORDER BY 1;

-- a series first
--> answered, 1 measurement
SELECT n, count(*) FROM generate_series(0, 4) AS n JOIN trips ON passenger_count = n GROUP BY n ORDER BY n;

-- a series of days
--> answered, 1 measurement
SELECT d.day, count(*) FROM generate_series(timestamp '2019-03-01', timestamp '2019-03-07', interval '1 day') AS d (day)
JOIN trips ON date_trunc('day', pickup_ts) = d.day GROUP BY d.day ORDER BY d.day;

-- a CTE of constants
--> answered, 1 measurement
WITH c (id, label) AS (VALUES (1, 'single'), (2, 'pair'))
SELECT label, count(*) FROM trips JOIN c ON c.id = passenger_count GROUP BY label ORDER BY label;

-- a CTE of selected constants
--> answered, 1 measurement
WITH c AS (SELECT 'cash' AS paid, 1 AS weight UNION ALL SELECT 'credit card', 2), d AS (SELECT paid AS p, weight AS w FROM c WHERE weight > 0)
SELECT w, count(*) FROM trips JOIN d ON p = payment_type GROUP BY w ORDER BY w;

-- constants that one row finds
--> answered, 1 measurement
WITH limits AS (SELECT 10 AS low, timestamp '2019-03-10' AS since)
SELECT count(*) FROM trips CROSS JOIN limits WHERE fare > limits.low AND pickup_ts >= limits.since;

-- a list in a CTE
--> answered, 1 measurement
WITH wanted AS (SELECT 1 AS id UNION SELECT 4) SELECT count(*) FROM trips WHERE pickup_zone IN (SELECT id FROM wanted);

-- a filtered public table
--> answered, 1 measurement
SELECT q.zone, count(*) FROM trips JOIN (SELECT zone_id, zone FROM zones WHERE borough = 'Queens') AS q
ON q.zone_id = pickup_zone GROUP BY q.zone ORDER BY 1;

-- an aggregated public table
--> answered, 1 measurement
SELECT size, count(*) FROM trips JOIN zones z ON z.zone_id = pickup_zone
JOIN (SELECT borough, count(*) AS size FROM zones GROUP BY borough) AS b ON b.borough = z.borough GROUP BY size ORDER BY size;

-- two public tables first
--> answered, 1 measurement
--> empty 4
SELECT a.borough, b.name, count(*) FROM zones a JOIN (VALUES ('Queens', 'Q'), ('Bronx', 'B')) AS b (borough, name)
ON a.borough = b.borough JOIN trips ON pickup_zone = a.zone_id GROUP BY 1, 2 ORDER BY 1;

-- a query over two public tables
--> answered, 1 measurement
SELECT z.pair, count(*) FROM trips JOIN (SELECT a.zone_id, a.borough || b.n AS pair FROM zones a CROSS JOIN (SELECT 1 AS n) b) z
ON z.zone_id = pickup_zone GROUP BY 1;

-- values of every type
--> answered, 1 measurement
SELECT count(*) FROM rides JOIN (VALUES (1.5, true, date '2019-03-05', NULL, 'x''y\'), (2.5, NULL, NULL, 3, '')) AS v (a, b, c, d, e)
ON v.a > stars AND v.b IS NOT FALSE;

-- a constant in an average
--> answered, 1 measurement
--> within 0.001
SELECT avg(fare * v.factor) FROM trips JOIN (VALUES ('cash', 1.5), ('credit card', 2.0)) AS v (paid, factor) ON paid = payment_type;

-- a unit among constants is no key
--> refused 42501: grouping by
SELECT v.name, count(*) FROM trips JOIN (VALUES (1, 'Ann'), (2, 'Bob')) AS v (id, name) ON v.id = passenger_id GROUP BY v.name;

-- random constants
--> refused 0A000: private rows can be joined with public tables, VALUES
SELECT count(*) FROM trips JOIN (SELECT random() AS x) AS r ON fare > r.x;

-- too many constants
--> refused 0A000: a list has more than 10,000 values
SELECT count(*) FROM trips JOIN generate_series(1, 1000000000) AS n ON n = passenger_count;

-- a lateral function of rows
--> refused 0A000
SELECT count(*) FROM trips JOIN generate_series(1, passenger_count) AS n ON true;

-- groups of two granularities at once, as Malloy nests them: no group that can't be
--> answered, 1 measurement
SELECT n, payment_type, CASE WHEN n = 1 THEN passenger_count > 2 END AS many, count(*) FROM trips
CROSS JOIN generate_series(0, 1) AS g (n) GROUP BY 1, 2, 3;
