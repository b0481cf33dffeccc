-- people
SELECT CAST(count(*) AS VARCHAR) FROM (SELECT DISTINCT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND CAST(s0."fare" AS DOUBLE) <= CAST('Infinity' AS DOUBLE) AND ((CAST(s0."fare" AS DOUBLE) > 100) AND (NOT (s0."passenger_id" IS NULL)))) AS r;

-- people in groups
WITH r AS MATERIALIZED (SELECT DISTINCT s0."passenger_id" AS u, TRY_CAST((CASE WHEN s0."passenger_count" BETWEEN 0 AND 6 THEN s0."passenger_count" WHEN s0."passenger_count" > 6 THEN 6 WHEN s0."passenger_count" < 0 THEN 0 END) AS UTINYINT) AS k0 FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."passenger_count" IS NOT NULL AND (NOT (s0."passenger_id" IS NULL))), h AS MATERIALIZED (SELECT u AS hu, CAST(458752 // greatest(count(*), 7) AS INTEGER) AS w FROM r GROUP BY 1) SELECT CAST(k0 AS BIGINT), CAST(sum(w) AS VARCHAR) FROM r JOIN h ON u = hu GROUP BY k0;

-- beside rows
WITH h AS MATERIALIZED (SELECT s0."passenger_id" AS hu, CAST(1310720 // greatest(count(*), 20) AS INTEGER) AS w FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL GROUP BY 1) SELECT CAST(sum(w) AS VARCHAR) FROM (SELECT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL) AS r JOIN h ON u = hu;

-- beside rows
SELECT CAST(count(*) AS VARCHAR) FROM (SELECT DISTINCT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND (NOT (s0."passenger_id" IS NULL))) AS r;

-- values
SELECT CAST(count(DISTINCT x) AS VARCHAR) FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, x)), x) AS place FROM (SELECT DISTINCT s0."passenger_id" AS u, (CASE WHEN (CASE (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") WHEN 'cash' THEN TRUE WHEN 'credit card' THEN TRUE ELSE FALSE END) THEN (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") END) AS x FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."passenger_count" IS NOT NULL AND (NOT ((CASE WHEN (CASE (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") WHEN 'cash' THEN TRUE WHEN 'credit card' THEN TRUE ELSE FALSE END) THEN (CAST(s0."payment_type" AS VARCHAR) COLLATE "C") END) IS NULL))) AS r) AS ranked WHERE place <= 20) AS r;

-- values
SELECT CAST(count(DISTINCT x) AS VARCHAR) FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, x)), x) AS place FROM (SELECT DISTINCT s0."passenger_id" AS u, (CASE WHEN s0."passenger_count" BETWEEN 0 AND 6 THEN s0."passenger_count" WHEN s0."passenger_count" > 6 THEN 6 WHEN s0."passenger_count" < 0 THEN 0 END) AS x FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."passenger_count" IS NOT NULL AND (NOT ((CASE WHEN s0."passenger_count" BETWEEN 0 AND 6 THEN s0."passenger_count" WHEN s0."passenger_count" > 6 THEN 6 WHEN s0."passenger_count" < 0 THEN 0 END) IS NULL))) AS r) AS ranked WHERE place <= 20) AS r;

-- people of another kind
SELECT CAST(count(*) AS VARCHAR) FROM (SELECT DISTINCT (CAST(s0."driver" AS VARCHAR) COLLATE "C") AS u FROM "rides" AS s0 WHERE (CAST(s0."driver" AS VARCHAR) COLLATE "C") IS NOT NULL AND (NOT ((CAST(s0."driver" AS VARCHAR) COLLATE "C") IS NULL))) AS r;

-- of nothing
SELECT CAST(count(DISTINCT x) AS VARCHAR) FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, x)), x) AS place FROM (SELECT DISTINCT s0."rider" AS u, CAST(NULL AS INTEGER) AS x FROM "rides" AS s0 WHERE s0."rider" IS NOT NULL AND FALSE) AS r) AS ranked WHERE place <= 20) AS r;
