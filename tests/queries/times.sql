-- by day
--> answered, 1 measurement
SELECT date_trunc('day', pickup_ts) AS d, count(*) FROM trips GROUP BY 1 ORDER BY 1;

-- by hour
--> answered, 1 measurement
SELECT date_trunc('hour', pickup_ts) AS h, count(*) FROM trips GROUP BY h ORDER BY h;

-- by week, month, quarter, year
--> answered, 1 measurement
SELECT date_trunc('week', pickup_ts), date_trunc('month', dropped), count(*) FROM
(SELECT picked AS pickup_ts, dropped FROM rides) AS r GROUP BY 1, 2;

-- by quarter of an hour
--> answered, 1 measurement
SELECT date_trunc('hour', pickup_ts) + interval '15 minutes' * floor(extract(minute FROM pickup_ts) / 15) AS q, count(*)
FROM trips GROUP BY 1 ORDER BY 1 LIMIT 100;

-- by hour of the day
--> answered, 1 measurement
--> within 0.002
SELECT extract(hour FROM pickup_ts) AS h, avg(tip) FROM trips GROUP BY 1 ORDER BY 1;

-- by day of the week
--> answered, 1 measurement
SELECT extract(dow FROM pickup_ts) AS dow, extract(isodow FROM pickup_ts) AS iso, count(*) FROM trips GROUP BY 1, 2
ORDER BY 1, 2 LIMIT 0;

-- the other fields
--> answered, 1 measurement
--> empty 51 groups
SELECT extract(year FROM picked) AS y, date_part('quarter', picked) AS q, extract(week FROM picked), count(*) FROM rides
GROUP BY 1, 2, 3;

-- a date
--> answered, 1 measurement
SELECT day, count(*) FROM rides GROUP BY day ORDER BY day;

-- a timestamp as a date
--> answered, 1 measurement
SELECT pickup_ts::date AS d, count(*) FROM trips WHERE pickup_ts < '2019-03-03' GROUP BY 1 ORDER BY 1;

-- written out
--> answered, 1 measurement
SELECT to_char(pickup_ts, 'YYYY-MM') AS m, count(*) FROM trips GROUP BY 1;

-- half-open ranges
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE pickup_ts >= '2019-03-04' AND pickup_ts < '2019-03-11';

-- timestamps beyond the bounds are at the last microsecond
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE pickup_ts >= timestamp '2019-03-31 23:59:59.999999';

-- with a zone
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE pickup_ts >= '2019-03-05 00:00:00+05'::timestamptz;

-- in zulu
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE pickup_ts >= '2019-03-10T00:00:00.000Z'::timestamptz
AND pickup_ts <= '2019-03-12T23:59:59.999Z'::timestamptz;

-- from a format
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE pickup_ts >= TO_TIMESTAMP('2019-03-02 12:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US');

-- intervals
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE picked + interval '1 month -2 days 3 hours' < dropped - interval '1 day';

-- between
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE day BETWEEN '2019-03-02' AND '2019-03-07' AND picked BETWEEN day AND '2019-03-06 12:00';

-- days between dates
--> answered, 1 measurement
--> within 0.001
SELECT avg(day - picked::date), sum(day - date '2019-03-01') FROM rides;

-- days added to dates
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE day + seats > '2019-03-10' AND day - 1 < '2019-03-12';

-- seconds
--> answered, 1 measurement
--> within 0.001
SELECT avg(extract(epoch FROM dropped) - extract(epoch FROM picked)) FROM rides;

-- fields that are fractions
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE extract(second FROM picked) < 30.5 AND extract(minute FROM picked) >= 30;

-- dates compared with timestamps
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE day > picked;

-- a time that is always past
--> answered, 1 measurement
--> like SELECT count(*) FROM trips WHERE pickup_ts < now()
SELECT count(*) FROM trips WHERE pickup_ts < date_trunc('year', now()) AND pickup_ts < current_date;

-- too far
--> refused 55000: could grow too large
SELECT count(*) FROM trips WHERE pickup_ts + interval '9000 years' > '2019-03-05';

-- infinity
--> refused 0A000: can't be compared
SELECT count(*) FROM trips WHERE pickup_ts < 'infinity';

-- no such time
--> postgres 22008: date/time field value out of range
SELECT count(*) FROM trips WHERE pickup_ts < '2019-02-30';
