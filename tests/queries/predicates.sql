-- between, in any order
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE seats BETWEEN SYMMETRIC 5 AND 2), count(*) FILTER (WHERE age NOT BETWEEN SYMMETRIC seats AND stars) FROM rides;

-- rows of values
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE (seats, stars) IN ((1, 2), (2, 5))), count(*) FILTER (WHERE (seats, paid) = (1, 'cash')),
  count(*) FILTER (WHERE ROW (age, stars) < ROW (30, 2)), count(*) FILTER (WHERE (age, tip) >= (30, seats)),
  count(*) FILTER (WHERE (paid, late) <> ('cash', true)) FROM rides;

-- not in a list of rows, of which one has NULL
--> answered, 1 measurement
SELECT count(*) FROM rides WHERE (day, seats) NOT IN (('2019-03-02', 2), ('2019-03-03', NULL));

-- a pattern among several
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE note LIKE ANY (ARRAY['a%', '_'])), count(*) FILTER (WHERE paid NOT LIKE ALL ('{ca%,%h}')),
  count(*) FILTER (WHERE paid ILIKE ANY ('{C%,It%}')), count(*) FILTER (WHERE note LIKE ALL (ARRAY['%a', NULL])) FROM rides;

-- some or all of an array
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE seats > ANY (ARRAY[3, 2])), count(*) FILTER (WHERE age <= ALL ('{30,50}'::int[])),
  count(*) FILTER (WHERE age < SOME (ARRAY[20, NULL])), count(*) FILTER (WHERE NOT age = ALL (ARRAY[20, NULL])),
  count(*) FILTER (WHERE paid <> ANY ('{card,cash}')) FROM rides;

-- spans that overlap
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE (picked, dropped) OVERLAPS (timestamp '2019-03-02', timestamp '2019-03-03')),
  count(*) FILTER (WHERE (picked, interval '1 hour') OVERLAPS (timestamp '2019-03-02', interval '3 days')),
  count(*) FILTER (WHERE NOT (dropped, picked) OVERLAPS (day, day + 1)),
  count(*) FILTER (WHERE ((dropped, NULL) OVERLAPS (timestamp '2019-03-12', dropped)) IS NULL),
  count(*) FILTER (WHERE (dropped, picked) OVERLAPS (timestamp '2019-03-05', timestamp '2019-03-04') IS UNKNOWN) FROM rides;
