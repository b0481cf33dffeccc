-- a clamped column
--> answered, 1 measurement
--> within 0.001
SELECT sum(fare) FROM trips WHERE fare > 10;

-- whole numbers come out exactly
--> answered, 1 measurement
SELECT sum(passenger_count), sum(passenger_count) FILTER (WHERE fare > 20) FROM trips;

-- both signs
--> answered, 1 measurement
--> within 0.01
SELECT sum(tip), count(*) FROM rides;

-- nullable
--> answered, 1 measurement
--> within 0.001
SELECT sum(age), avg(age), count(age), count(*) FROM rides;

-- decimals
--> answered, 1 measurement
--> within 0.001
SELECT sum(price), avg(refund) FROM rides;

-- single precision
--> answered, 1 measurement
--> within 0.02
SELECT avg(weight), count(weight) FROM rides;

-- variances
--> answered, 1 measurement
--> within 0.01
SELECT variance(fare), var_pop(tip), stddev(fare), stddev_pop(tip), var_samp(passenger_count) FROM trips;

-- of two columns
--> answered, 1 measurement
--> within 0.01
SELECT covar_pop(fare, tip), covar_samp(fare, tip), corr(fare, total) FROM trips;

-- a line through two columns
--> answered, 1 measurement
--> within 0.01
SELECT regr_slope(total, fare), regr_intercept(total, fare), regr_r2(total, fare) FROM trips;

-- about the means of two columns
--> answered, 1 measurement
--> within 0.01
SELECT regr_count(tip, fare), regr_avgx(tip, fare), regr_avgy(tip, fare), regr_sxx(tip, fare), regr_syy(tip, fare), regr_sxy(tip, fare) FROM trips;

-- about the means of rows that have both
--> answered, 1 measurement
--> within 0.01
SELECT payment_type, regr_count(passenger_count, tip), regr_avgx(passenger_count, tip), regr_sxx(passenger_count, tip) FROM trips GROUP BY 1;

-- with a filter
--> answered, 1 measurement
--> within 0.001
SELECT sum(fare) FILTER (WHERE payment_type = 'cash') AS cash, avg(fare) FILTER (WHERE payment_type <> 'cash') FROM trips;

-- of a condition
--> answered, 1 measurement
--> within 0.001
SELECT sum(CASE WHEN payment_type = 'credit card' THEN tip ELSE 0 END) / sum(fare) AS share FROM trips;

-- of ones and zeros
--> answered, 1 measurement
SELECT sum(CASE WHEN shared THEN 1 ELSE 0 END), sum(late::int), avg(shared::int) FROM rides;

-- a range in WHERE is the range of the sum
--> answered, 1 measurement
--> within 0.001
SELECT sum(fare), avg(fare) FROM trips WHERE fare BETWEEN 5 AND 20;

-- of a product
--> answered, 1 measurement
--> within 0.001
SELECT sum(fare * passenger_count), avg(fare - tip), sum(-fare), avg(abs(tip - 10)) FROM trips;

-- of powers and roots
--> answered, 1 measurement
--> within 0.002
SELECT avg(fare ^ 2), avg(sqrt(fare)), avg(ln(fare + 1)), sum(power(passenger_count, 2)), avg(exp(-tip)), avg(log(fare + 1))
FROM trips;

-- what was made of sums is computed afterwards
--> answered, 1 measurement
--> within 0.001
SELECT round(avg(fare)::numeric, 1), coalesce(sum(fare), 0) + 1, sum(fare) / nullif(count(*), 0) FROM trips;

-- without bounds
--> refused 55000: column "trip_id" has no declared bounds
SELECT sum(trip_id) FROM trips;

-- distinct
--> refused 0A000: regr_slope(DISTINCT
SELECT regr_slope(DISTINCT fare, tip) FROM trips;

-- of text
--> postgres 42883: function sum(text) does not exist
SELECT sum(payment_type) FROM trips;

-- of publicly no row
--> answered, free
SELECT count(*), sum(fare), avg(fare), variance(fare), corr(fare, tip), median(fare), min(fare), count(DISTINCT passenger_id),
  bool_or(fare > 5) FROM trips WHERE fare > 1000;

-- divided by a whole number that is not 0
--> answered, 1 measurement
--> within 0.002
SELECT sum(fare / NULLIF(passenger_count, 0)), avg(fare / NULLIF(passenger_count, 0)), sum(10 / NULLIF(passenger_count, 0)) FROM trips;

-- divided where CASE allows it
--> answered, 1 measurement
--> within 0.002
SELECT sum(CASE WHEN passenger_count > 0 THEN fare / passenger_count ELSE 0 END),
  avg(CASE WHEN passenger_count = 0 THEN NULL ELSE fare / passenger_count END),
  sum(CASE WHEN passenger_count <> 0 AND tip > 1 THEN fare / passenger_count END) FROM trips;

-- divided where CASE allows it, of what may be missing
--> answered, 1 measurement
--> within 0.002
SELECT sum(CASE WHEN age IS NULL OR age = -3 THEN 0 ELSE 10 / (age + 4) END), sum(CASE WHEN age < 1 THEN 0 ELSE fare / age END) FROM rides;

-- rounded to tens
--> answered, 1 measurement
--> within 0.002
SELECT sum(round(price, -1)), sum(round(refund, -1)), avg(round(seats, -1)) FROM rides;

-- near nothing
--> answered, 1 measurement
--> within 0.001
SELECT sum(tip) AS s, count(*) AS n FROM trips WHERE abs(tip) < 5;

-- the same number with constants added to it, also where it may be missing
--> answered, 1 measurement
--> within 0.001
SELECT sum(fare), sum(fare + 1), avg(2 + fare - 0.5), sum(age), sum(age - 1), avg(age + 100), variance(age + 7), covar_pop(fare + 1, age - 3),
  regr_intercept(fare + 1, age - 3), sum(seats + 2) FILTER (WHERE paid = 'cash'), count(age + 1) FROM rides;

-- far more sums than there are things to measure
--> answered, 1 measurement
SELECT sum(seats + 0), sum(seats + 1), sum(seats + 2), sum(seats + 3), sum(seats + 4), sum(seats + 5), sum(seats + 6), sum(seats + 7),
  sum(seats + 8), sum(seats + 9), sum(seats + 10), sum(seats + 11), sum(seats + 12), sum(seats + 13), sum(seats + 14), sum(seats + 15),
  sum(seats + 16), sum(seats + 17), sum(seats + 18), sum(seats + 19), sum(seats + 20), sum(seats + 21), sum(seats + 22), sum(seats + 23),
  sum(seats + 24), sum(seats + 25), sum(seats + 26), sum(seats + 27), sum(seats + 28), sum(seats + 29), sum(seats + 30), sum(seats + 31),
  sum(seats + 32), sum(seats + 33), sum(seats + 34), sum(seats + 35), sum(seats + 36), sum(seats + 37), sum(seats + 38), sum(seats + 39),
  sum(seats + 40), sum(seats + 41), sum(seats + 42), sum(seats + 43), sum(seats + 44), sum(seats + 45), sum(seats + 46), sum(seats + 47),
  sum(seats + 48), sum(seats + 49), sum(seats + 50), sum(seats + 51), sum(seats + 52), sum(seats + 53), sum(seats + 54), sum(seats + 55),
  sum(seats + 56), sum(seats + 57), sum(seats + 58), sum(seats + 59)
FROM rides;

-- of the values that there are, of which some declared ones are not
--> answered, 1 measurement
SELECT sum(n) FROM (SELECT DISTINCT passenger_count AS n FROM trips WHERE passenger_count IN (2, 5) OR fare < 0) AS t;
