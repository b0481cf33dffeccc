-- having
--> answered, 1 measurement
SELECT pickup_zone, count(*) AS n FROM trips GROUP BY pickup_zone HAVING count(*) > 1200 ORDER BY 1;

-- having what is not shown
--> answered, 1 measurement
SELECT pickup_zone FROM trips GROUP BY pickup_zone HAVING sum(passenger_count) > 3600 AND pickup_zone <> 4 ORDER BY 1;

-- the first
--> answered, 1 measurement
--> within 0.001
SELECT pickup_zone, sum(total) AS s FROM trips GROUP BY pickup_zone ORDER BY s DESC LIMIT 3;

-- all but the first
--> answered, 1 measurement
SELECT payment_type, count(*) AS n FROM trips GROUP BY 1 ORDER BY 2 LIMIT 10 OFFSET 2;

-- in an order that is not shown
--> answered, 1 measurement
SELECT payment_type FROM trips GROUP BY 1 ORDER BY count(*) DESC, upper(payment_type);

-- NULL first
--> answered, 1 measurement
SELECT payment_type, count(*) FROM trips GROUP BY 1 ORDER BY 1 NULLS FIRST;

-- arithmetic
--> answered, 1 measurement
--> within 0.001
SELECT payment_type, (sum(fare) + sum(tip)) / count(*) AS mean, 100 * sum(tip) / sum(fare) AS percent FROM trips
GROUP BY payment_type ORDER BY payment_type;

-- casts
--> answered, 1 measurement
--> within 0.001
SELECT count(*)::numeric(12, 2) AS n, avg(fare)::real AS f, sum(passenger_count)::text AS s FROM trips;

-- conditions
--> answered, 1 measurement
SELECT pickup_zone, CASE WHEN count(*) > 1200 THEN 'busy' ELSE 'quiet' END AS how FROM trips GROUP BY 1 ORDER BY 1;

-- distinct answers
--> answered, 1 measurement
SELECT DISTINCT count(*) > 1000 AS many FROM trips GROUP BY pickup_zone;

-- text made of answers
--> answered, 1 measurement
SELECT payment_type || ': ' || count(*) AS line FROM trips GROUP BY payment_type ORDER BY 1;

-- functions that the private side does not know
--> answered, 1 measurement
SELECT to_char(count(*), 'FM999,999') AS n, md5(count(*)::text) AS h, json_build_object('n', count(*)) ->> 'n' AS j FROM trips;

-- into a cursor
--> answered, 1 measurement
--> unlike a query, DECLARE returns nothing
DECLARE c CURSOR WITH HOLD FOR SELECT payment_type, count(*) FROM trips GROUP BY 1;

-- locking
--> postgres 0A000: FOR UPDATE is not allowed with aggregate functions
SELECT count(*) FROM trips FOR UPDATE;

-- what is not understood stands around an answer
--> answered, 1 measurement
--> unlike
SELECT json_object('trips' : n, 'interval' : interval '@ 1 day ago') FROM (SELECT count(*) AS n FROM trips) AS t;

-- answers among values
--> answered, 2 measurements
--> unlike
VALUES ('trips', (SELECT count(*) FROM trips)), ('long', (SELECT count(*) FROM trips WHERE fare > 20));

-- an answer in a CTE, under a query that is not understood
--> answered, 1 measurement
--> unlike
WITH long AS (SELECT * FROM trips WHERE fare > 20), paid AS (SELECT payment_type, count(*) AS n FROM long GROUP BY 1)
SELECT json_objectagg(payment_type : n) FROM paid WHERE payment_type IS NOT NULL;

-- what is not understood among private rows
--> refused 0A000: JSON_OBJECT is not understood
SELECT json_object('trips' : count(*)) FROM trips;

-- private rows around an answer that is understood
--> refused 0A000: JSON_OBJECT is not understood
SELECT json_object('trips' : (SELECT count(*) FROM trips)) FROM trips;

-- quotients by nothing
--> answered, 1 measurement
--> empty 5
SELECT pickup_zone, sum(tip) / count(*) AS mean, ln(count(*)) AS log FROM trips
WHERE fare > 149.123 AND fare < 149.124 GROUP BY 1;

-- a series as long as an answer
--> answered, 1 measurement
SELECT sum(m) AS s FROM generate_series(1, (SELECT count(*) FROM trips WHERE fare > 20)) AS m;

-- groups beside the average of all groups
--> answered, 1 measurement
SELECT payment_type, count(*) FROM trips GROUP BY payment_type
HAVING count(*) > (SELECT avg(n) FROM (SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type) AS t);

-- a look into another answer's groups by a key of this one
--> answered, 1 measurement
SELECT o.payment_type, count(*), (SELECT max(n) FROM (SELECT payment_type AS p, count(*) AS n FROM trips
  GROUP BY 1 ORDER BY n) AS q WHERE q.p = o.payment_type) AS again FROM trips AS o GROUP BY o.payment_type;

-- a CTE inside such a query
--> answered, 1 measurement
SELECT payment_type AS p, (WITH q AS (SELECT payment_type AS g, count(*) AS n FROM trips GROUP BY 1)
  SELECT sum(n) FROM q WHERE g = payment_type) AS n FROM trips GROUP BY payment_type;
