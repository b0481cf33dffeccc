-- units that have enough rows
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE rider IN (SELECT rider FROM rides GROUP BY rider HAVING count(*) > 3);

-- units that have not
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE rider NOT IN (SELECT rider FROM rides WHERE rider IS NOT NULL GROUP BY rider HAVING count(*) > 3);

-- units that have enough rows, by EXISTS
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider GROUP BY s.rider HAVING sum(s.tip) > 20);

-- more than the unit's own average
--> answered, 1 measurement
SELECT paid, count(*) FROM rides r WHERE fare > (SELECT avg(fare) FROM rides s WHERE s.rider = r.rider) GROUP BY paid;

-- how far from the unit's own average
--> answered, 1 measurement
--> within 0.001
SELECT avg(fare - (SELECT min(fare) FROM rides s WHERE s.rider = r.rider)) FROM rides r WHERE fare > 0;

-- by how many rows the unit has of another kind
--> answered, 1 measurement
SELECT (SELECT count(*) FROM rides s WHERE r.rider = s.rider AND s.late) AS n, count(*) FROM rides r GROUP BY 1 HAVING count(*) > 0;

-- EXISTS under OR
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE shared OR EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider AND s.tip > 25);

-- IN under NOT
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE NOT (shared AND rider IN (SELECT rider FROM rides WHERE tip > 25));

-- EXISTS in what is counted
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider AND s.tip > 25)), count(*) FROM rides r;

-- EXISTS of public rows under OR
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE shared OR NOT EXISTS (SELECT 1 FROM zones z WHERE r.from_zone = z.zone_id AND z.borough = 'Queens');

-- a look into a public table by its key
--> answered, 1 measurement
--> empty 1 group
SELECT (SELECT z.borough FROM zones z WHERE z.zone_id = r.from_zone) AS borough, avg(fare) FROM rides r GROUP BY 1;

-- a look by the key of a table whose name a CTE has, too
--> answered, 1 measurement
--> empty 1 group
WITH zones AS (SELECT * FROM public.zones) SELECT (SELECT z.borough FROM zones z WHERE z.zone_id = r.from_zone) AS borough, avg(fare) FROM rides r GROUP BY 1;

-- a look in a condition, below
--> answered, 1 measurement
SELECT b, count(*) FROM (SELECT fare AS f, (SELECT borough FROM zones WHERE zone_id = to_zone) AS b FROM rides) AS t WHERE f > 5 GROUP BY b;

-- an answer by a key, which is another stage
--> answered, 2 measurements
--> like SELECT count(*) FROM rides JOIN (SELECT from_zone, avg(fare) AS a FROM rides GROUP BY 1) s USING (from_zone), zones WHERE zone_id = from_zone AND fare > a
SELECT count(*) FROM rides r, zones z WHERE z.zone_id = r.from_zone AND fare > (SELECT avg(fare) FROM rides s WHERE s.from_zone = r.from_zone);

-- the table's own name is taken
--> answered, 1 measurement
SELECT count(*) FROM rides AS _c0 WHERE shared OR EXISTS (SELECT 1 FROM rides s WHERE s.rider = _c0.rider AND s.tip > 25);

-- an aggregate is there even of no rows
--> refused 0A000
SELECT count(*) FROM rides r WHERE shared OR EXISTS (SELECT count(*) FROM rides s WHERE s.rider = r.rider AND s.tip > 25);

-- HAVING of no rows
--> refused 0A000
SELECT count(*) FROM rides r WHERE shared OR EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider HAVING count(*) = 0);

-- rows of others
--> refused 42501: rows of a protected table can't be read by a subquery
SELECT count(*) FROM rides r WHERE shared OR EXISTS (SELECT 1 FROM rides s WHERE s.from_zone = r.from_zone);

-- units by what is none
--> refused 0A000: must be on the privacy unit
SELECT count(*) FROM rides r WHERE shared OR seats IN (SELECT rider FROM rides);

-- units that the role does not protect
--> refused 42501: must group by "rider"
SELECT count(*) FROM rides r WHERE shared OR driver IN (SELECT driver FROM rides WHERE fare > 60);

-- a value of several rows
--> refused 42501: rows of a protected table can't be read by a subquery
SELECT count(*) FROM rides r WHERE fare > (SELECT fare FROM rides s WHERE s.rider = r.rider);

-- a look by what is no key
--> refused 0A000: a subquery among private rows is the same for all of them
SELECT count(*) FROM rides r WHERE 'Queens' = (SELECT z.borough FROM zones z WHERE z.zone_id + 1 = r.from_zone);

-- a multiple of what the group has
--> answered, 2 measurements
--> like SELECT paid, count(*) FROM rides JOIN (SELECT shared, avg(seats) AS a FROM rides GROUP BY 1) s USING (shared) WHERE seats < 1.5 * a GROUP BY paid
SELECT paid, count(*) FROM rides r WHERE seats < 1.5 * (SELECT avg(seats) FROM rides s WHERE s.shared = r.shared) GROUP BY paid;

-- what stands for a row that is not there
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE coalesce((SELECT zone FROM zones z WHERE z.zone_id = r.to_zone), 'none') = 'none';

-- arithmetic with a count of the same key, also of none
--> answered, 2 measurements
SELECT count(*) FROM rides r WHERE seats + 3 > (SELECT count(*) - 1000.5 FROM rides s WHERE s.paid = r.paid AND s.late);

-- the first rows of each unit, by a list of pairs
--> answered, 1 measurement
--> within 0.001
SELECT paid, count(*), avg(fare) FROM rides WHERE (rider, day) IN (SELECT rider, min(day) FROM rides GROUP BY rider) GROUP BY paid;

-- rows that are not the last of each unit, or late
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE late OR NOT ((day, r.rider) IN (SELECT max(s.day) - 0, s.rider FROM rides s WHERE s.age > 20
  GROUP BY s.rider HAVING count(*) > 2));

-- units with enough rows beside a LEFT JOIN
--> answered, 1 measurement
SELECT count(*), count(p.n) FROM rides r LEFT JOIN (SELECT rider, count(*) AS n FROM rides WHERE late GROUP BY rider) AS p
  ON p.rider = r.rider WHERE r.rider IN (SELECT rider FROM rides GROUP BY rider HAVING count(*) > 3);

-- a list of pairs of what many share
--> refused 0A000: is not supported over private rows
SELECT count(*) FROM rides WHERE (paid, day) IN (SELECT paid, min(day) FROM rides GROUP BY paid);

-- one value of the first of the unit's rows
--> answered, 1 measurement
--> within 0.001
SELECT count(*), sum((SELECT s.age FROM rides s WHERE s.rider = r.rider AND s.age >= 0 ORDER BY s.age LIMIT 1)) FROM rides r WHERE r.age < 90;

-- one value of the first of the unit's rows, beside arithmetic in a condition
--> answered, 1 measurement
SELECT count(*) FROM rides r, (VALUES (1), (2)) AS v (x) WHERE fare > 2 * (SELECT s.fare FROM rides s WHERE s.rider = r.rider ORDER BY s.fare LIMIT 1) AND x > 1;

-- one value of the first row of others
--> refused 42501: PARTITION BY the privacy unit
SELECT sum((SELECT s.age FROM rides s WHERE s.from_zone = r.from_zone ORDER BY s.age LIMIT 1)) FROM rides r;

-- grouped by what is equal, as Django writes it: of units
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE (SELECT sum(s.tip) FROM rides s WHERE s.rider = r.rider GROUP BY s.rider) > 20;

-- grouped by what is equal, as Django writes it: beside public rows
--> answered, 1 measurement
SELECT z.zone_id, (SELECT count(*) FROM trips t WHERE t.pickup_zone = z.zone_id GROUP BY t.pickup_zone) AS n FROM zones z ORDER BY 1;
