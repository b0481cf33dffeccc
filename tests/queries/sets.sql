-- a roll-up
--> answered, 1 measurement
SELECT payment_type, passenger_count, count(*) FROM trips GROUP BY ROLLUP (payment_type, passenger_count);

-- a cube
--> answered, 1 measurement
SELECT shared, late, count(*), sum(seats) FROM rides GROUP BY CUBE (shared, late);

-- sets
--> answered, 1 measurement
SELECT shared, stars, grouping(shared, stars) AS g, count(*) FROM rides GROUP BY GROUPING SETS ((shared), (stars), ());
