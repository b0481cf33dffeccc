-- the time of the day
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE picked::time BETWEEN '08:00' AND '12:00'), count(*) FILTER (WHERE cast(dropped AS time) < time '06:30:15.5'),
  count(*) FILTER (WHERE NOT picked::time >= dropped::time), sum(CASE WHEN (dropped::time) <> '00:00' THEN 1 ELSE 0 END) FROM rides;

-- fields of the time of the day
--> answered, 1 measurement
SELECT extract(hour FROM picked::time) AS h, floor(extract(epoch FROM dropped::time) / 21600) AS q, count(*) FROM rides GROUP BY 1, 2;

-- the time of the day as a value
--> answered, 2 measurements
--> within 1e-6
SELECT avg(picked::time), count(DISTINCT dropped::time), count(picked::time), sum(CASE WHEN coalesce(dropped::time, '12:00') > '10:00' THEN 1 ELSE 0 END)
FROM rides;

-- beginnings of hours as keys
--> answered, 1 measurement
SELECT date_trunc('hour', picked)::time AS t, date_bin('8 hours', dropped, '2001-01-01')::time AS u, count(*) FROM rides GROUP BY 1, 2;

-- the time of the day as a key
--> refused 55000: the groups of picked::time can't be listed
SELECT picked::time, count(*) FROM rides GROUP BY 1;

-- some of the day's hours
--> answered, 1 measurement
SELECT t, count(*) FROM (SELECT date_trunc('hour', picked)::time AS t FROM rides WHERE picked < '2019-03-02 00:30') AS r
WHERE t < '03:00' GROUP BY 1;

-- no time
--> postgres 22007: invalid input syntax for type time
SELECT count(*) FROM rides WHERE picked::time > 'noon';

-- how the time of the day is moved
--> refused 0A000
SELECT count(*) FROM rides WHERE picked::time + interval '1 hour' > '10:00';

-- time of day with a zone
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE picked::timestamptz::time > '10:00';
