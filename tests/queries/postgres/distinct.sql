-- people
SELECT (count(*))::text FROM (SELECT DISTINCT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."fare"::float8 <= 'Infinity'::float8 AND ((s0."fare"::float8 > 100) AND (NOT (s0."passenger_id" IS NULL)))) AS r;

-- people in groups
WITH r AS MATERIALIZED (SELECT DISTINCT s0."passenger_id" AS u, (CASE WHEN s0."passenger_count" BETWEEN 0 AND 6 THEN s0."passenger_count" WHEN s0."passenger_count" > 6 THEN 6 WHEN s0."passenger_count" < 0 THEN 0 END) AS k0 FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."passenger_count" IS NOT NULL AND (NOT (s0."passenger_id" IS NULL))), h AS MATERIALIZED (SELECT u AS hu, CAST(458752 / greatest(count(*), 7) AS BIGINT) AS w FROM r GROUP BY 1) SELECT CAST(k0 AS BIGINT), (sum(w))::text FROM r JOIN h ON u = hu GROUP BY k0;

-- beside rows
WITH p AS MATERIALIZED (SELECT u, count(*) AS n, CAST(count(*) AS BIGINT) AS s0 FROM (SELECT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL) AS r GROUP BY u), h AS MATERIALIZED (SELECT u AS hu, CAST(1310720 / greatest(CAST(sum(n) AS BIGINT), 20) AS BIGINT) AS w FROM p GROUP BY 1) SELECT (sum(w * s0))::text FROM p JOIN h ON u = hu;

-- beside rows
SELECT (count(*))::text FROM (SELECT DISTINCT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND (NOT (s0."passenger_id" IS NULL))) AS r;

-- values
SELECT (count(DISTINCT x))::text FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, x)), x) AS place FROM (SELECT DISTINCT s0."passenger_id" AS u, (CASE WHEN (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") IN ('cash', 'credit card') THEN (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") END) AS x FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."passenger_count" IS NOT NULL AND (NOT ((CASE WHEN (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") IN ('cash', 'credit card') THEN (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") END) IS NULL))) AS r) AS ranked WHERE place <= 20) AS r;

-- values
SELECT (count(DISTINCT x))::text FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, x)), x) AS place FROM (SELECT DISTINCT s0."passenger_id" AS u, (CASE WHEN s0."passenger_count" BETWEEN 0 AND 6 THEN s0."passenger_count" WHEN s0."passenger_count" > 6 THEN 6 WHEN s0."passenger_count" < 0 THEN 0 END) AS x FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."passenger_count" IS NOT NULL AND (NOT ((CASE WHEN s0."passenger_count" BETWEEN 0 AND 6 THEN s0."passenger_count" WHEN s0."passenger_count" > 6 THEN 6 WHEN s0."passenger_count" < 0 THEN 0 END) IS NULL))) AS r) AS ranked WHERE place <= 20) AS r;

-- people of another kind
SELECT (count(*))::text FROM (SELECT DISTINCT (CAST(s0."driver" AS VARCHAR) COLLATE "C") AS u FROM "rides" AS s0 WHERE (CAST(s0."driver" AS VARCHAR) COLLATE "C") IS NOT NULL AND (NOT ((CAST(s0."driver" AS VARCHAR) COLLATE "C") IS NULL))) AS r;

-- of nothing
SELECT (count(DISTINCT x))::text FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, x)), x) AS place FROM (SELECT DISTINCT s0."rider" AS u, (NULL)::integer AS x FROM "rides" AS s0 WHERE s0."rider" IS NOT NULL AND FALSE) AS r) AS ranked WHERE place <= 20) AS r;
