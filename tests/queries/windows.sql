-- from one row of a unit to the next
--> answered, 1 measurement
--> within 0.01
SELECT avg(gap), count(gap) FROM (
  SELECT price - lag(price) OVER (PARTITION BY rider ORDER BY picked, price) AS gap FROM rides) AS t;

-- time between rows of a unit
--> answered, 1 measurement
--> within 0.01
SELECT avg(gap) FROM (
  SELECT extract(epoch FROM picked - lag(picked) OVER (PARTITION BY rider ORDER BY picked)) AS gap FROM rides) AS t;

-- the last two rows of each unit
--> answered, 1 measurement
--> within 0.01
SELECT n, count(*), avg(seats) FROM (
  SELECT seats, row_number() OVER (PARTITION BY rider ORDER BY picked DESC, seats) AS n FROM rides) AS t WHERE n <= 2 GROUP BY n;

-- parts of each unit's rows
--> answered, 1 measurement
--> within 0.01
SELECT part, count(*), sum(seats) FROM (
  SELECT seats, ntile(3) OVER (PARTITION BY rider ORDER BY seats) AS part FROM rides) AS t GROUP BY part;

-- rows of units with many
--> answered, 1 measurement
SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY rider) AS n FROM rides) AS t WHERE n > 3;

-- places with ties
--> answered, 1 measurement
--> within 0.01
SELECT max_rank, count(*) FROM (SELECT dense_rank() OVER (PARTITION BY rider, paid ORDER BY seats) AS max_rank FROM rides) AS t
WHERE max_rank < 4 GROUP BY max_rank;

-- NULL in an order
--> answered, 1 measurement
--> within 0.01
SELECT avg(next), count(next) FROM (SELECT lead(age, 2) OVER (PARTITION BY rider ORDER BY age DESC) AS next FROM rides) AS t;

-- rows of units by their place
--> answered, 1 measurement
--> within 0.01
SELECT avg(first) FROM (SELECT rider, min(price) AS first FROM (
  SELECT rider, price, row_number() OVER (PARTITION BY rider ORDER BY picked, price) AS n FROM rides) AS r WHERE n = 1 GROUP BY rider) AS t;

-- places among everybody's rows
--> refused 42501: must be PARTITION BY the privacy unit
SELECT avg(n) FROM (SELECT row_number() OVER (ORDER BY fare) AS n FROM trips) AS t;

-- places among rows of one zone
--> refused 42501: must be PARTITION BY the privacy unit
SELECT avg(n) FROM (SELECT row_number() OVER (PARTITION BY pickup_zone ORDER BY fare) AS n FROM trips) AS t;

-- an order of texts
--> refused 0A000: ordered by numbers, times, and texts of at most
SELECT avg(n) FROM (SELECT row_number() OVER (PARTITION BY rider ORDER BY note) AS n FROM rides) AS t;

-- running sums of units
--> answered, 1 measurement
--> within 0.01
SELECT avg(s), count(s) FROM (SELECT sum(fare) OVER (PARTITION BY rider ORDER BY picked) AS s FROM rides) AS t;

-- shares of what a unit has
--> answered, 1 measurement
--> within 0.01
SELECT avg(share) FROM (SELECT fare / sum(fare) OVER (PARTITION BY rider) AS share FROM rides WHERE fare >= 1) AS t;

-- time since a unit's first row
--> answered, 1 measurement
--> within 0.01
SELECT avg(a), avg(b) FROM (SELECT day - min(day) OVER (PARTITION BY rider) AS a,
  day - first_value(day) OVER (PARTITION BY rider ORDER BY day) AS b FROM rides) AS t;

-- first and last rows of units
--> answered, 1 measurement
--> within 0.01
SELECT first, count(*), avg(last), sum(same) FROM (SELECT first_value(seats) OVER (PARTITION BY rider ORDER BY picked, seats) AS first,
  last_value(price) OVER (PARTITION BY rider ORDER BY picked, price ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last,
  last_value(seats) OVER (PARTITION BY rider ORDER BY seats DESC) AS same FROM rides) AS t GROUP BY first;

-- texts of a unit's first row
--> answered, 1 measurement
SELECT first, count(*) FROM (SELECT first_value(paid) OVER (PARTITION BY rider ORDER BY picked) AS first FROM rides) AS t GROUP BY 1;

-- moving means and extremes of units
--> answered, 1 measurement
--> within 0.01
SELECT avg(a), sum(b), sum(c) FROM (SELECT avg(price) OVER (PARTITION BY rider ORDER BY picked, price ROWS 2 PRECEDING) AS a,
  max(seats) OVER (PARTITION BY rider ORDER BY picked, seats ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS b,
  sum(stars) OVER (PARTITION BY rider, paid ORDER BY picked RANGE UNBOUNDED PRECEDING) AS c FROM rides) AS t;

-- filtered windows of units
--> answered, 1 measurement
--> within 0.01
SELECT sum(n), sum(s), count(s), sum(k) FROM (SELECT count(*) FILTER (WHERE late) OVER (PARTITION BY rider ORDER BY picked) AS n,
  sum(seats) FILTER (WHERE late) OVER (PARTITION BY rider) AS s, count(age) OVER (PARTITION BY rider ORDER BY day DESC) AS k
  FROM rides) AS t;

-- spreads and votes of units
--> answered, 1 measurement
--> within 0.01
SELECT late, count(*), avg(s) FROM (SELECT bool_or(late) OVER (PARTITION BY rider ORDER BY picked) AS late,
  stddev(weight) OVER (PARTITION BY rider) AS s FROM rides) AS t GROUP BY late;

-- windows with names
--> answered, 1 measurement
--> within 0.01
SELECT is_first, count(*), avg(s) FROM (SELECT picked = min(picked) OVER w AS is_first, sum(seats) OVER (v ROWS 1 PRECEDING) AS s
  FROM rides WINDOW w AS (PARTITION BY rider), v AS (w ORDER BY picked, seats)) AS t GROUP BY is_first;

-- first rows by DISTINCT ON
--> answered, 1 measurement
--> within 0.01
SELECT paid, count(*), avg(price) FROM (SELECT DISTINCT ON (rider) rider, paid, price FROM rides ORDER BY rider, picked, price) AS t
GROUP BY paid;

-- first rows of units and keys by DISTINCT ON
--> answered, 1 measurement
--> within 0.01
WITH first AS (SELECT DISTINCT ON (r, 2) rider AS r, seats > 2, fare FROM rides WHERE late ORDER BY r, 2, day DESC, picked, price)
SELECT count(*), sum(fare) FROM first;

-- frames by the distance of values
--> refused 0A000: the frame RANGE BETWEEN 2 PRECEDING AND CURRENT ROW is not supported
SELECT avg(s) FROM (SELECT sum(fare) OVER (PARTITION BY rider ORDER BY seats RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS s
FROM rides) AS t;

-- the word that each unit has most rows of
--> answered, 1 measurement
SELECT paid, count(*) FROM (
  SELECT rider, paid, row_number() OVER (PARTITION BY rider ORDER BY count(*) DESC, paid) AS place
  FROM rides GROUP BY rider, paid) AS t
WHERE place = 1 GROUP BY paid;

-- shares of each unit's groups
--> answered, 1 measurement
--> within 0.01
SELECT late, avg(share) FROM (
  SELECT late, 1.0 * count(*) / sum(count(*)) OVER w AS share FROM rides GROUP BY rider, late HAVING count(*) > 1
  WINDOW w AS (PARTITION BY rider)) AS t
GROUP BY late;

-- the first group of each unit
--> answered, 1 measurement
--> within 0.01
SELECT paid, sum(n) FROM (
  SELECT DISTINCT ON (rider) rider, paid, count(*) AS n FROM rides GROUP BY rider, paid ORDER BY rider, count(*) DESC, paid) AS t
GROUP BY paid;

-- groups of everybody, by what units come to
--> answered, 4 measurements
--> unlike
SELECT count(*) FROM (SELECT rider, ntile(4) OVER (ORDER BY sum(fare)) AS part FROM rides GROUP BY rider) AS t WHERE part = 1;

-- sums of everybody's rows
--> refused 42501: must be PARTITION BY the privacy unit
SELECT avg(s) FROM (SELECT sum(fare) OVER (PARTITION BY paid) AS s FROM rides) AS t;

-- texts of units in an order
--> refused 0A000: of single units is not supported
SELECT count(s) FROM (SELECT max(paid) OVER (PARTITION BY rider) AS s FROM rides) AS t;

-- first rows of what many share
--> refused 42501: DISTINCT ON shows rows of a protected table
SELECT count(*) FROM (SELECT DISTINCT ON (paid) paid, fare FROM rides ORDER BY paid, fare) AS t;

-- groups written as DISTINCT beside windows
--> answered, 1 measurement
--> within 0.01
SELECT DISTINCT paid, late, count(*) OVER (PARTITION BY late, paid) AS n, round(avg(fare) OVER w) AS f FROM rides
WINDOW w AS (PARTITION BY paid, late) ORDER BY n DESC, paid, late;

-- groups of units written as DISTINCT beside windows
--> answered, 1 measurement
--> empty 16 groups
SELECT n, count(*) FROM (SELECT DISTINCT rider, count(*) OVER (PARTITION BY rider) AS n FROM rides) AS t GROUP BY n;

-- coarser windows beside DISTINCT
--> refused 0A000: DISTINCT over private rows takes no window functions
SELECT DISTINCT paid, late, count(*) OVER (PARTITION BY paid) FROM rides;

-- ordered windows beside DISTINCT
--> refused 0A000: DISTINCT over private rows takes no window functions
SELECT DISTINCT paid, count(*) OVER (PARTITION BY paid ORDER BY fare) FROM rides;

-- a value of the next row, and another where there is none
--> answered, 1 measurement
--> within 0.01
SELECT avg(next), count(next) FROM (SELECT lead(price, 1, 0.0) OVER (PARTITION BY rider ORDER BY picked, price) AS next FROM rides) AS t;

-- the row's own where there is none so far back
--> answered, 1 measurement
--> within 0.01
SELECT avg(gap) FROM (
  SELECT price - lag(price, 2, price) OVER (PARTITION BY rider ORDER BY picked, price) AS gap FROM rides) AS t;

-- NULL of a row that is there stays
--> answered, 1 measurement
--> within 0.01
SELECT count(*), count(next) FROM (
  SELECT lead(tip, 1, 0.0) OVER (PARTITION BY rider ORDER BY picked, price, tip) AS next FROM rides) AS t;

-- a frame that ends no row before the row's own
--> answered, 1 measurement
--> within 0.01
SELECT avg(n) FROM (
  SELECT sum(price) OVER (PARTITION BY rider ORDER BY picked, price ROWS BETWEEN 2 PRECEDING AND 0 PRECEDING) AS n FROM rides) AS t;

-- how far on a row is among its unit's
--> answered, 1 measurement
--> within 0.01
SELECT avg(place), count(*) FILTER (WHERE place > 0.5) FROM (
  SELECT percent_rank() OVER (PARTITION BY rider ORDER BY seats) AS place FROM rides) AS t;

-- what part of its unit's rows come no later
--> answered, 1 measurement
--> within 0.01
SELECT avg(place) FROM (SELECT 100 * cume_dist() OVER (PARTITION BY rider ORDER BY seats) AS place FROM rides) AS t;

-- DISTINCT of units with windows
--> answered, 1 measurement
SELECT first, count(*) FROM (
  SELECT DISTINCT rider, first_value(paid) OVER (PARTITION BY rider ORDER BY picked, price) AS first FROM rides) AS t GROUP BY 1;

-- DISTINCT of units and keys with windows, as conversions are counted
--> answered, 1 measurement
SELECT from_zone, count(*) FROM (
  SELECT DISTINCT first_value(v.from_zone) OVER (PARTITION BY b.rider, b.pickup ORDER BY v.picked DESC, v.from_zone) AS from_zone, b.rider, b.pickup
  FROM rides AS v JOIN (SELECT rider, date_trunc('day', picked) AS pickup FROM rides WHERE from_zone > 0) AS b ON v.rider = b.rider AND
    v.picked <= b.pickup) AS t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5;

-- DISTINCT of windows alone
--> answered, free
SELECT DISTINCT first_value(stars) OVER (PARTITION BY rider ORDER BY picked, price) AS stars FROM rides ORDER BY 1;
