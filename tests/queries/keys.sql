-- declared values, and none
--> answered, 1 measurement
SELECT payment_type, count(*) FROM trips GROUP BY payment_type;

-- by ordinal, by name
--> answered, 1 measurement
SELECT payment_type AS p, passenger_count, count(*) FROM trips GROUP BY 1, passenger_count ORDER BY 1, 2;

-- an alias of an expression
--> answered, 1 measurement
SELECT upper(payment_type) AS u, count(*) FROM trips GROUP BY u ORDER BY u;

-- a reference
--> answered, 1 measurement
SELECT pickup_zone, count(*) FROM trips GROUP BY pickup_zone ORDER BY pickup_zone;

-- a nullable reference
--> answered, 1 measurement
SELECT to_zone, count(*) FROM rides GROUP BY to_zone;

-- booleans
--> answered, 1 measurement
SELECT shared, late, count(*) FROM rides GROUP BY shared, late ORDER BY 1, 2;

-- whole numbers
--> answered, 1 measurement
SELECT age, count(*) FROM rides GROUP BY age;

-- declared numbers
--> answered, 1 measurement
SELECT stars, sum(seats) FROM rides GROUP BY stars ORDER BY stars DESC;

-- bins
--> answered, 1 measurement
SELECT floor(fare / 10) * 10 AS fare, count(*) FROM trips GROUP BY 1 ORDER BY 1;

-- bins of both signs
--> answered, 1 measurement
--> empty 56 groups
SELECT floor(tip / 5), ceil(tip / 5), count(*) FROM rides WHERE tip > -4.9 GROUP BY 1, 2;

-- rounded
--> answered, 1 measurement
SELECT round(fare), count(*) FROM trips GROUP BY 1 ORDER BY 1;

-- rounded to a digit
--> answered, 1 measurement
SELECT round(weight::numeric, 1) AS w, count(*) FROM rides GROUP BY 1 ORDER BY 1;

-- buckets
--> answered, 1 measurement
SELECT width_bucket(fare, 10, 110, 5) AS b, count(*) FROM trips GROUP BY 1 ORDER BY 1;

-- a condition with text
--> answered, 1 measurement
--> within 0.001
SELECT CASE WHEN fare > 20 THEN 'hi' ELSE 'lo' END AS band, sum(fare) / count(*) AS mean FROM trips
GROUP BY CASE WHEN fare > 20 THEN 'hi' ELSE 'lo' END;

-- a condition with numbers
--> answered, 1 measurement
SELECT CASE WHEN fare > 100 THEN 1 WHEN fare > 50 THEN 1.2 ELSE 0.9 END AS factor, count(*) FROM trips GROUP BY 1;

-- a condition with nothing else
--> answered, 1 measurement
SELECT CASE WHEN late THEN 'late' END, count(*) FROM rides GROUP BY 1;

-- comparisons
--> answered, 1 measurement
SELECT fare > 20 AS dear, tip IS NULL AS untipped, count(*) FROM rides GROUP BY 1, 2;

-- what a missing value becomes
--> answered, 1 measurement
SELECT coalesce(payment_type, 'none') AS p, count(*) FROM trips GROUP BY 1;

-- integer division and remainder
--> answered, 1 measurement
SELECT age / 10 AS tens, age % 3 AS rest, count(*) FROM rides WHERE age >= 10 GROUP BY 1, 2 ORDER BY 1, 2;

-- keys of one column are those that occur together
--> answered, 1 measurement
SELECT passenger_count + 1 AS seats, -passenger_count AS minus, count(*) FROM trips GROUP BY 1, 2;

-- keys that WHERE restricts
--> answered, 1 measurement
SELECT pickup_zone, count(*) FROM trips WHERE pickup_zone IN (1, 2, 77) GROUP BY pickup_zone;

-- an expression of a key
--> answered, 1 measurement
SELECT passenger_count, passenger_count * 2 AS twice, count(*) FROM trips GROUP BY passenger_count;

-- a key that is not shown
--> answered, 1 measurement
SELECT count(*) AS n FROM trips GROUP BY payment_type ORDER BY n;

-- a constant
--> answered, 1 measurement
SELECT 'all' AS what, count(*) FROM trips GROUP BY 1;

-- functions of a column with few values
--> answered, 1 measurement
SELECT substr(paid, 1, 2) AS s, length(paid) AS l, paid || '!' AS x, count(*) FROM rides GROUP BY 1, 2, 3;

-- groups without rows
--> answered, 1 measurement
--> empty 1 group: there is no such row
--> within 0.001
SELECT passenger_count, fare < 150 AS cheap, count(*), sum(fare), avg(fare) FROM trips
WHERE passenger_count = 3 AND fare < 149 GROUP BY 1, 2;

-- the domain itself is free
--> answered, free
SELECT DISTINCT payment_type FROM trips ORDER BY 1;

-- and so is grouping without an aggregate
--> answered, free
SELECT pickup_zone FROM trips GROUP BY 1 ORDER BY 1 DESC LIMIT 3;

-- a column without a domain
--> refused 55000: there are too many values
SELECT fare, count(*) FROM trips GROUP BY fare;

-- a unit
--> refused 42501: would show single individuals
SELECT passenger_id, count(*) FROM trips GROUP BY passenger_id;

-- a unit in disguise
--> refused 42501: would show single individuals
SELECT driver_id % 10, count(*) FROM trips GROUP BY 1;

-- too many groups
--> refused 0A000: more than 100,000 groups
SELECT date_trunc('second', pickup_ts), count(*) FROM trips GROUP BY 1;

-- a column that is not grouped
--> postgres 42803: must appear in the GROUP BY clause
SELECT payment_type, fare, count(*) FROM trips GROUP BY payment_type;

-- what a function makes of NULL
--> answered, 1 measurement
SELECT concat(paid, '!'), count(*) FROM rides GROUP BY 1;

-- a text of two columns, one of which may be NULL
--> answered, 1 measurement
SELECT concat_ws(' ', paid, stars), count(*) FROM rides GROUP BY 1;

-- a text of two columns that is NULL where one is
--> answered, 1 measurement
SELECT shared || ', ' || paid AS k, count(*), sum(length(concat(paid, stars))) FROM rides GROUP BY k;

-- lengths and places of texts
--> answered, 1 measurement
SELECT bit_length(paid) AS b, character_length(paid || stars) AS c, regexp_instr(paid, '[sr]') AS r, count(*) FROM rides
WHERE regexp_like(paid, '^C', 'i') GROUP BY 1, 2, 3;

-- texts of whole numbers
--> answered, 1 measurement
--> empty 2 groups
SELECT age::text || ' years' AS a, to_char(seats, '000') AS s, count(*) FROM rides WHERE age > 98 GROUP BY 1, 2;

-- texts of what has few values
--> answered, 1 measurement
SELECT trim(to_char(picked, 'Day')) AS d, (fare > 20)::text AS dear, day::text AS day, count(*) FROM rides
WHERE day = '2019-03-03' GROUP BY 1, 2, 3;

-- hours with a zero before them
--> answered, 1 measurement
SELECT lpad(extract(hour FROM picked)::text, 2, '0') || ':00' AS h, split_part(to_char(picked, 'YYYY-MM'), '-', 2) AS m, count(*)
FROM rides GROUP BY 1, 2;

-- formats within WHERE
--> answered, 1 measurement
SELECT to_char(pickup_ts, 'YYYY-MM-DD') AS d, count(*) FROM trips WHERE pickup_ts >= '2019-03-05' AND pickup_ts < '2019-03-07' GROUP BY 1;

-- similar to
--> answered, 1 measurement
SELECT paid SIMILAR TO 'ca(rd|sh)' AS c, count(*) FROM rides GROUP BY 1;

-- floating point as text
--> refused 0A000: needs a column whose possible values
SELECT fare::text, count(*) FROM trips GROUP BY 1;

-- tens
--> answered, 1 measurement
SELECT round(price, -1) AS p, round(age, -1) AS a, (floor(price / 10) * 10)::integer AS f, count(*) FROM rides
WHERE age > 96 GROUP BY 1, 2, 3 HAVING count(*) > 0;

-- buckets between given numbers
--> answered, 1 measurement
SELECT width_bucket(age, ARRAY[10, 20, 50]) AS a, width_bucket(tip, '{0,5.5}'::float8[]) AS t, count(*) FROM rides GROUP BY 1, 2;

-- all but one
--> answered, 1 measurement
SELECT nullif(seats, 3) AS s, nullif(paid, 'cash') AS p, CASE WHEN seats < 3 THEN seats ELSE 9 END AS c, count(*) FROM rides
WHERE seats IN (2, 3) GROUP BY 1, 2, 3;

-- common divisors and multiples
--> answered, 1 measurement
--> within 0.002
SELECT gcd(seats, 4), count(*), sum(lcm(seats, 2)) FROM rides GROUP BY 1;

-- bits
--> answered, 1 measurement
--> within 0.002
SELECT seats & 1, count(*), sum(seats | 4), sum(seats # 3), sum(~seats), sum(seats << 2), avg(seats >> 1) FROM rides GROUP BY 1;

-- of letters and numbers
--> answered, 1 measurement
SELECT ascii(paid), regexp_count(paid, '[aeiou]'), to_hex(seats + 13), count(*) FROM rides WHERE seats < 1 AND paid LIKE 'c%' GROUP BY 1, 2, 3;

-- bins as Metabase writes them
--> answered, 1 measurement
SELECT ((floor(((fare - 0.0) / 12.5)) * 12.5) + 0.0) AS fare, count(*) AS count FROM trips
GROUP BY ((floor(((fare - 0.0) / 12.5)) * 12.5) + 0.0) ORDER BY 1 ASC;

-- bins that begin somewhere else, of every kind of number
--> answered, 1 measurement
--> empty 19
SELECT (floor((tip - -5.0) / 8.0) * 8.0) + -5.0 AS tip, floor(seats / 2.0) * 2.0 AS seats, 0.5 + floor((price - 0.5) / 50.0) * 50.0 AS price,
  count(*) FROM rides WHERE seats > 2 GROUP BY 1, 2, 3;

-- texts of a list in WHERE
--> answered, 1 measurement
--> empty 2 groups
SELECT note, count(*), sum(seats) FROM rides WHERE note IN ('cash', 'dispute', 'none of all', NULL) GROUP BY note ORDER BY note;

-- first letters of a list in WHERE
--> answered, 1 measurement
--> empty 2 groups
SELECT left(note, 2) AS l, length(note) > 4, count(*) FROM rides WHERE left(note, 2) IN ('ca', 'di') GROUP BY 1, 2;

-- texts that a condition leaves out
--> refused 55000: has no declared domain
SELECT note, count(*) FROM rides WHERE note NOT IN ('cash') GROUP BY note;

-- texts of a list beside others
--> refused 55000: has no declared domain
SELECT note, count(*) FROM rides WHERE note IN ('cash') OR seats > 3 GROUP BY note;

-- more buckets than an answer may have rows
--> refused 0A000: width_bucket makes 50,000 buckets here, the limit is 10,000
SELECT width_bucket(fare, 0, 150, 50000) AS b, count(*) FROM trips GROUP BY 1;

-- casts of keys, of which groups know nothing
--> answered, 1 measurement
SELECT (passenger_count::bigint << 40)::text AS shifted, passenger_count::bigint * 1000000000 > 3000000000 AS many,
       payment_type::varchar AS paid, count(*) FROM trips GROUP BY passenger_count, payment_type;

-- a key's type in a list
--> answered, 1 measurement
SELECT x::bigint AS seats, n FROM (SELECT passenger_count AS x, count(*) AS n FROM trips GROUP BY passenger_count) AS t;

-- a cast that is the key's own
--> answered, 1 measurement
SELECT passenger_count::bigint + 1 AS more, count(*) FROM trips GROUP BY passenger_count::bigint;
