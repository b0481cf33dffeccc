-- texts are cut by varchar(n)
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE payment_type::varchar(1) = 'c';

-- texts without declared values too
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE note::varchar(2) = 'sn'), count(*) FILTER (WHERE CAST(note AS character varying(1)) = 'Ü') FROM rides;

-- a text that is cut is a key
--> answered, 1 measurement
SELECT payment_type::varchar(3) AS paid, count(*) FROM trips GROUP BY 1;

-- blanks at the end of char(n) mean nothing
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE paid::char(8) = 'cash'), count(*) FILTER (WHERE paid::char = 'c') FROM rides;

-- nor of texts without declared values
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE note::char(20) = 'NULL'), count(*) FILTER (WHERE note::char(6) = 'snow;') FROM rides;

-- numeric(p, s) rounds, halves away from zero
--> answered, 1 measurement
SELECT sum(fare::numeric(5, 1)), count(*) FILTER (WHERE tip::numeric(4, 0) = -3), sum(price::numeric(4)) FROM rides;

-- and may be a key
--> answered, 1 measurement
SELECT tip::numeric(4) AS tip, count(*) FROM rides GROUP BY 1;

-- a real has 6 digits as a numeric
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE weight::numeric = 0.1), count(*) FILTER (WHERE weight::numeric * 10 >= 3), sum(weight::numeric(6, 1)) FROM rides;

-- a real with the digits of a numeric is cut off for a key
--> answered, 1 measurement
SELECT floor(weight::numeric * 100) / 10 AS w, count(*) FROM rides GROUP BY 1;

-- numeric(p, s) of whole numbers
--> answered, 1 measurement
SELECT sum(seats::numeric(4, 2)), avg(age::decimal(5, 1)) FROM rides;

-- what may not fit would fail
--> refused 0A000: more than 2 digits before the point
SELECT sum(fare::numeric(4, 2)) FROM rides;

-- timestamp(0) rounds to the nearest second
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE picked::timestamp(0) = picked), count(*) FILTER (WHERE dropped::timestamp(3) > '2019-03-05') FROM rides;

-- constants behind their types are of these before they are cast
--> answered, 1 measurement
SELECT DATE '2019-03-04'::timestamp AS t, DATE '2019-03-04'::timestamp::text AS u, count(*) FROM rides WHERE left(picked::text, 10) =
  DATE '2019-03-04'::text AND picked > TIMESTAMP '2019-03-04 10:30:00.6'::timestamp(0)::time + DATE '2019-03-04' GROUP BY 1, 2;

-- an answer of times, rounded
--> answered, 2 measurements
--> within 1
SELECT (max(pickup_ts) - min(pickup_ts))::interval(0) > interval '1 day' AS b FROM trips;
