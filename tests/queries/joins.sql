-- with a public table
--> answered, 1 measurement
--> within 0.001
SELECT z.borough, count(*) AS n, avg(t.fare) AS fare FROM trips t JOIN zones z ON t.pickup_zone = z.zone_id
GROUP BY z.borough ORDER BY n DESC;

-- the public table first
--> answered, 1 measurement
SELECT zone, count(*) FROM zones JOIN trips ON zone_id = pickup_zone GROUP BY zone ORDER BY 1;

-- what the key of a public table determines
--> answered, 1 measurement
--> like SELECT upper(z.zone) || '!' AS zone, count(*), sum(count(*)) OVER (PARTITION BY borough) AS n FROM trips JOIN zones AS z ON pickup_zone = zone_id GROUP BY z.zone_id, z.zone, borough HAVING borough <> 'Queens' ORDER BY z.zone
SELECT upper(z.zone) || '!' AS zone, count(*), sum(count(*)) OVER (PARTITION BY borough) AS n
FROM trips JOIN zones AS z ON pickup_zone = zone_id GROUP BY z.zone_id HAVING borough <> 'Queens' ORDER BY z.zone;

-- what it determines of rows that find none, by an ordinal
--> answered, 1 measurement
--> like SELECT zone_id, borough, count(*) FROM trips LEFT JOIN zones ON pickup_zone = zone_id GROUP BY 1, 2
--> empty 1 group
SELECT zone_id, borough, count(*) FROM trips LEFT JOIN zones ON pickup_zone = zone_id GROUP BY 1;

-- key and what depends on it
--> answered, 1 measurement
SELECT z.zone_id, z.zone, z.borough, count(*) FROM trips t JOIN zones z ON t.pickup_zone = z.zone_id
GROUP BY z.zone_id, z.zone, z.borough ORDER BY z.zone_id;

-- both sides of the condition
--> answered, 1 measurement
SELECT t.pickup_zone, z.borough, count(*) FROM trips t JOIN zones z ON t.pickup_zone = z.zone_id GROUP BY 1, 2 ORDER BY 1;

-- with a condition on the public side
--> answered, 1 measurement
SELECT z.zone, count(*) FROM trips t JOIN zones z ON t.pickup_zone = z.zone_id WHERE z.borough = 'Bronx' AND fare > 20
GROUP BY z.zone;

-- a left join keeps rows without a partner
--> answered, 1 measurement
SELECT z.borough, count(*), count(z.zone) FROM rides LEFT JOIN zones z ON z.zone_id = to_zone GROUP BY z.borough;

-- twice
--> answered, 1 measurement
SELECT a.borough, b.borough, count(*) FROM rides JOIN zones a ON a.zone_id = from_zone
LEFT JOIN zones b ON b.zone_id = to_zone GROUP BY 1, 2;

-- with commas
--> answered, 1 measurement
SELECT z.borough, count(*) FROM trips AS t, zones AS z WHERE t.pickup_zone = z.zone_id GROUP BY 1;

-- in brackets
--> answered, 1 measurement
SELECT z.borough, sum(r.seats) FROM (SELECT * FROM rides WHERE late) AS r JOIN zones z ON z.zone_id = r.from_zone
GROUP BY 1 ORDER BY 1;

-- by a function of the public side
--> answered, 1 measurement
SELECT z.borough = 'Queens' AS queens, count(*) FROM trips JOIN zones z ON pickup_zone = zone_id GROUP BY 1;

-- a sum over a condition on the public side
--> answered, 1 measurement
--> within 0.001
SELECT avg(fare) FILTER (WHERE z.borough = 'Queens'), count(*) FROM trips JOIN zones z ON pickup_zone = zone_id;

-- not on the key
--> answered, 1 measurement
SELECT count(*) FROM trips JOIN zones ON zones.borough = trips.payment_type;

-- without a condition: a unit may have as many rows more
--> answered, 1 measurement
--> within 0.001
SELECT count(*), avg(fare) FROM trips CROSS JOIN zones;

-- and of some groups
--> answered, 1 measurement
--> within 0.001
SELECT borough, n, count(*) FROM trips, zones, (VALUES (1), (2), (2)) AS v (n) GROUP BY borough, n;

-- those that conditions on the table alone leave
--> answered, 1 measurement
--> within 0.001
SELECT count(*), sum(n) FROM trips, (VALUES (1), (2), (3)) AS v (n) WHERE n > 1 AND fare > 2;

-- by the key, or by another column
--> answered, 1 measurement
--> within 0.001
SELECT count(*), count(*) FILTER (WHERE a.zone_id = 1) FROM trips, zones a, zones b WHERE a.zone_id < 3 AND b.borough = 'Queens';

-- and of what another public table says of them
--> answered, 1 measurement
--> empty 1 group
--> within 0.001
SELECT (SELECT b.zone FROM zones b WHERE b.zone_id = a.zone_id) AS zone, count(*) FROM trips CROSS JOIN zones a GROUP BY 1;

-- by a comparison with a public table, which stands first
--> answered, 1 measurement
SELECT count(*) FROM zones, trips WHERE zone_id > pickup_zone AND zone_id <= pickup_zone + 1;

-- by the columns of one name
--> answered, 1 measurement
SELECT count(*), count(k) FROM trips NATURAL JOIN (SELECT 'cash' AS payment_type, 1 AS k) AS kinds;

-- by the columns of one name, of constants
--> answered, 1 measurement
--> empty 1 group
SELECT k, count(*) FROM trips NATURAL JOIN (VALUES ('cash', 1), ('card', 2), ('cash', 3)) AS kinds (payment_type, k) GROUP BY k;

-- by the names that constants have of themselves
--> answered, 1 measurement
SELECT count(*) FROM (SELECT passenger_count AS column1 FROM trips) AS t NATURAL JOIN (VALUES (1, 2), (3, 4)) AS v;

-- by columns of no name in common, which is all with all
--> answered, 1 measurement
SELECT count(*) FROM trips NATURAL JOIN zones;

-- of one unit, in brackets, with a name
--> answered, 1 measurement
SELECT count(*) FROM (rides JOIN (SELECT passenger_id FROM trips) AS t ON rider = passenger_id) AS q;

-- in brackets, with a name
--> answered, 1 measurement
SELECT q.borough, count(*) FROM (trips JOIN zones ON pickup_zone = zone_id) AS q GROUP BY 1;

-- the private side may not be missing
--> refused 0A000: an outer join that keeps all public rows
SELECT count(*) FROM trips RIGHT JOIN zones ON zone_id = pickup_zone;

-- but where WHERE needs a private row it is not missing
--> answered, 1 measurement
SELECT borough, count(*) FROM trips RIGHT JOIN zones ON zone_id = pickup_zone WHERE trips.fare * 2 > 5 OR trips.tip IS NOT NULL GROUP BY 1;

-- public rows on the right, which find private ones or none
--> answered, 1 measurement
SELECT borough, count(fare) FROM trips RIGHT JOIN zones ON zone_id = pickup_zone AND fare > 5 GROUP BY borough;

-- all rows of two tables, each one unit's
--> answered, 1 measurement
SELECT r.paid, count(*), count(r.fare), count(t.tips) FROM rides r FULL JOIN (SELECT passenger_id, sum(tip) AS tips FROM trips GROUP BY 1) AS t
ON r.rider = t.passenger_id AND r.fare > 5 GROUP BY 1;

-- whoever is in either
--> answered, 1 measurement
SELECT count(*) FROM (SELECT coalesce(r.rider, t.passenger_id) AS who FROM rides r FULL JOIN trips t ON r.rider = t.passenger_id
GROUP BY 1 HAVING count(*) > 1) AS either;

-- full
--> refused 0A000: FULL JOIN of private rows is not supported
SELECT count(*) FROM trips FULL JOIN zones ON zone_id = pickup_zone;

-- of private rows with each other
--> refused 0A000: must be on the privacy unit
SELECT count(*) FROM trips a JOIN trips b ON a.pickup_zone = b.pickup_zone;

-- of answers
--> answered, 2 measurements
SELECT a.payment_type, a.n, b.s FROM (SELECT payment_type, count(passenger_count) AS n FROM trips GROUP BY 1) AS a
JOIN (SELECT payment_type, sum(passenger_count) AS s FROM trips GROUP BY 1) AS b USING (payment_type) ORDER BY 1;

-- of an answer with a public table
--> answered, 1 measurement
SELECT z.zone, a.n FROM zones z LEFT JOIN (SELECT pickup_zone, count(*) AS n FROM trips GROUP BY 1) AS a
ON a.pickup_zone = z.zone_id ORDER BY z.zone;

-- only public tables
--> passed
SELECT a.zone FROM zones a JOIN zones b ON a.zone_id = b.zone_id;

-- with columns of other names
--> answered, 1 measurement
SELECT borough, count(*) FROM trips JOIN (SELECT zone_id AS pickup_zone, borough FROM zones) AS z USING (pickup_zone) GROUP BY 1;

-- with a common table expression
--> answered, 1 measurement
WITH z AS (SELECT * FROM zones) SELECT borough, count(*) FROM trips JOIN z ON zone_id = pickup_zone GROUP BY 1;

-- with a series
--> answered, 1 measurement
SELECT d, count(trip_id) FROM generate_series(timestamp '2019-03-01', timestamp '2019-03-03', '1 day') AS d
LEFT JOIN trips ON date_trunc('day', pickup_ts) = d GROUP BY 1;

-- of private rows on their unit
--> answered, 1 measurement
SELECT count(*) FROM rides r JOIN trips t ON r.rider = t.passenger_id WHERE t.payment_type = 'cash' AND r.stars > 4;

-- of private rows that may find none
--> answered, 1 measurement
SELECT r.shared, count(*) FROM rides r LEFT JOIN trips t ON r.rider = t.passenger_id AND t.payment_type = 'cash' GROUP BY 1;

-- a public table that all private rows are right of
--> answered, 1 measurement
--> empty 1 group
SELECT borough, count(*) FROM zones RIGHT JOIN trips ON pickup_zone = zone_id GROUP BY borough;

-- the week that ends with each day of a long calendar
--> answered, 1 measurement
SELECT d, count(*) FROM generate_series('2010-01-01'::timestamp, '2019-12-31', '1 day') AS d
JOIN trips ON date_trunc('day', pickup_ts) <= d AND date_trunc('day', pickup_ts) > d - interval '7 days'
WHERE d BETWEEN '2019-03-08' AND '2019-03-20' GROUP BY 1;

-- the month so far, of a calendar of years
--> answered, 1 measurement
SELECT d, sum(passenger_count) FROM generate_series('2010-01-01'::timestamp, '2019-12-31', '1 day') AS d
JOIN trips ON date_trunc('day', pickup_ts) <= d AND date_trunc('day', pickup_ts) >= date_trunc('month', d)
WHERE d >= '2019-03-01' AND d < '2019-04-01' GROUP BY 1;

-- what is joined has a join in it
--> answered, 1 measurement
SELECT s.borough, count(*), count(s.rider) FROM trips t LEFT JOIN (
  SELECT r.rider, z.borough FROM rides r LEFT JOIN zones z ON z.zone_id = r.to_zone WHERE r.stars = 5) AS s ON s.rider = t.passenger_id
GROUP BY 1;

-- what is joined is computed, and is not NULL by itself
--> answered, 1 measurement
SELECT s.at_day, count(*), count(s.one), count(s.given) FROM trips t LEFT JOIN (
  SELECT rider, date_trunc('day', picked) AS at_day, coalesce(late, false) AS given, 1 AS one FROM rides) AS s ON s.rider = t.passenger_id
GROUP BY 1;

-- groups of the partner's unit, where those without a partner are joined to nothing
--> answered, 1 measurement
--> empty 382 groups
SELECT s.n, count(*) FROM trips t JOIN (
  SELECT r.rider, count(*) AS n FROM trips x LEFT JOIN rides r ON r.rider = x.passenger_id AND r.stars = 1 GROUP BY r.rider) AS s
  ON s.rider = t.passenger_id GROUP BY 1;

-- running totals of a subquery's days
--> answered, 1 measurement
SELECT d, count(*), sum(t.one), sum(t.seats) FROM generate_series('2019-03-01'::timestamp, '2019-03-31', '1 day') AS d
CROSS JOIN (SELECT pickup_ts::date AS day, 1 AS one, passenger_count AS seats FROM trips WHERE payment_type = 'cash') AS t
WHERE t.day <= d GROUP BY 1 HAVING count(*) > 5;

-- USING: what it makes one, by a name
--> answered, 1 measurement
SELECT j.pickup_zone, count(*) FROM trips JOIN (SELECT zone_id AS pickup_zone FROM zones WHERE zone_id > 1) AS z USING (pickup_zone) AS j WHERE j.pickup_zone < 5 GROUP BY 1;

-- USING: public rows on the left
--> answered, 1 measurement
SELECT pickup_zone, count(trip_id) FROM (SELECT zone_id AS pickup_zone FROM zones) AS z LEFT JOIN trips USING (pickup_zone) GROUP BY 1;

-- constants with their places
--> answered, 1 measurement
SELECT u.n, u.p, count(*) FROM trips JOIN unnest(ARRAY['cash', 'credit card']) WITH ORDINALITY AS u (p, n) ON u.p = payment_type GROUP BY 1, 2;
