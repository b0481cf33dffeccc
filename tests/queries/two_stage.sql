-- above the average
--> answered, 2 measurements
--> within 0.001
SELECT count(*), sum(tip) FROM trips WHERE fare > (SELECT avg(fare) FROM trips);

-- above twice the average, by group
--> answered, 2 measurements
--> within 0.001
SELECT payment_type, count(*) FROM trips WHERE tip > 1.5 * (SELECT avg(tip) FROM trips) GROUP BY payment_type ORDER BY 1;

-- between two answers
--> answered, 2 measurements
--> within 0.001
SELECT count(*) FROM trips
WHERE fare BETWEEN (SELECT avg(fare) - stddev(fare) FROM trips) AND (SELECT avg(fare) + stddev(fare) FROM trips);

-- since the last week
--> answered, 2 measurements
--> unlike
SELECT count(*) FROM trips WHERE pickup_ts > (SELECT max(pickup_ts) FROM trips) - interval '7 days';

-- in an aggregate
--> answered, 2 measurements
--> within 0.001
SELECT count(*) FILTER (WHERE fare > (SELECT avg(fare) FROM trips)) AS dear, count(*) FROM trips;

-- in a CASE
--> answered, 2 measurements
--> within 0.001
SELECT CASE WHEN fare > (SELECT avg(fare) FROM trips) THEN 'dear' ELSE 'cheap' END AS class, count(*), avg(tip) FROM trips
GROUP BY 1 ORDER BY 1;

-- an answer that waits for another
--> answered, 3 measurements
--> unlike
SELECT count(*) FROM trips WHERE fare > (SELECT avg(fare) FROM trips WHERE fare > (SELECT avg(tip) FROM trips));

-- in a query that passes rows through
--> answered, 2 measurements
--> within 0.001
SELECT paid, count(*) FROM (SELECT payment_type AS paid FROM trips WHERE fare > (SELECT avg(fare) FROM trips)) AS t GROUP BY paid
ORDER BY 1;

-- the top three
--> answered, 2 measurements
--> within 0.001
SELECT pickup_zone, avg(fare) FROM trips
WHERE pickup_zone IN (SELECT pickup_zone FROM trips GROUP BY pickup_zone ORDER BY count(*) DESC LIMIT 3)
GROUP BY pickup_zone ORDER BY 1;

-- all but the top three
--> answered, 2 measurements
--> within 0.001
SELECT pickup_zone, count(*) FROM trips
WHERE pickup_zone NOT IN (SELECT pickup_zone FROM trips GROUP BY pickup_zone ORDER BY count(*) DESC LIMIT 3)
GROUP BY pickup_zone ORDER BY 1;

-- the top days
--> answered, 2 measurements
--> within 0.001
SELECT date_trunc('day', pickup_ts) AS day, count(*) FROM trips
WHERE date_trunc('day', pickup_ts) IN (SELECT date_trunc('day', pickup_ts) FROM trips GROUP BY 1 HAVING count(*) > 200)
GROUP BY 1 ORDER BY 1;

-- NULL among the values of NOT IN
--> answered, 2 measurements
SELECT count(*) FROM trips WHERE payment_type NOT IN (SELECT payment_type FROM trips GROUP BY payment_type HAVING count(*) > 1);

-- no values in NOT IN
--> answered, 2 measurements
SELECT count(*) FROM trips WHERE payment_type NOT IN (SELECT payment_type FROM trips GROUP BY 1 HAVING count(*) < 0);

-- one of two
--> answered, 2 measurements
--> within 0.001
SELECT count(*) FROM trips
WHERE passenger_count = 2 OR pickup_zone IN (SELECT pickup_zone FROM trips GROUP BY 1 ORDER BY sum(fare) DESC LIMIT 2);

-- the top by rank
--> answered, 2 measurements
--> within 0.001
SELECT pickup_zone, sum(tip) FROM trips WHERE pickup_zone IN (
  SELECT pickup_zone FROM (SELECT pickup_zone, rank() OVER (ORDER BY count(*) DESC) AS r FROM trips GROUP BY 1) AS t WHERE r <= 2
) GROUP BY pickup_zone ORDER BY 1;

-- the top in a CTE
--> answered, 2 measurements
--> within 0.001
WITH top AS (SELECT pickup_zone, count(*) AS n FROM trips GROUP BY pickup_zone ORDER BY n DESC LIMIT 3)
SELECT pickup_zone, avg(fare) FROM trips WHERE pickup_zone IN (SELECT pickup_zone FROM top WHERE n > 10) GROUP BY 1 ORDER BY 1;

-- the top in a CTE that is shown, too
--> answered, 2 measurements
--> within 0.001
WITH top AS (SELECT pickup_zone AS z, count(*) AS n FROM trips GROUP BY 1 ORDER BY n DESC LIMIT 3)
SELECT t.pickup_zone, avg(t.fare), (SELECT sum(n) FROM top) FROM trips t JOIN top ON z = pickup_zone GROUP BY 1 ORDER BY 1;

-- Superset's series limit
--> answered, 2 measurements
--> within 0.001
SELECT DATE_TRUNC('WEEK', pickup_ts) AS __timestamp, pickup_zone AS pickup_zone, SUM(fare) AS "SUM(fare)"
FROM public.trips
JOIN (
  SELECT pickup_zone AS pickup_zone__, SUM(fare) AS mme_inner__
  FROM public.trips WHERE pickup_ts >= '2019-03-01' GROUP BY pickup_zone ORDER BY SUM(fare) DESC LIMIT 3
) AS series_limit ON pickup_zone = pickup_zone__
GROUP BY DATE_TRUNC('WEEK', pickup_ts), pickup_zone ORDER BY 1, 2;

-- Superset's series limit over two columns
--> answered, 2 measurements
--> within 0.001
SELECT pickup_zone, passenger_count, count(*) AS n FROM trips JOIN (
  SELECT pickup_zone AS pickup_zone__, passenger_count AS passenger_count__, count(*) AS mme_inner__
  FROM trips GROUP BY pickup_zone, passenger_count ORDER BY mme_inner__ DESC LIMIT 4
) AS series_limit ON pickup_zone = pickup_zone__ AND passenger_count = passenger_count__
GROUP BY pickup_zone, passenger_count ORDER BY 1, 2;

-- Superset's series limit with others
--> answered, 2 measurements
--> within 0.001
SELECT CASE WHEN (NOT series_limit.payment_type__ IS NULL) THEN payment_type ELSE 'Others' END AS payment_type, SUM(fare) AS s
FROM public.trips LEFT OUTER JOIN (
  SELECT payment_type AS payment_type__, SUM(fare) AS mme_inner__ FROM public.trips GROUP BY payment_type ORDER BY mme_inner__ DESC LIMIT 1
) AS series_limit ON payment_type = payment_type__
GROUP BY CASE WHEN (NOT series_limit.payment_type__ IS NULL) THEN payment_type ELSE 'Others' END ORDER BY 1;

-- above the average of its own group
--> answered, 2 measurements
--> within 0.001
SELECT t.pickup_zone, count(*) FROM trips t
JOIN (SELECT pickup_zone, avg(fare) AS mean FROM trips GROUP BY pickup_zone) AS z ON z.pickup_zone = t.pickup_zone
WHERE t.fare > z.mean GROUP BY t.pickup_zone ORDER BY 1;

-- share of a total
--> answered, 2 measurements
--> within 0.001
SELECT payment_type, round(count(*) * 100.0 / (SELECT count(*) FROM trips), 2) AS share FROM trips GROUP BY payment_type ORDER BY 1;

-- share of a total by a window
--> answered, 1 measurement
--> within 0.001
SELECT payment_type, 100.0 * count(*) / sum(count(*)) OVER () AS share FROM trips GROUP BY payment_type ORDER BY 1;

-- share of a total by a join
--> refused 55000: column "n" has no declared bounds
WITH total AS (SELECT count(*) AS n FROM trips)
SELECT payment_type, count(*) * 100.0 / max(total.n) AS share FROM trips CROSS JOIN total GROUP BY payment_type ORDER BY 1;

-- an answer by the rows around it
--> answered, 2 measurements
--> like SELECT count(*) FROM trips JOIN (SELECT pickup_zone, avg(fare) AS a FROM trips GROUP BY 1) s USING (pickup_zone) WHERE fare > a
SELECT count(*) FROM trips t WHERE fare > (SELECT avg(fare) FROM trips s WHERE s.pickup_zone = t.pickup_zone);

-- an answer of groups alone, for which nothing is measured
--> answered, 1 measurement
SELECT count(*), count(*) FILTER (WHERE late) FROM rides WHERE late OR seats IN (SELECT seats FROM rides GROUP BY seats);

-- a value of groups alone
--> answered, 2 measurements
SELECT count(*) FROM rides WHERE seats = (SELECT min(s) FROM (SELECT seats AS s FROM rides GROUP BY seats) AS t);

-- a join with groups alone
--> answered, 1 measurement
SELECT count(*) FROM rides JOIN (SELECT seats FROM rides GROUP BY seats) AS t USING (seats);

-- an answer by what the shadow is not asked
--> refused 0A000: an answer that decides which private rows count
SELECT count(*) FROM trips WHERE payment_type IN (SELECT string_agg(p, '') FROM (SELECT payment_type AS p FROM trips GROUP BY 1) AS t);

-- an answer that moves
--> refused 0A000: an answer that decides which private rows count
SELECT count(*) FROM trips WHERE pickup_ts > (SELECT now() - count(*) * interval '1 second' FROM trips);

-- distinct values among an answer
--> answered, 1 measurement
SELECT DISTINCT pickup_zone FROM trips WHERE pickup_zone IN (SELECT pickup_zone FROM trips GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 3);

-- groups alone among an answer
--> answered, 1 measurement
SELECT seats, stars FROM rides WHERE seats IN (SELECT seats FROM rides GROUP BY seats ORDER BY count(*) DESC LIMIT 2) GROUP BY 1, 2;

-- how many groups an answer leaves
--> answered, 1 measurement
SELECT count(*) FROM (
  SELECT pickup_zone, avg(fare) AS f FROM trips JOIN (
    SELECT pickup_zone AS pickup_zone__, count(*) AS n FROM trips GROUP BY 1 ORDER BY n DESC, 1 LIMIT 3
  ) AS series_limit ON pickup_zone = pickup_zone__ GROUP BY pickup_zone ORDER BY f DESC
) AS x;

-- how many pairs an answer leaves
--> answered, 1 measurement
SELECT count(*) FROM (SELECT DISTINCT payment_type, pickup_zone FROM trips WHERE payment_type IS NOT NULL AND pickup_zone IN (
  SELECT pickup_zone FROM trips GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2)) AS x;

-- groups alone without those of an answer
--> answered, 1 measurement
SELECT DISTINCT seats FROM rides WHERE seats NOT IN (SELECT seats FROM rides GROUP BY seats ORDER BY count(*) DESC LIMIT 2);

-- groups alone above an answer
--> answered, 1 measurement
SELECT DISTINCT seats FROM rides WHERE seats > (SELECT avg(seats) FROM rides);

-- groups alone of a join with an answer
--> answered, 1 measurement
WITH top AS (SELECT seats AS s, count(*) AS n FROM rides GROUP BY 1 ORDER BY 2 DESC LIMIT 2)
SELECT seats FROM rides JOIN top ON s = seats GROUP BY 1;

-- grouping sets of keys alone among an answer
--> answered, 1 measurement
SELECT seats, shared FROM rides WHERE seats IN (SELECT seats FROM rides GROUP BY seats ORDER BY count(*) DESC LIMIT 2) GROUP BY ROLLUP (seats, shared);

-- how far rows are from the mean of all
--> answered, 2 measurements
--> within 0.001
SELECT avg(abs(fare - (SELECT avg(fare) FROM trips))) FROM trips;

-- outliers, by mean and spread
--> answered, 2 measurements
WITH s AS (SELECT avg(fare) AS m, stddev(fare) AS sd FROM trips)
SELECT payment_type, count(*) FROM trips CROSS JOIN s WHERE fare > m + sd GROUP BY 1;

-- standard scores, of a spread that is never nothing
--> answered, 2 measurements
--> within 0.001
WITH s AS (SELECT avg(fare) AS m, stddev(fare) AS sd FROM trips)
SELECT avg(least((fare - m) / greatest(sd, 1), 10)) FROM trips, s;

-- from the mean of the row's own group
--> answered, 2 measurements
--> within 0.001
SELECT payment_type, avg(abs(fare - g.m)) FROM trips JOIN (
  SELECT payment_type AS p, avg(fare) AS m FROM trips GROUP BY 1) AS g ON g.p = payment_type GROUP BY 1;

-- from twice the mean, in steps
--> answered, 2 measurements
--> empty 7 groups
SELECT floor((fare - 2 * (SELECT avg(fare) FROM trips)) / 50) AS step, count(*) FROM trips GROUP BY 1;

-- what is above a count has no bounds
--> refused 55000: has no declared bounds
SELECT avg(fare - (SELECT count(*) FROM trips)) FROM trips;

-- groups of as many rows each
--> answered, 4 measurements
--> unlike
SELECT q, count(*), avg(fare) FROM (SELECT fare, ntile(4) OVER (ORDER BY fare) AS q FROM trips) AS t GROUP BY 1;

-- units by what they come to, twice
--> answered, 5 measurements
--> unlike
WITH r AS (SELECT rider, count(*) AS f, sum(price) AS m FROM rides GROUP BY rider),
  s AS (SELECT ntile(3) OVER (ORDER BY f DESC) AS fs, ntile(3) OVER (ORDER BY m) AS ms FROM r)
SELECT fs, ms, count(*) FROM s GROUP BY 1, 2;
