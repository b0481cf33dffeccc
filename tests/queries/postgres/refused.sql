-- what is no column probe
WITH p AS MATERIALIZED (SELECT u, count(*) AS n, CAST(count(*) AS BIGINT) AS s0 FROM (SELECT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL) AS r GROUP BY u), h AS MATERIALIZED (SELECT u AS hu, CAST(1310720 / greatest(CAST(sum(n) AS BIGINT), 20) AS BIGINT) AS w FROM p GROUP BY 1) SELECT (sum(w * s0))::text FROM p JOIN h ON u = hu;
