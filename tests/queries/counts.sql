-- every row
--> answered, 1 measurement
SELECT count(*) FROM trips;

-- with a name of its own
--> answered, 1 measurement
SELECT COUNT(*) AS "How many?" FROM public.trips;

-- a constant counts every row
--> answered, 1 measurement
SELECT count(1) FROM trips;

-- NULL counts none
--> answered, free
SELECT count(NULL) FROM trips WHERE 1 = 0;

-- values that are there
--> answered, 1 measurement
SELECT count(payment_type), count(*) FROM trips;

-- a value that is not declared is none
--> answered, 1 measurement
SELECT count(payment_type) FROM trips;

-- rows without a number are left out where it must not be missing
--> answered, 1 measurement
SELECT count(trip_distance) FROM trips;

-- two aggregates are one measurement
--> answered, 1 measurement
--> within 0.001
SELECT count(*), sum(fare), avg(tip), sum(passenger_count) FROM trips;

-- the same aggregate twice
--> answered, 1 measurement
SELECT count(*) AS a, count(*) AS b FROM trips;

-- with a filter
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE fare > 20), count(*) FILTER (WHERE payment_type = 'cash'), count(*) FROM trips;

-- of a condition
--> answered, 1 measurement
SELECT count(CASE WHEN tip > 0 THEN 1 END) FROM trips;

-- of everything that is nullable
--> answered, 1 measurement
SELECT count(to_zone), count(paid), count(age), count(tip), count(refund), count(weight), count(late), count(dropped)
FROM rides;

-- no row can be meant
--> answered, free
--> like SELECT 0::bigint AS count, NULL::float8 AS sum, NULL::float8 AS avg
SELECT count(*), sum(fare), avg(fare) FROM trips WHERE 1 = 0;

-- for another kind of unit
--> answered, 1 measurement
--> as tess
SELECT count(*), count(paid) FROM rides;

-- by an auditor, whose noise is independent
--> answered, 1 measurement
--> as leo
SELECT paid, count(*), sum(seats) FROM rides GROUP BY paid;

-- never below 0 for a role that wants it so
--> answered, 1 measurement
--> as cleo
--> within 0.001
SELECT count(*), sum(fare) FROM trips WHERE fare > 20;

-- rows as wholes, of which a missing one is NULL
--> answered, 1 measurement
SELECT count(t), count(t.*) FILTER (WHERE fare > 20), count(z) FROM trips t LEFT JOIN zones z ON z.zone_id = t.pickup_zone AND z.zone_id > 2;

-- rows as wholes beside public ones
--> answered, 1 measurement
SELECT z.zone, count(t) FROM zones z LEFT JOIN trips t ON t.pickup_zone = z.zone_id GROUP BY 1;
