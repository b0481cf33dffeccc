-- public rows with what is counted of private ones, where there is none, too
--> answered, 1 measurement
--> within 0.001
SELECT z.borough, count(t.fare) AS n, avg(t.tip), sum(t.fare + t.tip) FROM zones z LEFT JOIN trips t ON t.pickup_zone = z.zone_id GROUP BY 1 ORDER BY 1;

-- some of them, with a condition on the private rows, a key that determines another column, and HAVING
--> answered, 1 measurement
SELECT z.zone, count(t.payment_type) AS n FROM zones z LEFT JOIN trips t ON t.pickup_zone = z.zone_id AND t.payment_type = 'cash' WHERE z.borough <> 'Bronx' GROUP BY z.zone_id HAVING count(t.payment_type) >= 0 ORDER BY n DESC, 1;

-- generated rows
--> answered, 1 measurement
SELECT g.d, count(r.seats) FROM generate_series(-2, 8) AS g (d) LEFT JOIN rides r ON r.seats = g.d GROUP BY g.d ORDER BY 1;

-- rows that find none count as well
--> refused 0A000: an outer join that keeps all public rows
SELECT z.borough, count(*) FROM zones z LEFT JOIN trips t ON t.pickup_zone = z.zone_id GROUP BY 1;

-- a condition on what was joined
--> refused 0A000: an outer join that keeps all public rows
SELECT z.borough, count(t.fare) FROM zones z LEFT JOIN trips t ON t.pickup_zone = z.zone_id WHERE t.tip IS NULL GROUP BY 1;

-- a value that is not NULL where there is no row
--> refused 0A000: an outer join that keeps all public rows
SELECT z.borough, sum(coalesce(t.fare, 1)) FROM zones z LEFT JOIN trips t ON t.pickup_zone = z.zone_id GROUP BY 1;

-- beside groups, what a subquery says of their key
--> answered, 2 measurements
--> within 0.001
SELECT payment_type, count(*), (SELECT avg(r.seats) FROM rides r WHERE r.paid = t.payment_type) AS rides FROM trips t GROUP BY payment_type HAVING count(*) > 0 ORDER BY 1;

-- beside groups, of something that is no key
--> postgres 42803
SELECT payment_type, (SELECT avg(r.fare) FROM rides r WHERE r.seats = t.passenger_count) FROM trips t GROUP BY payment_type;

-- beside public rows, by comparisons
--> answered, 1 measurement
SELECT d.x, (SELECT count(*) FROM rides r WHERE r.fare >= d.x AND r.tip <= d.x) AS some FROM (VALUES (1), (5), (NULL), (5)) AS d (x);

-- LATERAL: one value of the unit's rows
--> answered, 1 measurement
--> within 0.001
SELECT count(*), avg(l.n), sum(m) FROM rides r, LATERAL (SELECT count(*) AS n, sum(s.age) AS m FROM rides s WHERE s.rider = r.rider AND s.age > 50) AS l;

-- LATERAL: as a key
--> answered, 1 measurement
--> empty 1 group
SELECT l.n > 2 AS many, count(*) FROM rides r LEFT JOIN LATERAL (SELECT count(*) AS n FROM rides s WHERE s.rider = r.rider) AS l ON TRUE GROUP BY 1;

-- LATERAL: the first row of the unit
--> answered, 1 measurement
--> within 0.001
SELECT count(*), sum(l.age) FROM rides r CROSS JOIN LATERAL (SELECT s.age FROM rides s WHERE s.rider = r.rider AND s.age >= 0 ORDER BY s.age LIMIT 1) AS l WHERE r.age < 90;

-- LATERAL: beside public rows
--> answered, 1 measurement
SELECT z.zone, l.n FROM zones z, LATERAL (SELECT count(*) AS n FROM trips t WHERE t.pickup_zone = z.zone_id) AS l ORDER BY l.n DESC, 1;

-- LATERAL: rows of others
--> refused 0A000: must be on the privacy unit
SELECT count(*) FROM rides r CROSS JOIN LATERAL (SELECT s.age FROM rides s WHERE s.from_zone = r.from_zone) AS l;

-- LATERAL: the first rows of everybody's
--> refused 42501: PARTITION BY the privacy unit
SELECT count(*) FROM rides r CROSS JOIN LATERAL (SELECT s.age FROM rides s WHERE s.from_zone = r.from_zone ORDER BY s.age LIMIT 1) AS l;

-- LATERAL: some row, in no order
--> refused 0A000: LATERAL on private rows
SELECT count(*) FROM rides r CROSS JOIN LATERAL (SELECT s.fare FROM rides s WHERE s.rider = r.rider LIMIT 1) AS l;

-- everybody of the week that ends with each day
--> answered, 1 measurement
SELECT d, (SELECT count(DISTINCT passenger_id) FROM trips
  WHERE pickup_ts >= d - interval '6 days' AND pickup_ts < d + interval '1 day')
FROM generate_series('2019-03-05'::timestamp, '2019-03-12', '1 day') AS d;

-- a day or the one behind it
--> answered, 1 measurement
SELECT d, (SELECT count(*) FROM trips WHERE pickup_ts::date = d::date OR pickup_ts::date = d::date + 1)
FROM generate_series('2019-03-05'::timestamp, '2019-03-12', '1 day') AS d;

-- a day that may be missing decides nothing where something else holds
--> refused 0A000: belongs to a query around this one
SELECT d, (SELECT count(*) FROM trips WHERE pickup_ts::date = d + 1 OR passenger_count > 3)
FROM (VALUES (date '2019-03-05'), (NULL)) AS v (d);

-- days without rides, of whose fares nothing is missing
--> answered, 1 measurement
SELECT d, sum(coalesce(passenger_count, 0)), sum(CASE WHEN payment_type = 'cash' THEN 1 ELSE 0 END), count(fare) FILTER (WHERE tip > 2)
FROM generate_series('2019-02-20'::timestamp, '2019-03-10', '1 day') AS d LEFT JOIN trips ON date_trunc('day', pickup_ts) = d GROUP BY 1;

-- days without rides, with margins
--> answered, 1 measurement
--> unlike
SELECT d, count(fare), dpsql.margin(count(fare))
FROM generate_series('2019-02-20'::timestamp, '2019-03-10', '1 day') AS d LEFT JOIN trips ON date_trunc('day', pickup_ts) = d GROUP BY 1;

-- how many public rows find nothing is not known
--> refused 0A000: an outer join that keeps all public rows
SELECT d, sum(coalesce(fare, 1)) FROM generate_series('2019-02-20'::timestamp, '2019-03-10', '1 day') AS d
LEFT JOIN trips ON date_trunc('day', pickup_ts) = d GROUP BY 1;

-- LATERAL: the first groups beside public rows
--> answered, 1 measurement
SELECT z.zone, l.paid, l.n FROM zones z CROSS JOIN LATERAL (SELECT payment_type AS paid, count(*) AS n FROM trips t WHERE t.pickup_zone = z.zone_id GROUP BY payment_type ORDER BY count(*) DESC, payment_type LIMIT 1) AS l;

-- LATERAL: the first groups of each day of a series
--> answered, 1 measurement
SELECT d, l.zone FROM generate_series('2019-03-01'::timestamp, '2019-03-04', '1 day') AS d LEFT JOIN LATERAL (SELECT pickup_zone AS zone FROM trips WHERE pickup_ts::date = d GROUP BY 1 ORDER BY sum(fare) DESC, 1 LIMIT 2) AS l ON true;

-- one value: the first group of each
--> answered, 1 measurement
SELECT z.zone, (SELECT t.payment_type FROM trips t WHERE t.pickup_zone = z.zone_id GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1) AS paid FROM zones z;

-- LATERAL: behind a comma, with a join behind it
--> answered, 1 measurement
SELECT z.zone, sum(l.twice) FROM trips t, LATERAL (SELECT 2 * t.fare AS twice, t.pickup_zone AS zone) AS l JOIN zones z ON z.zone_id = l.zone GROUP BY 1;

-- compared with a series or not at all
--> answered, 1 measurement
SELECT d::date, (SELECT count(*) FROM trips WHERE pickup_ts < d OR fare > 40) AS n FROM generate_series('2019-03-01'::timestamp, '2019-03-03', '1 day') AS d;

-- public rows that find no private one, by what is not there: an aggregate that does not add nothing of them
--> refused 0A000: an outer join that keeps all public rows
SELECT zone_id, sum(CASE WHEN t.fare IS NOT NULL THEN 0 ELSE 1 END) FROM zones LEFT JOIN trips t ON pickup_zone = zone_id AND fare > 149 GROUP BY 1;

-- public rows with what is counted of private ones, by what is there
--> answered, 1 measurement
SELECT zone_id, sum(CASE WHEN t.fare IS NOT NULL THEN 1 ELSE 0 END) FROM zones LEFT JOIN trips t ON pickup_zone = zone_id GROUP BY 1;

-- public rows that find no private one, by what is true of no values at all
--> refused 0A000: an outer join that keeps all public rows
SELECT zone_id, count(*) FILTER (WHERE t.fare <> ALL ('{}'::float8[])) FROM zones LEFT JOIN trips t ON pickup_zone = zone_id GROUP BY 1;

-- public rows that find no private one, by what is not true of no values at all
--> refused 0A000: an outer join that keeps all public rows
SELECT zone_id, count(*) FILTER (WHERE NOT (t.fare = ANY ('{}'::float8[]))) FROM zones LEFT JOIN trips t ON pickup_zone = zone_id GROUP BY 1;
