-- whether rows exist
--> answered, 1 measurement
SELECT EXISTS (SELECT 1 FROM trips WHERE fare > 100);

-- whether none do, in other words
--> answered, 1 measurement
SELECT NOT EXISTS (SELECT t.fare FROM trips AS t WHERE t.fare > 149 ORDER BY t.tip LIMIT 1) AS none;

-- one row of constants, where there is any
--> answered, 1 measurement
SELECT 1 AS a FROM trips WHERE fare > 149 ORDER BY tip LIMIT 1;

-- rows of a subquery, and of a join with public ones
--> answered, 2 measurements
SELECT EXISTS (SELECT FROM (SELECT fare AS f FROM trips) AS t WHERE f > 100), EXISTS (SELECT DISTINCT 1 FROM trips JOIN zones ON zone_id = pickup_zone WHERE borough = 'Queens');

-- of public rows, those that have some
--> answered, 1 measurement
SELECT zone_id, EXISTS (SELECT 1 FROM trips WHERE pickup_zone = zone_id AND fare > 100) FROM zones ORDER BY 1;

-- in a condition on public rows
--> answered, 1 measurement
SELECT zone_id FROM zones AS z WHERE NOT EXISTS (SELECT 1 FROM trips AS t WHERE t.pickup_zone = z.zone_id) ORDER BY 1;

-- in such a condition, as Prisma writes it
--> answered, 1 measurement
SELECT zone_id FROM zones WHERE EXISTS (SELECT t0.pickup_zone FROM trips AS t0 WHERE (t0.fare > 100 AND (zones.zone_id) = (t0.pickup_zone))) ORDER BY 1;

-- in a condition on private ones, as a value that is released first
--> answered, 2 measurements
SELECT count(*) FROM trips WHERE fare > 20 OR EXISTS (SELECT 1 FROM rides WHERE age > 99);

-- ones and zeros
--> answered, 1 measurement
SELECT max(CASE WHEN fare > 100 THEN 1 ELSE 0 END), min((fare > 100)::int), bool_or(fare > 100), max(CASE WHEN fare > 100 THEN 1 END) FROM trips;

-- by groups
--> answered, 1 measurement
SELECT payment_type, max(CASE WHEN tip > 39 THEN 1 ELSE 0 END), bool_and(tip < 39), count(*) FROM trips GROUP BY 1;

-- nothing but what the policy knows
--> answered, 0 measurements
SELECT max(CASE WHEN fare IS NULL THEN 1 ELSE 0 END), bool_and(passenger_count <= 6), bool_or(passenger_count > 6) FROM trips;

-- what the policy knows beside what it does not
--> answered, 1 measurement
SELECT payment_type, count(*), bool_or(fare IS NULL) FROM trips GROUP BY 1;

-- few values, and whether one is missing
--> answered, 2 measurements
SELECT count(DISTINCT passenger_count) + max(CASE WHEN passenger_count IS NULL THEN 1 ELSE 0 END), count(DISTINCT payment_type) FROM trips;
