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
--> within 0.001
SELECT min(dropped - picked), max(dropped - picked), percentile_cont(0.5) WITHIN GROUP (ORDER BY dropped - picked) FROM rides;

-- spans of whole numbers
--> answered, 1 measurement
--> within 0.001
SELECT sum(interval '90 minutes' * seats), avg(age * interval '1 day'), count(*) FILTER (WHERE interval '1 hour' * seats > interval '90 minutes')
FROM rides;

-- a span of no row
--> answered, free
SELECT sum(dropped - picked) FROM rides WHERE false;

-- ages have months, whose lengths differ
--> refused 0A000: an interval that depends on private rows
SELECT avg(age(dropped, picked)) FROM rides;

-- months have no one length
--> refused 0A000: is not supported over private rows
SELECT sum(interval '1 month' * seats) FROM rides;
