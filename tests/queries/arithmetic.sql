-- halves
--> answered, 1 measurement
SELECT round((fare * 2)::numeric, 0) / 2 AS f, count(*) FROM trips GROUP BY 1;

-- bins from where they begin
--> answered, 1 measurement
SELECT ((floor((("trips"."fare" - -20.0) / 20.0)) * 20.0) + -20.0) AS "fare", count(*) AS count FROM trips
GROUP BY ((floor((("trips"."fare" - -20.0) / 20.0)) * 20.0) + -20.0) ORDER BY 1;

-- halves of decimals
--> answered, 1 measurement
SELECT round(price * 2) / 2 AS f, count(*) FROM rides GROUP BY 1;

-- roots and logarithms of whole numbers
--> answered, 1 measurement
--> empty 42 groups
SELECT sqrt(passenger_count) AS r, ln(passenger_count + 1) AS l, count(*) FROM trips GROUP BY 1, 2;

-- the other logarithm, and powers
--> answered, 1 measurement
--> empty 42 groups
SELECT log(passenger_count + 1) AS r, exp(passenger_count::float) AS l, count(*) FROM trips GROUP BY 1, 2;

-- roots of numbers below 0, where PostgreSQL fails
--> refused 55000: can't be listed
SELECT sqrt(age - 50), count(*) FROM rides GROUP BY 1;

-- the remainder of a field
--> answered, 1 measurement
SELECT mod(extract(hour FROM pickup_ts), 6) AS h, count(*) FROM trips GROUP BY 1;

-- thirds
--> answered, 1 measurement
SELECT passenger_count / 3.0 AS third, count(*) FROM trips GROUP BY 1;

-- tenths, which are no numbers in double precision
--> answered, 1 measurement
--> empty 7 groups
SELECT passenger_count * 0.1 + 0.2 AS tenth, passenger_count % 2 * 0.3 AS x, count(*) FROM trips GROUP BY 1, 2;

-- what is one number in decimals and two in double precision
--> refused 55000: can't be listed
SELECT passenger_count * 0.1 + (6 - passenger_count) * 0.1 AS x, count(*) FROM trips GROUP BY 1;

-- epochs of hours
--> answered, 1 measurement
SELECT extract(epoch FROM date_trunc('hour', picked)) AS h, count(*) FROM rides GROUP BY 1;

-- numbers with a step
--> answered, 1 measurement
--> empty 1 group
SELECT refund, count(*) FROM rides GROUP BY 1;

-- numbers with a step in floating point
--> answered, 1 measurement
--> empty 272 groups
SELECT weight + 1 AS w, count(*) FROM rides WHERE weight BETWEEN -0.75 AND 0.75 AND weight <> 0.5 GROUP BY 1;

-- numbers of a type with a step
--> answered, 1 measurement
--> empty 500 groups
SELECT price * 2 AS p, count(*) FROM rides WHERE price >= 1 AND price <= 1.05 GROUP BY 1;

-- labels of bins
--> answered, 1 measurement
--> empty 240 groups
SELECT trunc(fare / 10) * 10 || ' to ' || trunc(fare / 10) * 10 + 10 AS f, count(*) FROM trips GROUP BY 1;

-- labels of bins in decimals, with the digits that PostgreSQL writes
--> answered, 1 measurement
SELECT floor(price / 16) * 16 || '-' || floor(price / 16) * 16 + 15.99 AS f, '$' || round(price, -1) AS g,
  round(price - 64, -2)::text AS h, count(*) FROM rides GROUP BY 1, 2, 3 HAVING count(*) > 0;

-- labels of rounded numbers
--> answered, 1 measurement
SELECT '$' || round(fare::numeric / 10, 1) AS f, count(*) FROM rides GROUP BY 1;

-- texts of seconds
--> answered, 1 measurement
SELECT extract(epoch FROM date_trunc('day', picked))::text AS h, to_char(floor(extract(hour FROM picked) / 6) * 6, '00') AS s,
  count(*) FROM rides GROUP BY 1, 2;

-- zero has a sign in floating point
--> refused 0A000: needs a column whose possible values are declared
SELECT (ceil(tip / 10) * 10)::text AS f, count(*) FROM rides GROUP BY 1;

-- but not where no bin is 0
--> answered, 1 measurement
SELECT (floor((tip - 5) / 10) * 10 + 5)::text AS f, count(*) FROM rides GROUP BY 1;

-- several parts of a time in one text
--> answered, 1 measurement
SELECT to_char(dropped, 'MM') || '-' || to_char(dropped, 'YY') AS m, concat(extract(year FROM picked), ' Q', to_char(picked, 'Q')) AS q,
  count(*) FROM rides GROUP BY 1, 2;

-- numbers with a step that are too many
--> answered, 2 measurements
--> as eve
SELECT price, count(*) FROM rides WHERE price IN (0, 128) GROUP BY 1;

-- rounded numbers that are too many
--> answered, 2 measurements
--> as eve
SELECT round(fare::numeric, 4) * 2 AS f, floor(fare / 0.001) * 0.001 AS g, count(*) FROM trips WHERE fare IN (0, 150) GROUP BY 1, 2;

-- declared groups that are too many together
--> answered, 2 measurements
--> as eve
--> unlike
SELECT date_trunc('hour', pickup_ts), pickup_zone, payment_type, passenger_count, floor(fare / 50), count(*) FROM trips
GROUP BY 1, 2, 3, 4, 5;

-- numbers in floating point without a step
--> refused 55000: can't be listed
--> as eve
SELECT fare, count(*) FROM rides GROUP BY 1;
