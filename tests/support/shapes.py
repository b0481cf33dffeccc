"""Statements of many shapes over `rides`, for tests that try each of them on many databases."""

ATTAINED = (
    "SELECT count(*) FROM rides",
    "SELECT count(*), sum(fare) FROM rides",
    "SELECT sum(fare) FROM rides",
    "SELECT sum(tip) FROM rides",
    "SELECT sum(refund) FROM rides",
    "SELECT avg(tip), avg(fare), sum(seats), count(*) FROM rides",
    "SELECT count(tip), count(*) FROM rides",
    "SELECT count(age), avg(age) FROM rides",
    "SELECT variance(fare) FROM rides",
    "SELECT stddev_pop(tip), avg(tip), count(*) FROM rides",
    "SELECT covar_pop(fare, tip), count(*) FROM rides",
    "SELECT corr(price, weight), avg(fare) FROM rides",
    "SELECT regr_slope(tip, fare), regr_sxx(tip, fare), regr_count(tip, age) FROM rides",
    "SELECT var_samp(age), sum(seats), count(late) FROM rides",
    "SELECT paid, count(*) FROM rides GROUP BY paid",
    "SELECT paid, late, count(*), sum(weight) FROM rides GROUP BY 1, 2",
    "SELECT from_zone, avg(fare), count(tip) FROM rides GROUP BY from_zone",
    "SELECT to_zone, sum(price) FROM rides GROUP BY to_zone",
    "SELECT shared, count(*) FILTER (WHERE fare > 20), count(*) FROM rides GROUP BY shared",
    "SELECT sum(fare) FILTER (WHERE late), sum(fare) FILTER (WHERE NOT late), count(*) FROM rides",
    "SELECT avg(tip) FILTER (WHERE paid = 'cash'), count(*) FROM rides",
    "SELECT sum(CASE WHEN paid = 'card' THEN tip ELSE 0 END) / sum(fare) FROM rides",
    "SELECT sum(CASE WHEN late THEN -1 ELSE 1 END) FROM rides",
    "SELECT count(CASE WHEN tip > 0 THEN 1 END), count(*) FROM rides",
    "SELECT z.borough, count(*), avg(r.fare) FROM rides r JOIN zones z ON z.zone_id = r.from_zone GROUP BY z.borough",
    "SELECT z.zone, sum(seats) FROM rides LEFT JOIN zones z ON z.zone_id = to_zone GROUP BY z.zone",
    (
        "SELECT a.borough, b.zone, count(*) FROM rides r JOIN zones a ON a.zone_id = from_zone "
        "LEFT JOIN zones b ON b.zone_id = r.to_zone GROUP BY 1, 2"
    ),
    "SELECT date_trunc('day', picked), count(*) FROM rides GROUP BY 1",
    "SELECT day, sum(fare) FROM rides GROUP BY day",
    "SELECT extract(hour FROM dropped), avg(tip) FROM rides GROUP BY 1",
    "SELECT floor(fare / 20), count(*), sum(tip) FROM rides GROUP BY 1",
    "SELECT floor(weight) * 2, count(*) FROM rides GROUP BY 1",
    "SELECT width_bucket(price, 0, 100, 4), count(*) FROM rides GROUP BY 1",
    "SELECT round(weight::numeric, 1), count(*) FROM rides GROUP BY 1",
    "SELECT CASE WHEN fare > 50 THEN 1 WHEN late THEN 1.2 ELSE 0.9 END, count(*) FROM rides GROUP BY 1",
    "SELECT CASE WHEN tip > 5 THEN 'much' WHEN tip <= 5 THEN 'little' END, count(*) FROM rides GROUP BY 1",
    "SELECT upper(paid), count(*) FROM rides GROUP BY 1",
    "SELECT fare > tip, count(*) FROM rides GROUP BY 1",
    "SELECT coalesce(to_zone, from_zone), count(*) FROM rides GROUP BY 1",
    "SELECT age / 50, count(*) FROM rides GROUP BY 1",
    "SELECT count(*) FILTER (WHERE late), count(*) FILTER (WHERE NOT late), count(*) FILTER (WHERE late IS NULL) FROM rides",
    "SELECT sum(fare) FILTER (WHERE seats = 1), avg(tip) FILTER (WHERE seats = 2) FROM rides",
    "SELECT day, sum(CASE WHEN age < 2 THEN 1 END), sum(CASE WHEN age >= 2 THEN fare END), count(*) FROM rides GROUP BY day",
    "SELECT paid, stddev(fare) FILTER (WHERE shared), variance(tip) FILTER (WHERE NOT shared) FROM rides GROUP BY paid",
    "SELECT count(CASE WHEN fare < 20 THEN 1 END), count(CASE WHEN fare > 20 THEN fare END), sum(fare), avg(fare) FROM rides",
    "SELECT mode() WITHIN GROUP (ORDER BY paid), bool_or(late) FROM rides",
    "SELECT var_pop(fare), avg(fare), sum(fare), count(fare) FROM rides",
    "SELECT paid, stddev(tip), avg(tip) FROM rides GROUP BY paid",
    "SELECT stddev(age) FILTER (WHERE late), avg(age) FILTER (WHERE NOT late) FROM rides",
    "SELECT shared, late, count(*), sum(fare) FROM rides GROUP BY CUBE (shared, late)",
    "SELECT to_char(picked, 'YYYY-MM-DD'), count(*) FROM rides GROUP BY 1",
    "SELECT count(*) FROM (SELECT fare + tip AS both FROM rides WHERE seats > 0) AS r",
    "WITH cheap AS (SELECT * FROM rides WHERE price < 100) SELECT paid, avg(price), count(*) FROM cheap GROUP BY paid",
)
"""Shapes for which a unit with as many rows as it may have can move them by all that is claimed."""

UNITS = (
    "SELECT count(*), sum(n) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY rider) AS t",
    "SELECT n, count(*) FROM (SELECT count(*) AS n FROM rides GROUP BY rider HAVING count(*) > 1) AS t GROUP BY n",
    "SELECT avg(s), sum(m) FROM (SELECT rider, sum(fare) AS s, min(tip) AS m FROM rides GROUP BY 1) AS t WHERE s > 1",
    (
        "SELECT sum(a), sum(b), sum(c), sum(d), sum(e::int) FROM (SELECT sum(seats) AS a, avg(weight) AS b, sum(price) AS c, "
        "count(DISTINCT paid) AS d, bool_or(late) AS e FROM rides GROUP BY rider) AS t"
    ),
    "SELECT paid, count(*), sum(n) FROM (SELECT rider, paid, count(*) AS n FROM rides GROUP BY 1, 2) AS t GROUP BY paid",
    (
        "SELECT avg(days), count(*) FROM (SELECT rider, count(*) AS days FROM "
        "(SELECT DISTINCT rider, date_trunc('day', picked) AS day FROM rides) AS d GROUP BY rider) AS t"
    ),
    "SELECT late, median(s) FROM (SELECT rider, late, sum(fare) AS s FROM rides GROUP BY 1, 2) AS t GROUP BY late",
    "SELECT count(*), sum(x) FROM (SELECT fare AS x FROM rides UNION ALL SELECT tip FROM rides WHERE late) AS t",
    "SELECT what, count(*) FROM (SELECT 'a' AS what FROM rides UNION ALL SELECT paid FROM rides) AS t GROUP BY what",
    "SELECT avg(gap), count(*) FROM (SELECT fare - lag(fare) OVER (PARTITION BY rider ORDER BY day) AS gap FROM rides) AS t",
    (
        "SELECT n, count(*), sum(seats) FROM (SELECT seats, row_number() OVER (PARTITION BY rider ORDER BY picked DESC) AS n "
        "FROM rides WHERE late) AS t GROUP BY n"
    ),
    (
        "SELECT sum(s), sum(m), count(*) FROM (SELECT sum(fare) OVER (PARTITION BY rider ORDER BY day) AS s, avg(tip) OVER "
        "(PARTITION BY rider ORDER BY picked ROWS 1 PRECEDING) AS m FROM rides) AS t"
    ),
    (
        "SELECT f, sum(l - seats) FROM (SELECT seats, first_value(late) OVER (PARTITION BY rider ORDER BY day) AS f, "
        "last_value(seats) OVER (PARTITION BY rider ORDER BY late) AS l FROM rides) AS t GROUP BY f"
    ),
    (
        "SELECT paid, count(*), sum(fare) FROM (SELECT DISTINCT ON (rider, late) paid, fare FROM rides "
        "ORDER BY rider, late, day) AS t GROUP BY paid"
    ),
    "SELECT k, sum(tip) FROM (SELECT tip, ntile(2) OVER (PARTITION BY rider, paid ORDER BY age) k FROM rides) t GROUP BY k",
    "SELECT count(DISTINCT f) FROM (SELECT rider, max(fare) AS f FROM rides GROUP BY 1) AS t",
    (
        "SELECT avg(m), sum(d) FROM (SELECT median(tip) AS m, percentile_disc(0.3) WITHIN GROUP (ORDER BY fare) AS d "
        "FROM rides GROUP BY rider) AS t"
    ),
    "SELECT sum(a), sum(b) FROM (SELECT stddev(weight) AS a, var_pop(fare) AS b FROM rides GROUP BY rider) AS t",
)
"""Shapes over rows of single units."""

NARROWED = (
    "SELECT stars, seats, sum(tip * 2 - fare) FROM rides GROUP BY stars, seats",
    "SELECT count(*), sum(fare) FROM rides WHERE fare BETWEEN 5 AND 20",
    "SELECT sum(tip) FROM rides WHERE tip > 0 AND late IS NOT NULL",
    "SELECT sum(seats) FROM rides WHERE seats < 2.5",
    "SELECT avg(age) FROM rides WHERE age IN (18, 65) OR age IS NULL",
    "SELECT paid, sum(refund) FROM rides WHERE paid <> 'card' GROUP BY paid",
    "SELECT from_zone, count(*) FROM rides WHERE from_zone IN (1, 2, 77) GROUP BY 1",
    "SELECT sum(weight * fare), sum(weight * weight) FROM rides WHERE weight > 0.1",
    "SELECT sum(fare / (seats + 1)), sum(sqrt(fare)), sum(greatest(tip, weight)) FROM rides",
    "SELECT sum(ln(fare + 1)), sum(abs(tip)), sum(power(tip, 2)), sum(exp(weight)) FROM rides",
    "SELECT sum(extract(epoch FROM dropped - interval '1 day')), count(*) FROM rides WHERE picked < '2019-03-05'",
    "SELECT count(*) FROM rides WHERE picked::date - day > 2 AND day + seats < '2019-03-10'",
    "SELECT count(*) FROM rides WHERE picked + seats * interval '90 minutes' < dropped",
    "SELECT sum(mod(age, 7)), sum(age % 7), sum(-age), sum(sign(tip)) FROM rides",
    "SELECT count(*), sum(nullif(seats, 3)) FROM rides WHERE note LIKE 'a%' OR number > 0",
    "SELECT sum(price::integer), sum(tip::bigint), sum(seats::double precision) FROM rides",
    "SELECT avg(shared::int), sum(late::int) FROM rides WHERE shared IS NOT TRUE OR late IS UNKNOWN",
)
"""Shapes whose largest move needs a rarer row."""

OTHERS = (
    "SELECT count(*), sum(fare) FROM rides CROSS JOIN zones",
    "SELECT z.borough, count(*), avg(fare) FROM zones z, rides WHERE zone_id > from_zone AND zone_id <= to_zone GROUP BY 1",
    "SELECT d, count(*), sum(tip) FROM rides JOIN (VALUES (5), (20), (60)) AS v (d) ON fare > d GROUP BY d",
    "SELECT d, (SELECT count(*) FROM rides s WHERE s.fare > d) FROM (VALUES (1), (20)) AS v (d)",
    "SELECT n, avg(tip) FROM rides JOIN (VALUES (0, 20, 'a'), (5, 40, 'b')) v (a, b, n) ON fare >= a AND fare < b GROUP BY 1",
    "SELECT n, count(*) FROM rides LEFT JOIN (VALUES (1, 'a'), (1, 'b'), (2, 'c')) AS v (s, n) ON s = stars GROUP BY n",
    (
        "SELECT b.zone, count(*), avg(tip) FROM rides JOIN zones a ON a.zone_id = from_zone "
        "JOIN zones b ON b.borough = a.borough GROUP BY 1"
    ),
    "SELECT late, median(fare), count(DISTINCT d) FROM rides JOIN (VALUES (5), (20)) AS v (d) ON fare > d GROUP BY late",
    "SELECT z.zone, count(r.fare), sum(r.tip) FROM zones z LEFT JOIN rides r ON r.to_zone = z.zone_id GROUP BY 1",
    "SELECT n, count(*) FROM rides r, LATERAL (SELECT count(*) AS n FROM rides s WHERE s.rider = r.rider) AS l GROUP BY 1",
    (
        "SELECT count(*), sum(l.tip) FROM rides r JOIN LATERAL (SELECT s.tip FROM rides s WHERE s.rider = r.rider "
        "ORDER BY s.tip LIMIT 1) AS l ON TRUE"
    ),
    "SELECT sum(dropped - picked), count(*) FILTER (WHERE picked::time < '12:00' AND lower(note) LIKE '%a%') FROM rides",
    "SELECT refund * 2, count(*) FILTER (WHERE (seats, stars) < (3, 2)) FROM rides GROUP BY 1",
    "SELECT count(DISTINCT rider) FROM rides",
    "SELECT paid, count(DISTINCT rider), count(*) FROM rides GROUP BY paid",
    "SELECT count(DISTINCT fare), count(DISTINCT late) FROM rides WHERE seats > 0",
    "SELECT from_zone, count(DISTINCT number), count(DISTINCT note) FROM rides GROUP BY from_zone",
    "SELECT late, count(DISTINCT (number, tip)), count(DISTINCT ROW(note)) FROM rides GROUP BY late",
    "SELECT sum(DISTINCT fare), avg(DISTINCT fare) FROM rides",
    "SELECT paid, sum(DISTINCT tip) FROM rides GROUP BY paid",
    "SELECT shared, stddev(DISTINCT age), avg(DISTINCT weight) FROM rides WHERE seats > 0 GROUP BY shared",
    "SELECT median(fare), avg(fare) FROM rides",
    "SELECT paid, percentile_cont(0.25) WITHIN GROUP (ORDER BY tip) FROM rides GROUP BY paid",
    "SELECT percentile_disc(ARRAY[0.1, 0.3, 0.5, 0.7, 0.9]) WITHIN GROUP (ORDER BY age) FROM rides",
    "SELECT late, min(picked), max(dropped), max(weight) FROM rides GROUP BY late",
    "SELECT shared, max(paid), percentile_disc(0.5) WITHIN GROUP (ORDER BY paid) FROM rides GROUP BY shared",
    "SELECT min(fare), max(tip), percentile_cont(0) WITHIN GROUP (ORDER BY price) FROM rides",
    "SELECT paid, percentile_disc(1) WITHIN GROUP (ORDER BY picked), min(age) FROM rides GROUP BY paid",
    "SELECT z.borough, median(age) FILTER (WHERE late) FROM rides JOIN zones z ON zone_id = from_zone GROUP BY 1",
)
"""Shapes that are not read off sums of rows."""

FOUND = (
    "SELECT note, count(*) FROM rides GROUP BY note",
    "SELECT note, paid, sum(fare), avg(tip) FROM rides GROUP BY note, paid",
    "SELECT DISTINCT number FROM rides WHERE seats > 0",
    "SELECT note, count(*) FILTER (WHERE late), variance(age) FROM rides GROUP BY 1",
    "SELECT note, CASE WHEN fare > 50 THEN 1.2 ELSE 0.9 END, count(*) FROM rides GROUP BY 1, 2",
    "SELECT price * 2, round(fare::numeric, 4), left(note, 1), sum(seats) FROM rides GROUP BY 1, 2, 3",
)
"""Shapes whose group keys are not declared."""

VIEWS = (
    "SELECT zone, count(*), sum(total) FROM card_rides GROUP BY zone",
    "SELECT avg(rides), sum(spent) FROM riders",
    "SELECT count(*) FROM late_cards JOIN boroughs USING (borough) WHERE zones > 1",
)
SHAPES = ATTAINED + UNITS + NARROWED + OTHERS + VIEWS
