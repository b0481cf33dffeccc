-- how long it takes
--> answered, 1 measurement
--> within 0.001
SELECT avg(dropped - picked) AS mean, sum(dropped - picked) AS total, count(dropped - picked), extract(epoch FROM avg(dropped - day)) / 60
FROM rides;

-- how long it takes by day
--> answered, 1 measurement
--> within 0.001
SELECT day, avg(dropped - picked) FILTER (WHERE dropped > picked), coalesce(sum(picked - picked), interval '0') FROM rides
GROUP BY day ORDER BY day;

-- the shortest, the longest and the usual time
--> answered, 3 measurements
--> within 0.002
SELECT min(dropped - picked), max(dropped - picked), percentile_cont(0.5) WITHIN GROUP (ORDER BY dropped - picked) FROM rides;

-- spans of whole numbers
--> answered, 1 measurement
--> within 0.001
SELECT sum(interval '90 minutes' * seats), avg(age * interval '1 day'), count(*) FILTER (WHERE interval '1 hour' * seats > interval '90 minutes')
FROM rides;

-- a span of no row
--> answered, free
SELECT sum(dropped - picked) FROM rides WHERE false;

-- a column that is a span, as a CTE names it
--> answered, 1 measurement
--> within 0.001
WITH timed AS (SELECT *, dropped - picked AS took FROM rides)
SELECT paid, avg(took), sum(took), count(took), count(*) FILTER (WHERE took > '10 minutes') FROM timed GROUP BY paid ORDER BY paid;

-- the parts of a column that is a span
--> answered, 1 measurement
SELECT extract(hour FROM took) AS hours, count(*) FROM (SELECT dropped - picked AS took FROM rides) AS timed
WHERE took >= '0' AND took < '5 hours' GROUP BY 1 ORDER BY 1;

-- a span where there is none, and the longer of two by CASE
--> answered, 1 measurement
--> within 0.001
SELECT avg(coalesce(took, interval '0')), avg(CASE WHEN took > least THEN took ELSE least END)
FROM (SELECT dropped - picked AS took, interval '5 minutes' AS least FROM rides) AS timed;

-- the time since a rider's ride before
--> answered, 1 measurement
--> within 0.001
SELECT avg(pause), count(*) FILTER (WHERE pause < interval '1 hour')
FROM (SELECT picked - lag(picked) OVER (PARTITION BY rider ORDER BY picked, number) AS pause FROM rides) AS pauses;

-- the longest of each rider's rides
--> answered, 1 measurement
--> within 0.001
SELECT avg(longest) FROM (SELECT max(took) AS longest FROM (SELECT rider, dropped - picked AS took FROM rides) AS t GROUP BY rider) AS riders;

-- ages have months, whose lengths differ
--> refused 0A000: an age is not a value of a column here
SELECT avg(age(dropped, picked)) FROM rides;

-- months have no one length
--> refused 0A000: is not supported over private rows
SELECT sum(interval '1 month' * seats) FROM rides;
