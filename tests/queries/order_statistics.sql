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

-- with a filter
--> answered, 2 measurements
--> within 0.01
SELECT median(fare) FILTER (WHERE payment_type = 'cash'), avg(fare) FROM trips;

-- extremes of whole numbers, dates and times
--> answered, 3 measurements
--> within 0.01
SELECT min(seats), max(seats), min(day), max(day), max(picked) FROM rides;

-- a percentile that is none
--> refused 0A000: a percentile is a constant from 0 to 1
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY fare) FROM trips;

-- of what has no bounds
--> refused 55000: has no declared bounds
SELECT median(trip_id) FROM trips;

-- of texts
--> refused 0A000: takes numbers, dates and timestamps
SELECT min(payment_type) FROM trips;

-- extremes of groups, of which one has no row
--> answered, 2 measurements
--> empty 1 group
--> within 0.01
SELECT fare > 149 AS dear, min(passenger_count), max(passenger_count), max(pickup_ts) FROM trips WHERE fare < 145 GROUP BY 1;
