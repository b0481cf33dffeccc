-- Each question that stands further in is measured, and paid, after the one above it.

SELECT payment_type, count(*), avg(fare) FROM trips GROUP BY 1
    SELECT payment_type, count(*), avg(tip) FROM trips GROUP BY 1
    SELECT payment_type, sum(tip) FROM trips GROUP BY 1
    SELECT payment_type, var_pop(fare) FROM trips GROUP BY 1
    SELECT payment_type, median(fare) FROM trips GROUP BY 1
    SELECT payment_type, min(fare) FROM trips GROUP BY 1
    SELECT payment_type, avg(fare + tip) FROM trips GROUP BY 1
    SELECT payment_type, avg(2 * fare) FROM trips GROUP BY 1
    SELECT payment_type, avg(least(fare, 20)) FROM trips GROUP BY 1
    SELECT payment_type, sum(fare * tip) FROM trips GROUP BY 1
    SELECT payment_type, count(DISTINCT passenger_id) FROM trips GROUP BY 1
    SELECT payment_type, count(DISTINCT pickup_zone) FROM trips GROUP BY 1
    SELECT mode() WITHIN GROUP (ORDER BY passenger_count) FROM trips
    SELECT payment_type, passenger_count, count(*) FROM trips GROUP BY 1, 2
    SELECT passenger_count, count(*) FROM trips GROUP BY 1
    SELECT payment_type, count(*) FROM trips WHERE fare > 5 GROUP BY 1
    SELECT payment_type, count(*) FROM trips WHERE fare <= 149.5 GROUP BY 1
    SELECT payment_type, count(*) FROM trips WHERE passenger_count = 1 GROUP BY 1
    SELECT payment_type, count(*) FROM trips WHERE pickup_zone IS NOT NULL AND pickup_zone > 1 GROUP BY 1
    SELECT count(*) FROM trips WHERE payment_type = 'cash' AND tip > 0
    SELECT count(*) FROM trips WHERE payment_type = 'cash' OR tip > 0
    SELECT count(*) FROM trips WHERE NOT (payment_type = 'cash' AND tip > 0)
    SELECT count(*) FROM trips WHERE coalesce(payment_type, 'none') = 'none' AND fare < 3
    SELECT count(*) FILTER (WHERE fare > 5) FROM trips
    SELECT sum(CASE WHEN fare > 5 THEN 1 ELSE 0 END) FROM trips
    SELECT payment_type, count(*) FROM trips WHERE pickup_ts >= '2019-03-05' GROUP BY 1
    SELECT payment_type, count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE borough = 'Queens' GROUP BY 1
    SELECT borough, count(*) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1
    SELECT payment_type, count(*) FROM trips, (VALUES (1), (2)) AS v (x) GROUP BY 1
    SELECT payment_type, count(*) FROM trips WHERE pickup_zone IN (SELECT zone_id FROM zones WHERE zone LIKE 'A%') GROUP BY 1
    SELECT payment_type, count(*) FROM trips AS t WHERE NOT EXISTS (SELECT FROM zones WHERE zone_id = t.pickup_zone) GROUP BY 1
    SELECT payment_type, count(*) FROM trips AS t WHERE EXISTS (SELECT FROM rides WHERE rider = t.passenger_id) GROUP BY 1
    SELECT payment_type, count(*) FROM trips AS t WHERE NOT EXISTS (SELECT FROM rides WHERE rider = t.passenger_id) GROUP BY 1
    SELECT payment_type, count(*) FROM trips AS t JOIN rides ON rider = passenger_id GROUP BY 1
    SELECT count(*) FROM rides
    SELECT avg(fare) FROM rides
    SELECT paid, count(*) FROM rides GROUP BY 1
    SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS t
    SELECT payment_type, count(*) FROM (SELECT passenger_id, payment_type FROM trips GROUP BY 1, 2) AS t GROUP BY 1
    SELECT count(*) FROM (SELECT passenger_id FROM trips UNION ALL SELECT rider FROM rides) AS t
    SELECT payment_type, count(*) FROM (SELECT *, row_number() OVER (PARTITION BY passenger_id ORDER BY pickup_ts) AS r FROM trips) AS t WHERE r = 1 GROUP BY 1
SELECT date_trunc('week', pickup_ts) AS week, count(*) FROM trips GROUP BY 1
    SELECT date_trunc('day', pickup_ts) AS day, count(*) FROM trips GROUP BY 1
    SELECT date_trunc('month', pickup_ts) AS month, count(*) FROM trips WHERE pickup_ts < '2019-03-30' GROUP BY 1
    SELECT count(*) FROM trips WHERE pickup_ts >= '2019-03-05'
    SELECT count(*) FROM trips WHERE pickup_ts > '2019-03-04'
    SELECT count(*) FROM trips WHERE pickup_ts <= '2019-03-11'
    SELECT extract(dow FROM pickup_ts), count(*) FROM trips GROUP BY 1
    SELECT extract(hour FROM pickup_ts), count(*) FROM trips GROUP BY 1
    SELECT count(*) FROM trips WHERE pickup_ts::date = '2019-03-05'
    SELECT date_trunc('week', pickup_ts + interval '1 day') AS week, count(*) FROM trips GROUP BY 1
SELECT date_trunc('day', pickup_ts) AS day, count(*) FROM trips WHERE pickup_ts < '2019-03-15 12:00' GROUP BY 1
    SELECT date_trunc('day', pickup_ts) AS day, count(*) FROM trips GROUP BY 1
    SELECT count(*) FROM trips WHERE pickup_ts < '2019-03-15 12:01'
    SELECT count(*) FROM trips WHERE pickup_ts < '2019-03-15 11:00'
    SELECT count(*) FROM trips WHERE pickup_ts < '2019-03-15'
    SELECT date_trunc('month', pickup_ts), count(*) FROM trips GROUP BY 1
SELECT pickup_zone, count(*), sum(tip) FROM trips GROUP BY 1
    SELECT pickup_zone, avg(fare) FROM trips GROUP BY 1
    SELECT borough, count(*) FROM trips JOIN zones ON passenger_count = zone_id GROUP BY 1
    SELECT borough, count(*) FROM trips JOIN zones ON pickup_zone >= zone_id GROUP BY 1
    SELECT count(*) FROM trips, zones WHERE borough = 'Queens'
    SELECT borough, count(*) FROM trips JOIN zones ON pickup_zone = zone_id AND fare > 3 GROUP BY 1
    SELECT borough, sum(tip * zone_id) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1
    SELECT zones.borough, z.borough, count(*) FROM trips JOIN zones ON pickup_zone = zone_id JOIN zones AS z ON z.borough = zones.borough GROUP BY 1, 2
    SELECT count(*) FROM trips WHERE pickup_zone + passenger_count > 3
SELECT passenger_count, count(*) FROM trips WHERE fare > 5 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE fare >= 5 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE fare > 6 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE fare > 4.99 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE fare < 5 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE tip > 5 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE fare > 5 AND tip > 0 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE fare > 5 OR tip > 0 GROUP BY 1
    SELECT passenger_count, count(*) FROM trips WHERE NOT fare > 5 GROUP BY 1
    SELECT count(*) FILTER (WHERE fare > 5), count(*) FROM trips
    SELECT passenger_count, count(DISTINCT passenger_id) FROM trips WHERE fare > 5 GROUP BY 1
SELECT payment_type, median(fare), count(DISTINCT passenger_id) FROM trips GROUP BY 1
    SELECT median(fare) FROM trips
    SELECT payment_type, median(tip) FROM trips GROUP BY 1
    SELECT payment_type, percentile_cont(0.9) WITHIN GROUP (ORDER BY fare) FROM trips GROUP BY 1
    SELECT payment_type, max(fare) FROM trips GROUP BY 1
    SELECT payment_type, median(fare) FROM trips WHERE fare > 1 GROUP BY 1
    SELECT count(DISTINCT passenger_id) FROM trips
    SELECT payment_type IS NULL, count(DISTINCT passenger_id) FROM trips GROUP BY 1
    SELECT payment_type, count(DISTINCT driver_id) FROM trips GROUP BY 1
    SELECT payment_type, count(*) FROM trips GROUP BY 1
    SELECT payment_type, dpsql.margin(median(fare)), median(fare) FROM trips GROUP BY 1
SELECT paid, avg(age), count(*) FROM rides GROUP BY 1
    SELECT paid, count(age) FROM rides WHERE late GROUP BY 1
    SELECT paid, avg(tip) FROM rides GROUP BY 1
    SELECT paid, count(tip) FROM rides GROUP BY 1
    SELECT paid, avg(coalesce(age, 0)) FROM rides GROUP BY 1
    SELECT paid, count(*) FROM rides WHERE late IS NOT NULL GROUP BY 1
    SELECT paid, count(*) FILTER (WHERE late) FROM rides GROUP BY 1
    SELECT paid, count(*) FROM rides WHERE age > 20 GROUP BY 1
    SELECT count(*) FROM rides WHERE paid = 'cash' AND to_zone IS NULL
SELECT avg(age) FROM rides
    SELECT count(*) FROM rides
    SELECT avg(tip) FROM rides
    SELECT count(age) FROM rides WHERE late
    SELECT paid, avg(age) FROM rides GROUP BY 1
SELECT count(*) FILTER (WHERE shared), avg(tip) FILTER (WHERE NOT shared) FROM rides
    SELECT count(*) FROM rides
    SELECT avg(tip) FROM rides
    SELECT count(*) FROM rides WHERE NOT shared
SELECT zone, zone_id, borough, count(*), sum(tip) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1, 2, 3
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE passenger_count > zone_id
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id AND passenger_count < zone_id
    SELECT zone, count(*) FILTER (WHERE passenger_count <= zone_id) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE payment_type <> borough
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE passenger_count > zone_id OR borough = 'Queens'
    SELECT sum(CASE WHEN passenger_count > zone_id THEN 1 ELSE 0 END) FROM trips JOIN zones ON pickup_zone = zone_id
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE passenger_count + 1 > zone_id
    SELECT count(*) FROM trips t JOIN zones p ON t.pickup_zone = p.zone_id JOIN zones q ON q.zone_id = t.passenger_count
SELECT k, count(*) FROM (SELECT passenger_id AS u, passenger_count AS k FROM trips UNION ALL SELECT rider, seats FROM rides) AS t GROUP BY 1
    SELECT count(DISTINCT u), count(*) FROM (SELECT passenger_id AS u, passenger_count AS k FROM trips UNION ALL SELECT rider, seats FROM rides) AS t
    SELECT k, count(DISTINCT u) FROM (SELECT passenger_id AS u, passenger_count AS k FROM trips UNION ALL SELECT rider, seats FROM rides) AS t GROUP BY 1
