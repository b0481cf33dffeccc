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

-- medians of each set
--> answered, 2 measurements
--> within 0.01
SELECT shared, median(fare) FROM rides GROUP BY ROLLUP (shared);

-- means and variances of sets
--> answered, 1 measurement
--> within 0.01
SELECT shared, late, avg(fare), var_pop(fare), count(tip) FROM rides GROUP BY CUBE (shared, late);

-- distinct values of each level
--> answered, 2 measurements
SELECT payment_type, count(DISTINCT passenger_id) FROM trips GROUP BY ROLLUP (payment_type);

-- medians of each level, and which it is
--> answered, 2 measurements
SELECT paid, percentile_disc(0.5) WITHIN GROUP (ORDER BY seats), grouping(paid) FROM rides GROUP BY GROUPING SETS ((paid), ()) ORDER BY 3;

-- conditions, orders and windows of levels of what does not add up
--> answered, 4 measurements
SELECT CASE WHEN grouping(stars) = 1 THEN 'all' ELSE stars::text END AS s, count(DISTINCT rider) + 1 AS n, sum(seats),
  rank() OVER (ORDER BY sum(seats) DESC) FROM rides WHERE tip > 1 GROUP BY ROLLUP (stars) HAVING count(*) > 10
ORDER BY grouping(stars), s;

-- two keys, all levels, with margins
--> answered, 4 measurements
--> unlike
SELECT stars, late, count(*), dpsql.margin(count(*)) FROM rides GROUP BY CUBE (stars, late);
