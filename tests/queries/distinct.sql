-- people
--> answered, 1 measurement
SELECT count(DISTINCT passenger_id) FROM trips WHERE fare > 100;

-- people in groups
--> answered, 1 measurement
SELECT passenger_count, count(DISTINCT passenger_id) FROM trips GROUP BY 1 ORDER BY 1;

-- beside rows
--> answered, 2 measurements
SELECT count(DISTINCT passenger_id), count(*) FROM trips;

-- values
--> answered, 2 measurements
SELECT count(DISTINCT payment_type), count(DISTINCT passenger_count) FROM trips;

-- people of another kind
--> answered, 1 measurement
--> as tess
SELECT count(DISTINCT driver) FROM rides;

-- pairs
--> answered, 1 measurement
SELECT count(DISTINCT (fare, tip)) FROM trips;

-- pairs in groups, NULL among them
--> answered, 2 measurements
SELECT shared, count(DISTINCT (number, paid)), count(DISTINCT ROW(note)) FROM rides GROUP BY shared;

-- of nothing
--> answered, 1 measurement
SELECT count(DISTINCT NULL::int) FROM rides;

-- sums of values
--> answered, 1 measurement
--> within 0.01
SELECT sum(DISTINCT passenger_count), avg(DISTINCT passenger_count), variance(DISTINCT passenger_count) FROM trips;

-- sums of values in groups
--> answered, 1 measurement
--> within 0.01
SELECT paid, sum(DISTINCT stars), avg(DISTINCT stars) FROM rides GROUP BY paid;

-- a sum of values where a condition holds
--> answered, 1 measurement
--> within 0.01
SELECT sum(DISTINCT age) FILTER (WHERE late) FROM rides WHERE age BETWEEN 20 AND 29;

-- a sum of what is computed, value by value
--> answered, 1 measurement
--> within 0.01
SELECT sum(DISTINCT CASE WHEN shared THEN seats ELSE 0 END), avg(DISTINCT CASE WHEN shared THEN seats ELSE 0 END) FROM rides;

-- values beside rows
--> answered, 3 measurements
--> within 0.01
SELECT sum(DISTINCT seats), sum(seats), count(DISTINCT seats) FROM rides;

-- sums of values of units
--> refused 0A000: of single units is not supported
SELECT avg(s) FROM (SELECT rider, sum(DISTINCT seats) AS s FROM rides GROUP BY 1) AS t;

-- a covariance of values
--> refused 0A000: corr(DISTINCT
SELECT corr(DISTINCT fare, tip) FROM trips;

-- sums of texts
--> postgres 42883
SELECT sum(DISTINCT note) FROM rides;

-- the values that there are, as a list
--> answered, 1 measurement
SELECT string_agg(DISTINCT payment_type, ',') FROM trips WHERE passenger_count > 1;

-- lists of groups
--> answered, 1 measurement
SELECT payment_type, array_agg(DISTINCT passenger_count) FROM trips WHERE fare > 20 GROUP BY payment_type ORDER BY payment_type;

-- lists: in an order, beside another aggregate
--> answered, 2 measurements
SELECT payment_type, array_agg(DISTINCT pickup_zone ORDER BY pickup_zone DESC) AS zones, count(*) + 1 AS n FROM trips WHERE pickup_zone IS NOT NULL GROUP BY 1 HAVING count(*) > 3 ORDER BY n DESC;

-- lists: of two columns
--> answered, 2 measurements
SELECT string_agg(DISTINCT payment_type, ', ') || '.' AS paid, array_agg(DISTINCT pickup_zone) FROM trips;
