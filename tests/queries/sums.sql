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
--> refused 0A000: sum(DISTINCT
SELECT sum(DISTINCT fare) FROM trips;

-- of text
--> postgres 42883: function sum(text) does not exist
SELECT sum(payment_type) FROM trips;
