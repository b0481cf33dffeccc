-- comparisons
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE fare > 10 AND tip <= 5 AND passenger_count <> 2 AND trip_distance >= 0.5;

-- at the bounds, where clamped values gather
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE fare = 0), count(*) FILTER (WHERE fare >= 150), count(*) FILTER (WHERE fare > 150),
  count(*) FILTER (WHERE fare < 0), count(*) FILTER (WHERE fare <> 150) FROM trips;

-- beyond the bounds
--> answered, free
SELECT count(*) FROM trips WHERE fare > 150;

-- infinity is the bound
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE tip = 35 OR tip = -5;

-- or, not
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE NOT (fare > 10 OR payment_type = 'cash');

-- NULL is not unequal
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE payment_type <> 'cash';

-- missing values
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE age IS NULL AND paid IS NULL OR tip IS NOT NULL AND refund IS NULL;

-- a value that must not be missing never is
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE fare IS NOT NULL;

-- lists
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE passenger_count IN (1, 2, 9) AND payment_type IN ('cash', 'dispute');

-- lists with NULL
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE age NOT IN (18, 65) OR stars NOT IN (1, NULL) OR stars IN (2, NULL);

-- arrays
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE seats = ANY (ARRAY[1, 2]) AND stars <> ALL ('{5,2}'::int[]);

-- ranges
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE age BETWEEN 18 AND 65 AND tip NOT BETWEEN 0 AND 10;

-- distinct from
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE paid IS DISTINCT FROM 'cash' AND to_zone IS NOT DISTINCT FROM from_zone;

-- conditions by themselves
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE shared AND late IS NOT TRUE AND (late IS FALSE OR late IS UNKNOWN);

-- between columns
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE fare > tip * 3 + price AND dropped >= picked AND picked::date = day;

-- fractions of whole numbers
--> answered, 1 measurement
SELECT count(*), sum(seats) FROM rides WHERE seats < 2.5 AND age > 17.9;

-- text in quotes
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE paid = 'it''s free';

-- an unbounded column
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE number > 500 AND note = 'a';

-- the unit itself
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE passenger_id < 100 AND driver_id IN (1, 2, 3);

-- patterns
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE note LIKE '%\\%' OR note LIKE '_' OR paid ILIKE 'C%' OR paid ~ '^c.*h$';

-- nothing is true
--> answered, free
SELECT count(*) FROM trips WHERE false;

-- everything is true
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE true AND 1 = 1;

-- functions of text with a syntax of their own
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE substring(paid FROM 1 FOR 2) = 'ca' AND position('s' IN paid) > 0 OR trim(paid) = 'card'
OR paid ~* '^IT' OR paid LIKE 'ca!%' ESCAPE '!';

-- a parameter of the wrong kind
--> postgres 22P02: invalid input syntax for type integer
SELECT count(*) FROM trips WHERE passenger_count = 'many';

-- what could overflow
--> refused 55000: column "trip_id" has no declared bounds
SELECT count(*) FROM trips WHERE trip_id + 9223372036854775807 > 0;

-- a list from a public table
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE from_zone IN (SELECT zone_id FROM zones WHERE borough = 'Queens');

-- not in a list from a public table
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE to_zone NOT IN (SELECT zone_id FROM zones WHERE borough = 'Queens');

-- a subquery over the same table
--> answered, 2 measurements
--> within 0.001
SELECT count(*) FROM trips WHERE fare > (SELECT avg(fare) FROM trips);

-- rows of the table in a subquery
--> answered, 1 measurement
--> unlike
SELECT count(*) FROM trips WHERE passenger_id IN (SELECT passenger_id FROM trips WHERE fare > 100);

-- an unknown column
--> postgres 42703: column "fair" does not exist
SELECT count(*) FROM trips WHERE fair > 10;

-- not in a list of units with NULL, which no row passes
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE rider NOT IN (1, NULL);

-- not in a list of units
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE rider NOT IN (1, 2) AND rider <> ALL (ARRAY[3, 4]);

-- not in a list with NULL from a public table, which no row passes
--> answered, free
SELECT count(*) FROM rides WHERE to_zone NOT IN (SELECT nullif(zone_id, 4) FROM zones);

-- not in a list of private units, among which one NULL would change everybody's rows if it were there
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE rider NOT IN (SELECT rider FROM rides WHERE late);

-- different from all units of another private table
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE rider <> ALL (SELECT passenger_id FROM trips);

-- without a match among private units
--> answered, 1 measurement
SELECT count(*) FROM rides r WHERE NOT EXISTS (SELECT 1 FROM rides q WHERE q.rider = r.rider AND q.late);

-- numbers and texts as only PostgreSQL writes them
--> answered, 1 measurement
SELECT count(*) FROM trips WHERE fare < 0x1F + 1_0 AND passenger_count > 0b1 AND payment_type = 'credit'
' card' AND U&"fare" > 0o7 FOR READ ONLY;

-- what is computed of a column narrows it
--> answered, 1 measurement
SELECT sum(fare) FROM trips WHERE least(fare, 30) >= 10 AND fare * 2 < 50;

-- NULL that a column does not have
--> answered, free
SELECT count(*) FROM trips WHERE fare IS NULL;

-- NULL that neither of two columns has
--> answered, free
SELECT count(*), avg(fare) FROM trips WHERE passenger_count IS NULL OR fare IS NULL;

-- what only rows with such a NULL would count
--> answered, free
SELECT payment_type, count(*) FILTER (WHERE passenger_count IS NULL), max(fare) FILTER (WHERE fare IS NULL) FROM trips GROUP BY 1;

-- the same beside what all rows count
--> answered, 1 measurement
SELECT payment_type, count(*) FILTER (WHERE passenger_count IS NULL), avg(fare) FROM trips GROUP BY ROLLUP (1);

-- a key that is never true
--> answered, 1 measurement
SELECT passenger_count IS NULL AS k, count(*) FROM trips GROUP BY 1;

-- NULL in a column that has none, as tools test for it
--> answered, free
SELECT count(*) AS failures FROM (SELECT fare FROM trips WHERE fare IS NULL) AS dbt_internal_test;

-- the same of a reference, beside a condition
--> answered, free
SELECT count(*) FROM trips WHERE pickup_zone IS NULL AND fare > 3;

-- the same of the unit
--> answered, free
SELECT count(*) FROM trips WHERE passenger_id IS NULL;

-- NULL in a column of few values that has none
--> answered, free
SELECT count(*), avg(fare) FROM rides WHERE stars IS NULL;

-- elements of an array, spread in a subquery
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE paid IN (SELECT unnest(ARRAY['card', 'cash'])) AND stars IN (SELECT unnest('{1,2}'::int[]));

-- what can not be, of columns that are used all the same
--> answered, 1 measurement
SELECT count(*), count(CASE WHEN seats = -2 THEN fare END) FROM rides;

-- a list that is written as rows
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE seats IN (VALUES (1), (2)) AND paid NOT IN (VALUES ('cash'), ('card'));

-- compared with each of some rows, of which one may be NULL
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE seats > ALL (VALUES (1), (2))) AS more, count(*) FILTER (WHERE seats = ANY (VALUES (3), (NULL))) AS some FROM rides;

-- texts that begin with others
--> answered, 1 measurement
SELECT paid ^@ 'ca' AS begins, count(*) FROM rides WHERE NOT paid ^@ 'x' GROUP BY 1 ORDER BY 1;
