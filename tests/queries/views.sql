-- aggregates of a view
--> answered, 1 measurement
--> within 0.001
--> like SELECT count(*), avg(fare), sum(coalesce(tip, 0)), sum(fare + price) AS "sum" FROM rides WHERE paid = 'card' AND seats > 0
SELECT count(*), avg(fare), sum(tip), sum(total) FROM card_rides;

-- a view by a key that has another name and type there
--> answered, 1 measurement
--> like SELECT from_zone::bigint AS zone, count(*) FROM rides WHERE paid = 'card' AND seats > 0 AND NOT late GROUP BY 1
SELECT zone, count(*) FROM card_rides WHERE NOT late GROUP BY zone;

-- a view under other names
--> answered, 1 measurement
--> like SELECT r.from_zone::bigint AS a, count(*) FROM rides r WHERE paid = 'card' AND seats > 0 AND fare < 50 GROUP BY 1
SELECT v.a, count(*) FROM public.card_rides AS v (a, b) WHERE v.b < 50 GROUP BY v.a;

-- a view that has been joined, over a view
--> answered, 1 measurement
--> like SELECT borough, count(*), sum(fare + price) FROM rides JOIN zones ON zone_id = from_zone WHERE paid = 'card' AND seats > 0 AND late GROUP BY 1
SELECT borough, count(*), sum(total) FROM late_cards GROUP BY borough;

-- rows of single units
--> answered, 1 measurement
--> within 0.001
--> like SELECT count(*), avg(rides) FROM (SELECT rider, count(*) AS rides, sum(fare) AS spent FROM rides GROUP BY rider HAVING count(*) > 1) AS r WHERE spent > 20
SELECT count(*), avg(rides) FROM riders WHERE spent > 20;

-- rows of single units beside those of a table
--> answered, 1 measurement
--> like SELECT count(*) FROM rides AS a JOIN (SELECT rider, count(*) AS n FROM rides GROUP BY rider HAVING count(*) > 1) AS r ON a.rider = r.rider WHERE n > 2
SELECT count(*) FROM rides AS a JOIN riders AS r ON a.rider = r.rider WHERE r.rides > 2;

-- public rows that were computed
--> answered, 1 measurement
--> like SELECT n AS zones, count(*) FROM rides JOIN (SELECT borough, count(*) AS n, min(zone_id) AS first FROM zones GROUP BY borough) AS b ON first = from_zone GROUP BY 1
SELECT zones, count(*) FROM rides JOIN boroughs ON first = from_zone GROUP BY 1;

-- public rows alone
--> passed
SELECT borough, zones FROM boroughs ORDER BY 1;

-- public rows in a list
--> answered, 1 measurement
--> like SELECT count(*) FROM rides WHERE paid = 'card' AND seats > 0 AND from_zone IN (1, 2, 9)
SELECT count(*) FROM card_rides AS c WHERE zone IN (SELECT first FROM boroughs);

-- an answer
--> answered, 1 measurement
--> like SELECT from_zone::bigint AS zone, count(*) AS rides, avg(fare) AS fare FROM rides WHERE paid = 'card' AND seats > 0 AND fare > 1 GROUP BY 1
SELECT * FROM card_zones;

-- what is made of an answer
--> answered, 1 measurement
--> unlike PostgreSQL, which has no empty groups
SELECT sum(rides), max(z.borough) FROM card_zones JOIN zones AS z ON z.zone_id = card_zones.zone WHERE rides > 5;

-- an answer that decides which rows count
--> answered, 2 measurements
--> unlike PostgreSQL, which has no empty groups
SELECT count(*) FROM rides JOIN card_zones AS z ON z.zone = from_zone WHERE z.rides > 3;

-- rows of a view
--> refused 42501: rows of card_rides are protected; ask for count(*), sum(x), avg(x) … GROUP BY
SELECT * FROM card_rides;

-- a column probe of a view
--> empty
SELECT * FROM card_rides LIMIT 0;

-- a column that the view does not show
--> postgres 42703
SELECT count(rider) FROM card_rides;

-- the unit by the name that the table gives it
--> postgres 42P01
SELECT count(DISTINCT r.rider) FROM card_rides;

-- a view whose name is a CTE's
--> answered, 1 measurement
--> like SELECT count(*) FROM trips
WITH card_rides AS (SELECT * FROM trips) SELECT count(*) FROM card_rides;

-- a view beside a CTE with the name of its table
--> answered, 1 measurement
--> like SELECT count(*) FROM rides WHERE paid = 'card' AND seats > 0
WITH rides AS (SELECT 1 AS paid) SELECT count(*) FROM card_rides;

-- a sample of a view
--> postgres 0A000
SELECT count(*) FROM card_rides TABLESAMPLE SYSTEM (10);

-- a view is all that the role may use
--> answered, 1 measurement
--> as nell
--> like SELECT count(*) FROM rides WHERE paid = 'card' AND seats > 0
SELECT count(*) FROM card_rides;

-- an answer is all that the role may use
--> answered, 1 measurement
--> as nell
--> unlike PostgreSQL, which has no empty groups
SELECT avg(rides) FROM card_zones;

-- the table of a view that the role may use
--> refused 42501: permission denied for
--> as nell
SELECT count(*) FROM rides;

-- the table of a view that the role may use, beside it
--> refused 42501: permission denied for
--> as nell
SELECT count(*) FROM card_rides JOIN rides ON rides.fare = card_rides.fare;

-- a view that the role may not use, over one that it may
--> refused 42501: permission denied for
--> as nell
SELECT count(*) FROM late_cards;

-- a view of a table that the role may not use
--> refused 42501: permission denied for
--> as cleo
SELECT count(*) FROM card_rides;

-- values beside a view's rows, under the name that a table has in it
--> answered, 1 measurement
--> like SELECT k, sum(v) FROM (SELECT fare, tip FROM rides WHERE paid = 'card' AND seats > 0) c CROSS JOIN LATERAL (VALUES (1, c.fare), (2, coalesce(c.tip, 0))) x (k, v) GROUP BY k
SELECT r.k, sum(r.fare) FROM card_rides c CROSS JOIN LATERAL (VALUES (1, c.fare), (2, c.tip)) AS r (k, fare) GROUP BY r.k;

-- a window over a view's rows, beside a table with the name that one has in it
--> answered, 2 measurements
--> like SELECT count(*) FROM (SELECT fare, avg(fare) OVER () AS m FROM rides JOIN zones ON zone_id = from_zone WHERE paid = 'card' AND seats > 0) q WHERE fare > m
SELECT count(*) FROM (SELECT c.fare, avg(c.fare) OVER () AS m FROM card_rides c JOIN zones r ON r.zone_id = c.zone) q WHERE fare > m;
