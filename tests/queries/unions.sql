-- rows of two tables
--> answered, 1 measurement
--> within 0.001
SELECT count(*), avg(money), sum(money) FROM (SELECT total AS money FROM trips UNION ALL SELECT price FROM rides) AS t;

-- which table a row is of
--> answered, 1 measurement
SELECT what, count(*), sum(n) FROM (
  SELECT 'trip' AS what, passenger_id AS p, passenger_count AS n FROM trips UNION ALL SELECT 'ride', rider, seats FROM rides) AS t GROUP BY what;

-- units of two tables
--> answered, 2 measurements
SELECT count(DISTINCT p), count(*) FROM (SELECT passenger_id AS p FROM trips WHERE total > 10 UNION ALL SELECT rider FROM rides) AS t;

-- a CTE of three
--> answered, 1 measurement
--> within 0.001
WITH every AS (SELECT passenger_count AS n FROM trips UNION ALL (SELECT seats FROM rides UNION ALL SELECT seats + 1 FROM rides))
SELECT n, count(*) FROM every WHERE n > 1 GROUP BY n;

-- rows of each unit in two tables
--> answered, 1 measurement
--> within 0.001
SELECT avg(n) FROM (SELECT p, count(*) AS n FROM (SELECT passenger_id AS p FROM trips UNION ALL SELECT rider FROM rides) AS t GROUP BY p) AS u;

-- a column that one has not
--> answered, 1 measurement
--> within 0.001
SELECT count(age), avg(age), count(*) FROM (SELECT age FROM rides UNION ALL SELECT NULL FROM trips) AS t;

-- columns that nobody reads
--> answered, 1 measurement
SELECT count(*) FROM (SELECT * FROM rides UNION ALL SELECT * FROM rides WHERE late) AS t;

-- the units of a union
--> refused 42501: grouping by the privacy unit "unit"
SELECT p, count(*) FROM (SELECT passenger_id AS p FROM trips UNION ALL SELECT rider FROM rides) AS t GROUP BY p;

-- rows without repetition
--> refused 0A000: UNION of private rows
SELECT count(*) FROM (SELECT fare FROM trips UNION SELECT fare FROM rides) AS t;

-- rows that are in both
--> refused 0A000: INTERSECT of private rows
SELECT count(*) FROM (SELECT fare FROM trips INTERSECT ALL SELECT fare FROM rides) AS t;

-- some rows of a union
--> refused 42501: LIMIT on private rows
SELECT count(*) FROM ((SELECT fare FROM trips UNION ALL SELECT fare FROM rides) LIMIT 10) AS t;

-- columns of one name
--> refused 0A000: a name of its own
SELECT count(*) FROM (SELECT fare, fare FROM trips UNION ALL SELECT fare, tip FROM rides) AS t;

-- private rows below public ones
--> refused 0A000: UNION of private rows
SELECT count(*) FROM (SELECT fare FROM trips UNION ALL SELECT zone_id FROM zones) AS t;

-- a union of rows
--> refused 0A000: UNION of private rows
SELECT fare FROM trips UNION ALL SELECT fare FROM rides;
