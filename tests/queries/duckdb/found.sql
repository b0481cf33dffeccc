-- keys that are not declared, where they are frequent enough
SELECT k0, CAST(count(*) AS VARCHAR) FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, k0)), k0) AS place FROM (SELECT s0."rider" AS u, (CAST(s0."note" AS VARCHAR) COLLATE "C") AS k0 FROM "rides" AS s0 WHERE s0."rider" IS NOT NULL AND (CAST(s0."note" AS VARCHAR) COLLATE "C") IS NOT NULL) AS r) AS ranked WHERE place <= 20) AS r GROUP BY k0;

-- beside declared ones
SELECT k0, CAST(CAST(k1 AS INTEGER) AS BIGINT), CAST(count(*) AS VARCHAR), CAST(sum(f0) AS VARCHAR) FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, k0, k1, f0)), k0, k1, f0) AS place FROM (SELECT s0."rider" AS u, (CAST(s0."note" AS VARCHAR) COLLATE "C") AS k0, s0."shared" AS k1, (CASE WHEN s0."seats" > (0) AND s0."seats" < (6) THEN CAST((CAST(s0."seats" AS BIGINT)) * 342 AS INTEGER) WHEN s0."seats" >= (6) THEN 2052 WHEN s0."seats" IS NOT NULL THEN 0 END) AS f0 FROM "rides" AS s0 WHERE s0."rider" IS NOT NULL AND (CAST(s0."note" AS VARCHAR) COLLATE "C") IS NOT NULL AND s0."shared" IS NOT NULL AND s0."seats" IS NOT NULL) AS r) AS ranked WHERE place <= 20) AS r GROUP BY k0, k1;

-- none is frequent enough
SELECT CAST(k0 AS BIGINT), CAST(count(*) AS VARCHAR) FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY md5(concat_ws('|', u, k0)), k0) AS place FROM (SELECT s0."rider" AS u, s0."number" AS k0 FROM "rides" AS s0 WHERE s0."rider" IS NOT NULL AND s0."number" IS NOT NULL) AS r) AS ranked WHERE place <= 20) AS r GROUP BY k0;
