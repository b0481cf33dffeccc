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
--> refused 0A000: ordered by numbers and times
SELECT avg(n) FROM (SELECT row_number() OVER (PARTITION BY rider ORDER BY note) AS n FROM rides) AS t;

-- running sums of units
--> refused 0A000: is not supported over private rows
SELECT avg(s) FROM (SELECT sum(fare) OVER (PARTITION BY passenger_id ORDER BY pickup_ts) AS s FROM trips) AS t;
