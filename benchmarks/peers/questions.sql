-- The 22 questions that dpsql, SmartNoise SQL and Qrlew are asked; in brackets the unit that is protected, by what answers are grouped,
-- and what of them follows from the rest.

-- q01 count [passenger]
SELECT COUNT(*) AS n FROM taxi;

-- q02 sum [passenger]
SELECT SUM(fare) AS s FROM taxi;

-- q03 avg+where [passenger]
SELECT AVG(tip) AS a FROM taxi WHERE payment_type = 'CRD';

-- q04 group by 1 [passenger by payment_type]
SELECT payment_type, COUNT(*) AS n, AVG(fare) AS a FROM taxi GROUP BY payment_type;

-- q05 top-10 [passenger by pickup_zone]
SELECT pickup_zone, SUM(total) AS s FROM taxi GROUP BY pickup_zone ORDER BY s DESC LIMIT 10;

-- q06 group by 2 [passenger by payment_type, passenger_count]
SELECT payment_type, passenger_count, COUNT(*) AS n FROM taxi GROUP BY payment_type, passenger_count;

-- q07 stddev/variance [passenger]
SELECT STDDEV(fare) AS sd, VARIANCE(trip_distance) AS v FROM taxi;

-- q08 median [passenger]
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY fare) AS m FROM taxi;

-- q09 count distinct user [passenger]
SELECT COUNT(DISTINCT passenger_id) AS u FROM taxi;

-- q10 histogram floor [passenger by b]
SELECT FLOOR(trip_distance / 2) AS b, COUNT(*) AS n FROM taxi WHERE trip_distance < 40 GROUP BY FLOOR(trip_distance / 2) ORDER BY b;

-- q11 date_trunc series [passenger by m]
SELECT DATE_TRUNC('month', pickup_ts) AS m, COUNT(*) AS n, SUM(total) AS s FROM taxi GROUP BY DATE_TRUNC('month', pickup_ts) ORDER BY m;

-- q12 case + ratio [passenger]
SELECT SUM(CASE WHEN payment_type = 'CRD' THEN tip ELSE 0 END) / SUM(fare) AS r FROM taxi;

-- q13 having [passenger by pickup_zone]
SELECT pickup_zone, COUNT(*) AS n FROM taxi GROUP BY pickup_zone HAVING COUNT(*) > 5000;

-- q14 per-user subquery [passenger]
SELECT AVG(s) AS a FROM (SELECT passenger_id, SUM(total) AS s FROM taxi GROUP BY passenger_id) AS t;

-- q15 cte [passenger by payment_type]
WITH big AS (SELECT * FROM taxi WHERE trip_distance > 5) SELECT payment_type, COUNT(*) AS n, AVG(tip) AS a FROM big GROUP BY payment_type;

-- q16 join [customer by c_mktsegment]
SELECT c.c_mktsegment, COUNT(*) AS n, SUM(o.o_totalprice) AS s FROM customer AS c JOIN orders AS o ON c.c_custkey = o.o_custkey GROUP BY c.c_mktsegment;

-- q17 count distinct by [passenger by payment_type]
SELECT payment_type, COUNT(DISTINCT passenger_id) AS u FROM taxi GROUP BY payment_type;

-- q18 min/max [passenger]
SELECT MIN(fare) AS lo, MAX(fare) AS hi FROM taxi;

-- q19 small registry [patient by pirads]
SELECT pirads, COUNT(*) AS n, AVG(gleason) AS g FROM prostate WHERE age BETWEEN 50 AND 75 GROUP BY pirads ORDER BY pirads;

-- q20 extract hour [passenger by h]
SELECT EXTRACT(hour FROM pickup_ts) AS h, AVG(fare) AS a FROM taxi GROUP BY EXTRACT(hour FROM pickup_ts) ORDER BY h;

-- q21 width_bucket [passenger by b]
SELECT WIDTH_BUCKET(fare, 0, 100, 20) AS b, COUNT(*) AS n FROM taxi GROUP BY WIDTH_BUCKET(fare, 0, 100, 20) ORDER BY b;

-- q22 rank over agg [passenger by payment_type without r]
SELECT payment_type, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM taxi GROUP BY payment_type;
