-- Superset: a query of the lab
--> answered, 1 measurement
--> within 0.001
SELECT
  payment_type,
  COUNT(*) AS n,
  AVG(fare)
FROM trips
GROUP BY
  payment_type
ORDER BY
  n DESC
LIMIT 1001;

-- Superset: columns of a virtual dataset
--> empty
SELECT
  pickup_zone,
  payment_type,
  fare,
  pickup_ts
FROM trips
WHERE
  fare > 5
LIMIT 1;

-- Superset: a big number
--> answered, 1 measurement
SELECT
  COUNT(*) AS count
FROM public.trips
LIMIT 50000;

-- Superset: bars
--> answered, 1 measurement
--> within 0.001
SELECT
  payment_type AS payment_type,
  COUNT(*) AS count,
  AVG(fare) AS "AVG(fare)",
  SUM(tip) AS "SUM(tip)"
FROM public.trips
GROUP BY
  payment_type
ORDER BY
  count DESC
LIMIT 1000;

-- Superset: quarters of an hour
--> answered, 1 measurement
SELECT
  DATE_TRUNC('HOUR', pickup_ts) + INTERVAL '15 MINUTES' * FLOOR(EXTRACT(MINUTE FROM pickup_ts) / 15) AS pickup_ts,
  COUNT(*) AS count
FROM public.trips
GROUP BY
  DATE_TRUNC('HOUR', pickup_ts) + INTERVAL '15 MINUTES' * FLOOR(EXTRACT(MINUTE FROM pickup_ts) / 15)
LIMIT 5000;

-- Superset: a pivot with everything
--> refused 0A000: needs a column whose
SELECT
  payment_type AS payment_type,
  pickup_zone AS pickup_zone,
  COUNT(*) AS count,
  MAX(fare) AS "MAX(fare)",
  MIN(tip) AS "MIN(tip)",
  COUNT(DISTINCT driver_id) AS "COUNT_DISTINCT(driver_id)"
FROM public.trips
WHERE
  passenger_count IN (1, 2)
  AND fare > 5
  AND NOT payment_type IS NULL
  AND trip_id::text ILIKE '%Z%'
  AND (
    (
      tip >= 0
    )
  )
GROUP BY
  payment_type,
  pickup_zone
HAVING
  (
    (
      COUNT(*) > 10
    )
  )
ORDER BY
  count DESC
LIMIT 50000;

-- Superset: metrics and columns of one's own
--> answered, 1 measurement
--> within 0.001
SELECT
  CASE WHEN fare > 20 THEN 'hi' ELSE 'lo' END AS band,
  SUM(fare) / COUNT(*) AS avg_fare,
  COUNT(*) FILTER(WHERE
    payment_type = 'cash') AS cash
FROM public.trips
GROUP BY
  CASE WHEN fare > 20 THEN 'hi' ELSE 'lo' END
LIMIT 100;

-- Superset: a virtual dataset
--> answered, 1 measurement
SELECT
  pickup_zone AS pickup_zone,
  COUNT(*) AS count
FROM (
  SELECT
    pickup_zone,
    payment_type,
    fare,
    pickup_ts
  FROM trips
  WHERE
    fare > 5
) AS virtual_table
GROUP BY
  pickup_zone
LIMIT 100;

-- Superset: values for a filter
--> answered, free
SELECT
  payment_type AS payment_type
FROM public.trips
GROUP BY
  payment_type
ORDER BY
  payment_type ASC
LIMIT 1000;

-- Superset: the number of rows
--> answered, free
SELECT
  COUNT(*) AS rowcount
FROM (
  SELECT
    payment_type AS payment_type,
    COUNT(*) AS count
  FROM public.trips
  GROUP BY
    payment_type
  LIMIT 100
) AS rowcount_qry;

-- Superset: a range of numbers
--> answered, 2 measurements
--> within 0.1
SELECT
  MIN(fare) AS min,
  MAX(fare) AS max
FROM public.trips
LIMIT 50000;

-- Superset: a range of times
--> answered, 2 measurements
--> within 0.01
SELECT
  MIN(pickup_ts) AS "MIN(pickup_ts)",
  MAX(pickup_ts) AS "MAX(pickup_ts)"
FROM public.trips
LIMIT 50000;

-- Superset: a histogram of the values themselves
--> refused 55000: there are too many values
SELECT
  fare AS fare
FROM public.trips
GROUP BY
  fare
LIMIT 10000;

-- Superset: samples
--> refused 42501
SELECT
  trip_id AS trip_id,
  driver_id AS driver_id,
  fare AS fare
FROM public.trips
LIMIT 1000;

-- Superset: a page of totals
--> answered, 1 measurement
--> unlike in a table, the order is not said
SELECT
  payment_type AS payment_type,
  COUNT(*) AS count
FROM public.trips
GROUP BY
  payment_type
LIMIT 10
OFFSET 2;

-- Superset: values of a column
--> answered, free
SELECT DISTINCT payment_type AS column_values 
FROM public.trips 
 LIMIT 10000;

-- Superset: a line by day
--> answered, 1 measurement
SELECT
  DATE_TRUNC('DAY', pickup_ts) AS __timestamp,
  DATE_TRUNC('DAY', pickup_ts) AS pickup_ts,
  COUNT(*) AS count
FROM public.trips
WHERE
  pickup_ts >= TO_TIMESTAMP('2019-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  AND pickup_ts < TO_TIMESTAMP('2019-03-08 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY
  DATE_TRUNC('DAY', pickup_ts),
  DATE_TRUNC('DAY', pickup_ts)
ORDER BY
  __timestamp DESC
LIMIT 10000;

-- Superset: a line with the largest series only
--> answered, 2 measurements
--> unlike PostgreSQL shows no days without rows
SELECT
  DATE_TRUNC('DAY', pickup_ts) AS __timestamp,
  pickup_zone AS pickup_zone,
  SUM(fare) AS "SUM(fare)"
FROM public.trips
JOIN (
  SELECT
    pickup_zone AS pickup_zone__,
    SUM(fare) AS mme_inner__
  FROM public.trips
  GROUP BY
    pickup_zone
  ORDER BY
    SUM(fare) DESC
  LIMIT 3
) AS series_limit
  ON pickup_zone = pickup_zone__
GROUP BY
  DATE_TRUNC('DAY', pickup_ts),
  pickup_zone
LIMIT 1000;

-- Superset: what it would cost
--> answered, free
--> unlike PostgreSQL, dpsql explains its own plan
EXPLAIN select count(*) from trips;

-- ibis
--> answered, 1 measurement
--> within 0.001
SELECT "t0"."payment_type", COUNT(*) AS "n", AVG("t0"."fare") AS "m" FROM "trips" AS "t0" GROUP BY 1;

-- ibis: a filter
--> answered, 1 measurement
--> within 0.001
SELECT SUM("t1"."fare") AS "Sum(fare)" FROM (SELECT * FROM "trips" AS "t0" WHERE "t0"."passenger_count" > 2) AS "t1";

-- ibis: days
--> answered, 1 measurement
SELECT "t1"."d", COUNT(*) AS "n" FROM (SELECT DATE_TRUNC('DAY', "t0"."pickup_ts") AS "d" FROM "trips" AS "t0") AS "t1" GROUP BY 1;

-- dbt
--> answered, 1 measurement
--> within 0.001
select payment_type, count(*) n, avg(fare) f from "taxi"."public"."trips" group by 1
  limit 5;

-- connectorx: how many rows will come
--> answered, free
SELECT count(*) FROM (SELECT payment_type, count(*) AS n, avg(fare) AS f FROM trips GROUP BY payment_type) AS CXTMPTAB_COUNT;

-- evidence: how many rows will come
--> answered, free
WITH root as (select payment_type, count(*) n from trips group by 1
) SELECT COUNT(*) as rows FROM root;

-- cube
--> answered, 1 measurement
SELECT "trips".payment_type "trips__payment_type", count("trips".trip_id) "trips__count" FROM public.trips AS "trips" WHERE ("trips".pickup_ts >= '2019-03-01T00:00:00.000Z'::timestamptz AND "trips".pickup_ts <= '2019-03-20T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- knex
--> answered, 1 measurement
--> within 0.001
select "payment_type", count(*) as "n", avg("fare") as "f" from "trips" where "passenger_count" > 2 group by "payment_type" order by "n" desc limit 10;

-- SQLAlchemy
--> answered, 1 measurement
--> within 0.001
SELECT trips.payment_type, count(*) AS count_1, sum(trips.fare) AS sum_1 
FROM trips 
WHERE trips.passenger_count > 2 GROUP BY trips.payment_type 
 LIMIT 10;

-- comments before it
--> answered, 1 measurement
/* app: a chart */ -- of something
SELECT count(*) /* rows */ FROM trips -- the table
;
