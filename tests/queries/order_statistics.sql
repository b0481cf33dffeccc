-- medians
--> answered, 2 measurements
--> within 0.01
SELECT median(fare), median(tip) FROM trips;

-- by group
--> answered, 1 measurement
--> within 0.02
SELECT payment_type, median(fare) FROM trips GROUP BY payment_type;

-- of whole numbers, exactly
--> answered, 2 measurements
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY passenger_count), percentile_disc(0.9) WITHIN GROUP (ORDER BY passenger_count)
FROM trips;

-- several points
--> answered, 1 measurement
--> within 0.02
SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY fare) FROM trips;

-- of no point at all, which PostgreSQL answers too
--> answered, 1 measurement
SELECT percentile_cont(ARRAY[]::float8[]) WITHIN GROUP (ORDER BY fare) FROM trips;

-- with a filter
--> answered, 2 measurements
--> within 0.01
SELECT median(fare) FILTER (WHERE payment_type = 'cash'), avg(fare) FROM trips;

-- extremes of whole numbers, dates and times
--> answered, 5 measurements
--> within 0.01
SELECT min(seats), max(seats), min(day), max(day), max(picked) FROM rides;

-- the first and the last percentile are the extremes, and no value beyond them
--> answered, 2 measurements
--> within 0.01
SELECT min(tip), percentile_cont(0) WITHIN GROUP (ORDER BY tip) AS least, percentile_cont(0) WITHIN GROUP (ORDER BY tip DESC) AS most,
  max(tip), percentile_cont(1) WITHIN GROUP (ORDER BY tip) FROM trips WHERE tip >= 1 AND fare < 50;

-- so they are discrete, of dates, and by group
--> answered, 3 measurements
--> within 0.1
SELECT paid, percentile_disc(1) WITHIN GROUP (ORDER BY day), percentile_disc(0) WITHIN GROUP (ORDER BY age), min(fare)
FROM rides GROUP BY paid;

-- among others in a list they are no value beyond the rows either
--> answered, 1 measurement
--> within 0.01
SELECT percentile_cont(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY seats) FROM rides WHERE seats BETWEEN 1 AND 5 OR fare > 149.9;

-- a percentile that is none
--> refused 0A000: a percentile is a constant from 0 to 1
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY fare) FROM trips;

-- of what has no bounds
--> refused 55000: has no declared bounds
SELECT median(trip_id) FROM trips;

-- of texts
--> refused 0A000: texts with few declared values
SELECT min(note) FROM rides;

-- of texts with declared values
--> answered, 4 measurements
SELECT min(paid), max(paid), max(upper(paid)), percentile_disc(0.5) WITHIN GROUP (ORDER BY paid) FROM rides;

-- extremes of groups, of which one has no row
--> answered, 3 measurements
--> empty 1 group
--> within 0.01
SELECT fare > 149 AS dear, min(passenger_count), max(passenger_count), max(pickup_ts) FROM trips WHERE fare < 145 GROUP BY 1;
