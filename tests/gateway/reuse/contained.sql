-- Each question that stands further in is free after the one above it, and means what PostgreSQL says.

SELECT payment_type, count(*), avg(fare) FROM trips GROUP BY 1
    SELECT payment_type, avg(fare), count(*) FROM trips GROUP BY 1
    SELECT avg(t.fare) AS a, count(*) AS n, t.payment_type AS p FROM trips AS t GROUP BY t.payment_type
    WITH c AS (SELECT fare, payment_type AS p FROM trips) SELECT p, count(*), avg(fare) FROM c GROUP BY p
    SELECT payment_type, count(*) FROM trips GROUP BY 1
    SELECT payment_type, sum(fare) FROM trips GROUP BY 1
    SELECT payment_type, sum(fare) / count(*) FROM trips GROUP BY 1
    SELECT payment_type, count(*) FROM trips GROUP BY 1 HAVING avg(fare) > 5 ORDER BY 2 DESC LIMIT 2
    SELECT payment_type, count(*), rank() OVER (ORDER BY count(*)) FROM trips GROUP BY 1
    SELECT upper(payment_type), count(*) FROM trips GROUP BY 1
    SELECT payment_type IS NULL, count(*) FROM trips GROUP BY 1
    SELECT CASE WHEN payment_type = 'cash' THEN 'coins' ELSE 'other' END AS c, avg(fare) FROM trips GROUP BY 1
    SELECT count(*), avg(fare), sum(fare) FROM trips
    SELECT count(*) FROM trips WHERE payment_type = 'cash'
    SELECT count(*) FROM trips WHERE 'cash' = payment_type
    SELECT count(*) FROM trips WHERE payment_type IN ('cash', 'credit card')
    SELECT count(*) FROM trips WHERE payment_type <> 'cash'
    SELECT count(*) FROM trips WHERE payment_type IS NULL
    SELECT count(*) FROM trips WHERE payment_type LIKE 'ca%'
    SELECT avg(fare) FROM trips WHERE payment_type = 'cash' OR payment_type IS NULL
    SELECT count(*) FILTER (WHERE payment_type = 'cash'), count(*) FROM trips
    SELECT sum(CASE WHEN payment_type = 'cash' THEN 1 ELSE 0 END) FROM trips
    SELECT count(payment_type) FROM trips
    SELECT count(DISTINCT payment_type), bool_or(payment_type = 'cash') FROM trips
    SELECT sum(fare) FILTER (WHERE payment_type = 'cash') FROM trips
    SELECT payment_type, count(*) FROM trips GROUP BY ROLLUP (payment_type)
SELECT date_trunc('day', pickup_ts) AS day, count(*), avg(tip) FROM trips GROUP BY 1
    SELECT date_trunc('week', pickup_ts) AS week, count(*) FROM trips GROUP BY 1
    SELECT date_trunc('month', pickup_ts) AS month, avg(tip) FROM trips GROUP BY 1
    SELECT extract(dow FROM pickup_ts) AS dow, count(*) FROM trips GROUP BY 1
    SELECT pickup_ts::date AS day, count(*) FROM trips GROUP BY 1
    SELECT count(*) FROM trips WHERE pickup_ts >= '2019-03-05' AND pickup_ts < '2019-03-08'
    SELECT count(*) FROM trips WHERE pickup_ts BETWEEN '2019-03-05' AND '2019-03-07 23:59:59.999999'
    SELECT date_trunc('day', pickup_ts) AS day, count(*) FROM trips WHERE pickup_ts > '2019-03-28 23:59:59.999999' GROUP BY 1
    SELECT count(*) FROM trips WHERE pickup_ts::date = '2019-03-05'
    SELECT avg(tip) FROM trips WHERE extract(dow FROM pickup_ts) IN (0, 6)
SELECT pickup_zone, count(*), sum(tip) FROM trips GROUP BY 1
    SELECT borough, count(*) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1
    SELECT borough, sum(tip) FROM zones, trips WHERE zone_id = pickup_zone GROUP BY 1
    SELECT zone, count(*) FROM trips LEFT JOIN zones ON pickup_zone = zone_id GROUP BY 1
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE borough = 'Queens'
    SELECT count(*) FROM trips WHERE pickup_zone IN (SELECT zone_id FROM zones WHERE borough = 'Queens')
    SELECT count(*) FROM trips WHERE pickup_zone > 2
    SELECT pickup_zone % 2, count(*) FROM trips GROUP BY 1
    SELECT count(*) FROM trips AS t WHERE EXISTS (SELECT FROM zones AS z WHERE z.zone_id = t.pickup_zone AND z.zone LIKE 'A%')
SELECT zone, payment_type, count(*) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1, 2
    SELECT borough, count(*) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1
    SELECT payment_type, zone, count(*) FROM zones JOIN trips ON pickup_zone = zone_id GROUP BY 1, 2
    SELECT payment_type, count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE borough = 'Bronx' GROUP BY 1
SELECT passenger_count, count(*) FROM trips WHERE fare > 5 AND tip >= 1 GROUP BY 1
    SELECT count(*) FROM trips WHERE 5 < fare AND tip >= 1
    SELECT count(*) FROM (SELECT * FROM trips WHERE tip >= 1) AS t WHERE fare > 5
    SELECT passenger_count > 2, count(*) FROM trips WHERE tip >= 1 AND fare > 5 GROUP BY 1
    SELECT count(*) FROM trips WHERE tip >= 1 AND fare > 5 AND passenger_count BETWEEN 1 AND 3
    SELECT count(*) FROM trips WHERE tip >= 1 AND fare > 5 AND (passenger_count = 1 OR passenger_count = 4)
SELECT payment_type, median(fare), count(DISTINCT passenger_id) FROM trips GROUP BY 1
    SELECT payment_type, median(fare) FROM trips GROUP BY 1
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY fare) FROM trips WHERE payment_type = 'cash'
    SELECT payment_type, count(DISTINCT passenger_id) FROM trips WHERE payment_type IN ('cash') GROUP BY 1
SELECT payment_type, var_samp(fare), corr(fare, tip) FROM trips GROUP BY 1
    SELECT avg(fare), stddev(fare), count(*) FROM trips
    SELECT payment_type, covar_pop(fare, tip), avg(tip) FROM trips GROUP BY 1
SELECT count(*) FILTER (WHERE passenger_count > 2), count(*) FILTER (WHERE passenger_count <= 2), count(*) FROM trips
    SELECT count(*) FROM trips WHERE passenger_count > 2
    SELECT count(*) FROM trips WHERE passenger_count >= 3
    SELECT count(*) FROM trips
SELECT zone_id, passenger_count, count(*) FROM trips JOIN zones ON pickup_zone = zone_id GROUP BY 1, 2
    SELECT passenger_count, count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE passenger_count > zone_id GROUP BY 1
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id AND passenger_count < zone_id
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE passenger_count > zone_id OR borough = 'Queens'
SELECT passenger_count, count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE passenger_count > zone_id GROUP BY 1
    SELECT count(*) FROM trips JOIN zones ON pickup_zone = zone_id WHERE passenger_count > zone_id
