-- what is no column probe
WITH h AS MATERIALIZED (SELECT s0."passenger_id" AS hu, CAST(1310720 // greatest(count(*), 20) AS INTEGER) AS w FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL GROUP BY 1) SELECT CAST(sum(w) AS VARCHAR) FROM (SELECT s0."passenger_id" AS u FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL) AS r JOIN h ON u = hu;
