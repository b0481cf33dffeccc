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
SELECT extract(dow FROM pickup_ts) AS dow, extract(isodow FROM pickup_ts) AS iso, count(*) FROM trips GROUP BY 1, 2;

-- the other fields
--> answered, 1 measurement
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
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE pickup_ts < 'infinity';

-- minus infinity, and a date's
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE dropped > '-infinity'::timestamp AND day <> 'infinity'::date AND refund < 'NaN';

-- numbers that are not finite, in comparisons and lists
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE fare < 'Infinity' AND NOT fare >= 'NaN'::float8 AND fare > '-inf'::numeric AND fare NOT IN (3, 'NaN');

-- infinity where a value is computed
--> refused 0A000: can only be compared
SELECT sum(fare * 'Infinity'::float8) FROM trips;

-- no such time
--> postgres 22008: date/time field value out of range
SELECT count(*) FROM trips WHERE pickup_ts < '2019-02-30';

-- decades, centuries, millennia
--> answered, 1 measurement
SELECT date_trunc('decade', picked), date_trunc('century', picked), date_trunc('millennium', dropped),
  extract(decade FROM picked), extract(century FROM picked), extract(millennium FROM picked), count(*) FROM rides
GROUP BY 1, 2, 3, 4, 5, 6;

-- parts of a second, and days of all time
--> answered, 1 measurement
--> within 0.001
SELECT avg(extract(milliseconds FROM picked)), avg(extract(microseconds FROM picked)), avg(extract(julian FROM day)),
  count(*) FILTER (WHERE date_trunc('milliseconds', picked) = date_trunc('microseconds', picked)) FROM rides;

-- whole seconds end at 59
--> answered, 1 measurement
SELECT floor(extract(second FROM picked)), count(*) FROM rides GROUP BY 1;

-- days and weeks within a month
--> answered, 1 measurement
SELECT extract(day FROM picked), extract(doy FROM picked), extract(week FROM picked), count(*) FROM rides GROUP BY 1, 2, 3;

-- the function date
--> answered, 1 measurement
SELECT date(picked), date(dropped) = day AS same, count(*) FROM rides GROUP BY 1, 2;

-- the first day of a unit, as a date
--> answered, 1 measurement
SELECT date_trunc('month', dropped)::date AS m, (date_trunc('week', dropped + interval '1 day') - interval '1 day')::date AS w,
  count(*) FROM (SELECT dropped FROM rides WHERE dropped < '2019-03-01') AS r GROUP BY 1, 2;

-- bins
--> answered, 1 measurement
SELECT date_bin('15 minutes', pickup_ts, '2001-01-01') AS q, count(*) FROM trips
WHERE pickup_ts >= '2019-03-05' AND pickup_ts < '2019-03-05 04:00' GROUP BY 1 ORDER BY 1;

-- bins that begin elsewhere
--> answered, 1 measurement
SELECT date_bin(interval '36 hours', dropped, timestamp '2031-02-03 04:05:06') AS q, count(*) FROM rides GROUP BY 1;

-- bins of months
--> refused 0A000: a constant stride
SELECT date_bin('1 month', pickup_ts, '2001-01-01'), count(*) FROM trips GROUP BY 1;

-- time between times
--> answered, 1 measurement
--> within 0.001
SELECT avg(extract(epoch FROM dropped - picked)), sum(extract(epoch FROM (dropped - day)) / 3600),
  avg(extract(second FROM dropped - picked)), count(*) FILTER (WHERE dropped - picked BETWEEN interval '1 day' AND '1 month'),
  sum(CASE WHEN dropped - picked > interval '30 minutes' THEN 1 ELSE 0 END) FROM rides;

-- time between times as a key
--> answered, 1 measurement
SELECT extract(day FROM dropped - picked), date_part('hour', dropped - picked) > extract(minutes FROM picked - dropped) AS late,
  count(*) FROM rides WHERE dropped > '2019-03-28' AND picked < '2019-03-02' GROUP BY 1, 2 HAVING count(*) > 0;

-- an interval is no key
--> refused 0A000: groups, the limit is 100,000
SELECT dropped - picked, count(*) FROM rides GROUP BY 1;

-- years since
--> answered, 1 measurement
SELECT extract(year FROM age(timestamp '2025-03-04 05:06:07', dropped)), date_part('year', age('2018-03-02', picked)),
  extract(year FROM age(day)) > 5 AS old, count(*) FROM rides GROUP BY 1, 2, 3 HAVING count(*) > 0;

-- months, days and hours since
--> answered, 1 measurement
--> within 0.002
SELECT sum(date_part('month', age(timestamp '2019-12-30', dropped))), sum(extract(day FROM age(dropped, picked))),
  sum(extract(hour FROM age(picked, dropped))), sum(extract(minute FROM age(dropped, timestamp '2020-02-29 12:34:56.789'))),
  sum(extract(second FROM age(dropped, picked))) FROM rides;

-- ages are not compared
--> refused 0A000: an age can't be compared
SELECT count(*) FROM rides WHERE age(dropped) > interval '3 years';

-- an epoch and back
--> answered, 1 measurement
SELECT to_timestamp(floor(extract(epoch FROM picked) / 86400) * 86400) AT TIME ZONE 'UTC' AS d, count(*) FROM rides GROUP BY 1;

-- a time with a zone is a key
--> answered, 1 measurement
SELECT to_timestamp(floor(extract(epoch FROM picked) / 86400) * 86400) AS d, count(*) FROM rides GROUP BY 1;

-- the beginnings of times' texts
--> answered, 1 measurement
SELECT left(picked::text, 10) AS d, count(*) FROM rides GROUP BY 1;

-- parts of times' texts
--> answered, 1 measurement
SELECT substr(CAST(picked AS varchar), 12, 2) AS hour, substring(day::text from 6 for 2) AS month, count(*) FROM rides
WHERE left(dropped::text, 4) <= '2019' GROUP BY 1, 2;

-- beginnings of texts that are cut already
--> answered, 1 measurement
SELECT left(dropped::varchar(5), 7), count(*) FROM rides GROUP BY 1;

-- a text of a time to its fractions
--> refused 0A000: needs a column whose possible values are declared
SELECT left(picked::text, 23), count(*) FROM rides GROUP BY 1;

-- what comes again each day, written out
--> answered, 1 measurement
SELECT to_char(pickup_ts, 'HH12 AM') AS h, count(*) FROM trips GROUP BY 1;

-- what comes again each week, written out
--> answered, 1 measurement
SELECT to_char(picked, 'Dy HH24') AS h, count(*), sum(fare) FROM rides GROUP BY 1;

-- two texts of one time
--> answered, 1 measurement
SELECT to_char(pickup_ts, 'ID') || ' ' || to_char(pickup_ts, 'HH24') AS h, count(*) FROM trips GROUP BY 1;
