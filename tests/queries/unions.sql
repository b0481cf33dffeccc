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
--> refused 42501: grouping by "unit"
SELECT p, count(*) FROM (SELECT passenger_id AS p FROM trips UNION ALL SELECT rider FROM rides) AS t GROUP BY p;

-- units that are in one of two tables, or in both
--> answered, 1 measurement
SELECT count(*) FROM (SELECT passenger_id FROM trips WHERE fare > 10 UNION SELECT rider FROM rides) AS either;

-- and of a third
--> answered, 1 measurement
SELECT count(*) FROM (
  SELECT rider FROM rides WHERE late UNION (SELECT passenger_id FROM trips UNION SELECT rider FROM rides WHERE seats > 2)) AS any_of (p);

-- what each unit has in either table, once
--> answered, 1 measurement
--> within 0.001
WITH paid AS (SELECT passenger_id AS p, passenger_count AS how_many FROM trips UNION SELECT rider, seats FROM rides)
SELECT how_many, count(*) FROM paid GROUP BY how_many;

-- units that are in both
--> answered, 1 measurement
SELECT count(*) FROM (SELECT passenger_id FROM trips WHERE fare > 10 INTERSECT SELECT rider FROM rides) AS both_of;

-- units that are in one and not in the other
--> answered, 1 measurement
WITH gone AS (SELECT passenger_id AS p FROM trips EXCEPT SELECT rider FROM rides WHERE late) SELECT count(*) FROM gone;

-- rows of those that are in either
--> answered, 1 measurement
--> within 0.001
SELECT count(*), avg(fare) FROM trips WHERE passenger_id IN (SELECT rider FROM rides WHERE late UNION SELECT passenger_id FROM trips WHERE payment_type = 'cash');

-- rows of those that are in neither
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE passenger_id NOT IN (SELECT rider FROM rides WHERE late UNION SELECT passenger_id FROM trips WHERE payment_type = 'cash');

-- rows of those that are in both
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE passenger_id IN (SELECT rider FROM rides WHERE late INTERSECT SELECT passenger_id FROM trips WHERE payment_type = 'cash');

-- units once, repeated
--> refused 0A000: EXCEPT of private rows
SELECT count(*) FROM (SELECT passenger_id FROM trips EXCEPT ALL SELECT rider FROM rides) AS t;

-- units and more that are in both
--> refused 0A000: INTERSECT of private rows
SELECT count(*) FROM (SELECT passenger_id, passenger_count FROM trips INTERSECT SELECT rider, seats FROM rides) AS t;

-- some units of two tables
--> refused 42501: LIMIT on private rows
SELECT count(*) FROM (SELECT passenger_id FROM trips UNION SELECT rider FROM rides LIMIT 3) AS t;

-- the units of two tables, as rows
--> refused 0A000: UNION of private rows
SELECT passenger_id FROM trips UNION SELECT rider FROM rides;

-- a unit beside what is none
--> refused 0A000: UNION of private rows
SELECT count(*) FROM (SELECT passenger_id FROM trips UNION SELECT seats FROM rides) AS t;

-- units of another kind
--> refused 42501: must group by "passenger_id", which your role protects
SELECT count(*) FROM (SELECT driver_id FROM trips UNION SELECT driver_id FROM trips WHERE tip > 1) AS t;

-- rows without repetition
--> refused 55000
SELECT count(*) FROM (SELECT fare FROM trips UNION SELECT fare FROM rides) AS t;

-- values of either
--> answered, free
SELECT payment_type FROM trips UNION SELECT paid FROM rides;

-- values of one, and not of the other, where all that are declared are listed
--> refused 0A000: EXCEPT of a list that has every declared value
SELECT zone_id FROM zones EXCEPT (SELECT from_zone FROM rides WHERE from_zone < 3) ORDER BY 1;

-- such a list by the name of a CTE, in a condition
--> refused 0A000: EXCEPT of a list that has every declared value
WITH used AS (SELECT DISTINCT from_zone AS z FROM rides) SELECT count(*) FROM trips WHERE pickup_zone IN (SELECT zone_id FROM zones EXCEPT SELECT z FROM used WHERE z > 1);

-- values of both
--> refused 0A000: INTERSECT of a list that has every declared value
SELECT payment_type FROM trips INTERSECT SELECT paid FROM rides;

-- values of one that are many, and not of the other
--> answered, 1 measurement
SELECT zone_id FROM zones EXCEPT SELECT from_zone FROM rides GROUP BY 1 HAVING count(*) > 0 ORDER BY 1;

-- such values in a condition
--> answered, 2 measurements
SELECT count(*) FROM trips WHERE pickup_zone IN (SELECT zone_id FROM zones EXCEPT SELECT from_zone FROM rides GROUP BY 1 HAVING count(*) > 0);

-- the number of what is listed
--> answered, free
SELECT 4 EXCEPT SELECT count(*) FROM (SELECT DISTINCT payment_type FROM trips) AS t;

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
