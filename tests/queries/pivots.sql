-- counts of values
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE payment_type = 'cash'), count(*) FILTER (WHERE payment_type = 'credit card') FROM trips;

-- counts of values beside all rows, of which some have none
--> answered, 1 measurement
SELECT count(*), count(*) FILTER (WHERE payment_type = 'cash'), count(*) FILTER (WHERE payment_type = 'credit card') FROM trips;

-- counts of all values there are
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE shared), count(*) FILTER (WHERE NOT shared), count(*) FROM rides;

-- a statistic of each value
--> answered, 1 measurement
--> within 0.001
SELECT sum(fare) FILTER (WHERE payment_type = 'cash'), avg(tip) FILTER (WHERE payment_type = 'credit card'),
  count(*) FILTER (WHERE payment_type IS NULL) FROM trips;

-- columns of bands
--> answered, 1 measurement
--> within 0.002
SELECT pickup_zone, sum(CASE WHEN fare < 10 THEN 1 ELSE 0 END) AS low, sum(CASE WHEN fare BETWEEN 10 AND 50 THEN 1 END) AS middle,
  sum(CASE WHEN fare > 50 THEN fare ELSE 0 END) AS high, count(*) FROM trips GROUP BY pickup_zone;

-- columns of hours
--> answered, 1 measurement
--> within 0.001
SELECT payment_type, avg(CASE WHEN extract(hour FROM pickup_ts) = 8 THEN fare END), avg(CASE WHEN extract(hour FROM pickup_ts) = 9 THEN fare END),
  avg(fare) FROM trips GROUP BY payment_type;

-- counts by a CASE over a column
--> answered, 1 measurement
SELECT count(CASE WHEN passenger_count = 1 THEN 1 END), count(CASE WHEN passenger_count = 2 THEN 1 END),
  count(CASE WHEN passenger_count NOT IN (1, 2) THEN 1 END) FROM trips;

-- of a column that may be NULL
--> answered, 1 measurement
--> within 0.001
SELECT sum(age) FILTER (WHERE late), avg(age) FILTER (WHERE NOT late), count(age), count(*) FROM rides;

-- variances of each
--> answered, 1 measurement
--> within 0.01
SELECT stddev(fare) FILTER (WHERE shared), var_pop(tip) FILTER (WHERE NOT shared) FROM rides;

-- variances of each and of all
--> answered, 1 measurement
--> within 0.01
SELECT stddev(fare) FILTER (WHERE late), stddev(fare) FILTER (WHERE NOT late), stddev(fare), count(*) FROM rides;

-- conditions that overlap
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE fare > 10), count(*) FILTER (WHERE fare > 20), count(*) FROM trips;

-- in grouping sets
--> answered, 1 measurement
SELECT pickup_zone, passenger_count, count(*) FILTER (WHERE payment_type = 'cash'), count(*) FILTER (WHERE payment_type = 'credit card')
FROM trips GROUP BY ROLLUP (pickup_zone, passenger_count);

-- in a join
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE z.borough = 'Queens'), count(*) FILTER (WHERE z.borough = 'Bronx'), count(*)
FROM trips JOIN zones z ON pickup_zone = zone_id;

-- the variance of one column with all else about it
--> answered, 1 measurement
--> within 0.01
SELECT payment_type, var_pop(fare), var_samp(fare), stddev(fare), avg(fare), sum(fare), count(fare), count(*) FROM trips GROUP BY payment_type;

-- the variance of a whole number
--> answered, 1 measurement
SELECT payment_type, var_pop(passenger_count), stddev_samp(passenger_count) FROM trips GROUP BY payment_type;

-- the variance of a column that may be NULL
--> answered, 1 measurement
--> within 0.01
SELECT paid, variance(age), avg(age) FROM rides GROUP BY paid;

-- the margin of what there can be none of
--> answered, free
--> like SELECT 0::float8 AS margin, 0::bigint AS count
SELECT dpsql.margin(count(*)) AS margin, count(*) FROM trips WHERE passenger_count > 7;
