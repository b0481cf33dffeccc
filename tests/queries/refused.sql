-- rows
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM trips;

-- some columns of rows
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT trip_id, fare FROM trips WHERE fare > 100 ORDER BY fare LIMIT 100;

-- a column probe without rows
--> empty
SELECT * FROM trips LIMIT 0;

-- one row, whichever
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM trips LIMIT 1;

-- the columns, as Django asks for them
--> empty
SELECT * FROM "trips" LIMIT 1;

-- some columns of one row
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT pickup_zone, fare AS f FROM (SELECT * FROM trips) AS t FETCH FIRST ROW ONLY;

-- the row with the largest value
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM trips ORDER BY trip_distance DESC LIMIT 1;

-- somebody who paid much
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT passenger_id FROM trips WHERE fare > 100 LIMIT 1;

-- one row of a join
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM trips JOIN zones ON zone_id = pickup_zone AND zone = 'JFK Airport' LIMIT 1;

-- one row of a subquery that chooses
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM (SELECT * FROM trips WHERE fare > 100) AS t LIMIT 1;

-- one row of a CTE that chooses
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
WITH dear AS (SELECT * FROM trips WHERE fare > 100) SELECT * FROM dear LIMIT 1;

-- the second row
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM trips LIMIT 1 OFFSET 1;

-- a row's number
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT row_number() OVER (ORDER BY fare), fare FROM trips LIMIT 1;

-- ties with one row
--> refused 42501: rows of trips are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM trips ORDER BY fare FETCH FIRST 1 ROW WITH TIES;

-- a column probe with a false condition
--> empty
SELECT * FROM (SELECT * FROM trips) AS t WHERE 1 = 0;

-- a column probe of an answer
--> empty
SELECT payment_type, count(*) FROM trips GROUP BY 1 LIMIT 0;

-- a column probe around an answer
--> empty
SELECT * FROM (SELECT payment_type, avg(fare) AS f FROM trips GROUP BY 1) AS t WHERE 1 = 0;

-- a column probe with FETCH
--> empty
SELECT * FROM trips FETCH FIRST 0 ROWS ONLY;

-- what is no column probe
--> answered, 1 measurement
SELECT * FROM (SELECT count(*) FROM trips) AS t WHERE 1 = 1.0;

-- TABLE
--> refused 42501
TABLE trips;

-- what no key determines
--> postgres 42803: must appear in the GROUP BY clause
SELECT z.zone_id, fare, count(*) FROM trips JOIN zones z ON pickup_zone = zone_id GROUP BY z.zone_id;

-- what the key of another table determines
--> postgres 42803: must appear in the GROUP BY clause
SELECT a.zone_id, b.zone, count(*) FROM trips JOIN zones a ON pickup_zone = a.zone_id JOIN zones b ON b.zone_id = a.zone_id GROUP BY a.zone_id;

-- values in order
--> refused 0A000: array_agg() shows values of single rows
SELECT array_agg(fare) FROM trips;

-- values as text
--> refused 0A000: string_agg() shows values
SELECT payment_type, string_agg(fare::text, ',') FROM trips GROUP BY 1;

-- some value
--> refused 0A000: any_value() shows values
SELECT any_value(fare) FROM trips;

-- a sample
--> refused 0A000: TABLESAMPLE
SELECT count(*) FROM trips TABLESAMPLE BERNOULLI (10);

-- a table that the role may not use
--> refused 42501: permission denied for table "rides"
--> as cleo
SELECT count(*) FROM rides;

-- a column of the system
--> refused 0A000
SELECT count(*) FROM trips WHERE ctid = '(0,1)';

-- a function with an effect
--> refused 0A000
SELECT count(*) FROM trips WHERE pg_sleep(fare) IS NULL;

-- chance
--> refused 0A000
SELECT count(*) FROM trips WHERE random() < 0.5;

-- a division that has no bound
--> refused 55000: not bounded
SELECT sum(fare / tip) FROM trips;

-- a function of text that could be anything
--> refused 0A000: needs a column whose possible values are declared
SELECT upper(note), count(*) FROM rides GROUP BY 1;

-- a function of an extension
--> postgres 42883: function levenshtein(text, unknown) does not exist
SELECT levenshtein(paid, 'cash'), count(*) FROM rides GROUP BY 1;

-- JSON
--> refused 0A000
SELECT jsonb_agg(fare) FROM trips;

-- not SQL
--> postgres 42601: syntax error
SELECT count(* FROM trips;

-- votes of nothing
--> refused 0A000: NULL in every row
SELECT bool_and(NULL::boolean) FROM trips;

-- votes of nothing, by another name
--> refused 0A000: NULL in every row
SELECT pickup_zone, every(NULL) FROM trips GROUP BY 1;

-- the mode of nothing
--> refused 0A000: NULL in every row
SELECT mode() WITHIN GROUP (ORDER BY NULL::int) FROM trips;

-- arithmetic with whose rows they are
--> refused 55000: identifies individuals, and is no number to compute with
SELECT count(rider + 5) FROM rides;

-- the least of units and a number
--> refused 55000: identifies individuals, and is no number to compute with
SELECT count(DISTINCT least(rider, 5)) FROM rides;

-- groups in a condition that there are rows
--> refused 0A000: GROUP BY in a test for rows is not supported
SELECT count(*) FROM rides WHERE rider IN (SELECT rider FROM rides GROUP BY rider, late HAVING count(*) > 3);

-- dates before Christ among the results of a function
--> refused 0A000: can't stand beside private rows
SELECT (CASE paid WHEN 'cash' THEN '0044-03-15 BC' ELSE '2019-01-01' END)::date AS day, count(*) FROM rides GROUP BY 1;

-- infinite ones
--> refused 0A000
SELECT (CASE paid WHEN 'cash' THEN 'infinity' ELSE '2019-01-01' END)::date, count(*) FROM rides GROUP BY 1;

-- a length of months
--> refused 0A000
SELECT (CASE paid WHEN 'cash' THEN '1 month' ELSE '1 day' END)::interval, count(*) FROM rides GROUP BY 1;
