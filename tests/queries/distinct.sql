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
--> refused 0A000
SELECT count(DISTINCT (fare, tip)) FROM trips;

-- of nothing
--> answered, 1 measurement
SELECT count(DISTINCT NULL::int) FROM rides;
