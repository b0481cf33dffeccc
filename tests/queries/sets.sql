-- a roll-up
--> answered, 1 measurement
SELECT payment_type, passenger_count, count(*) FROM trips GROUP BY ROLLUP (payment_type, passenger_count);

-- a cube
--> answered, 1 measurement
SELECT shared, late, count(*), sum(seats) FROM rides GROUP BY CUBE (shared, late);

-- sets
--> answered, 1 measurement
SELECT shared, stars, grouping(shared, stars) AS g, count(*) FROM rides GROUP BY GROUPING SETS ((shared), (stars), ());

-- the total of no rows
--> answered, free
SELECT payment_type, count(*), sum(fare), grouping(payment_type) FROM trips WHERE 1 = 0 GROUP BY ROLLUP (payment_type);

-- the totals of no rows
--> answered, free
SELECT shared, late, count(*), avg(fare), grouping(shared, late) FROM rides WHERE fare > 1000 GROUP BY CUBE (shared, late);

-- sets of no rows
--> answered, free
SELECT shared, count(*), median(fare) FROM rides WHERE false GROUP BY GROUPING SETS ((), (shared), ());

-- sets of no rows, none of them the total
--> answered, free
SELECT shared, late, count(*) FROM rides WHERE false GROUP BY GROUPING SETS ((shared), (late));

-- a roll-up of what does not add up is measured for each set, or refused
--> refused 0A000
SELECT shared, median(fare) FROM rides GROUP BY ROLLUP (shared);

-- means and variances of sets
--> answered, 1 measurement
--> within 0.01
SELECT shared, late, avg(fare), var_pop(fare), count(tip) FROM rides GROUP BY CUBE (shared, late);
