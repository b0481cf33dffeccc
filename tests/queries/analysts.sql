-- q03 a mean of some
--> answered, 1 measurement
--> within 0.001
SELECT AVG(tip) AS a FROM trips WHERE payment_type = 'credit card';

-- q05 the ten largest
--> answered, 1 measurement
--> within 0.001
SELECT pickup_zone, SUM(total) AS s FROM trips GROUP BY pickup_zone ORDER BY s DESC LIMIT 10;

-- q06 two keys
--> answered, 1 measurement
SELECT payment_type, passenger_count, COUNT(*) AS n FROM trips GROUP BY payment_type, passenger_count;

-- q07 spread
--> answered, 1 measurement
--> within 0.01
SELECT STDDEV(fare) AS sd, VARIANCE(trip_distance) AS v FROM trips;

-- q08 median
--> answered, 1 measurement
--> within 0.002
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY fare) AS m FROM trips;

-- q09 how many people
--> answered, 1 measurement
SELECT COUNT(DISTINCT passenger_id) AS u FROM trips;

-- q10 a histogram
--> answered, 1 measurement
SELECT FLOOR(trip_distance / 2) AS b, COUNT(*) AS n FROM trips WHERE trip_distance < 24 GROUP BY FLOOR(trip_distance / 2)
ORDER BY b;

-- q11 a series
--> answered, 1 measurement
--> within 0.001
SELECT DATE_TRUNC('month', pickup_ts) AS m, COUNT(*) AS n, SUM(total) AS s FROM trips GROUP BY DATE_TRUNC('month', pickup_ts)
ORDER BY m;

-- q12 a share
--> answered, 1 measurement
--> within 0.001
SELECT SUM(CASE WHEN payment_type = 'credit card' THEN tip ELSE 0 END) / SUM(fare) AS r FROM trips;

-- q14 of each person
--> answered, 1 measurement
--> within 0.001
SELECT AVG(s) AS a FROM (SELECT passenger_id, SUM(total) AS s FROM trips GROUP BY passenger_id) AS t;

-- q15 a common table expression
--> answered, 1 measurement
--> within 0.001
WITH big AS (SELECT * FROM trips WHERE trip_distance > 5) SELECT payment_type, COUNT(*) AS n, AVG(tip) AS a FROM big
GROUP BY payment_type;

-- q17 how many people in each group
--> answered, 1 measurement
SELECT payment_type, COUNT(DISTINCT passenger_id) AS u FROM trips GROUP BY payment_type;

-- q18 extremes
--> answered, 2 measurements
--> within 0.1
SELECT MIN(fare) AS lo, MAX(fare) AS hi FROM trips;

-- q20 hours of the day
--> answered, 1 measurement
--> within 0.001
SELECT EXTRACT(hour FROM pickup_ts) AS h, AVG(fare) AS a FROM trips GROUP BY EXTRACT(hour FROM pickup_ts) ORDER BY h;

-- q21 buckets
--> answered, 1 measurement
SELECT WIDTH_BUCKET(fare, 0, 100, 20) AS b, COUNT(*) AS n FROM trips WHERE fare > 0 GROUP BY WIDTH_BUCKET(fare, 0, 100, 20)
ORDER BY b;

-- q22 ranks
--> answered, 1 measurement
SELECT payment_type, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM trips GROUP BY payment_type;
