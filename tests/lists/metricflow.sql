-- What MetricFlow writes for tests/lists/metricflow: `python -m tests.lists.layers`.

-- [1] total
SELECT
  SUM(1) AS trips
FROM public.trips trips_src_10000;

-- [2] several in all
SELECT
  SUM(1) AS trips
  , SUM(fare) AS fares
  , AVG(fare) AS average_fare
FROM public.trips trips_src_10000;

-- [3] by day
SELECT
  metric_time__day
  , SUM(__trips) AS trips
FROM (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , 1 AS __trips
  FROM public.trips trips_src_10000
) subq_3
GROUP BY
  metric_time__day
ORDER BY metric_time__day;

-- [4] by month
SELECT
  DATE_TRUNC('month', started_at) AS metric_time__month
  , SUM(fare) AS fares
  , COUNT(DISTINCT rider_id) AS active_riders
FROM public.trips trips_src_10000
GROUP BY
  DATE_TRUNC('month', started_at);

-- [5] by hour
SELECT
  trip__moment__hour
  , SUM(__trips) AS trips
FROM (
  SELECT
    DATE_TRUNC('hour', started_at) AS trip__moment__hour
    , 1 AS __trips
  FROM public.trips trips_src_10000
  WHERE DATE_TRUNC('day', started_at) BETWEEN '2019-03-01' AND '2019-03-02'
) subq_5
GROUP BY
  trip__moment__hour;

-- [6] by week and payment
SELECT
  metric_time__week
  , trip__payment
  , SUM(__trips) AS trips
FROM (
  SELECT
    DATE_TRUNC('week', started_at) AS metric_time__week
    , payment AS trip__payment
    , 1 AS __trips
  FROM public.trips trips_src_10000
) subq_3
GROUP BY
  metric_time__week
  , trip__payment;

-- [7] by quarter
SELECT
  metric_time__quarter
  , SUM(__paid) AS paid
FROM (
  SELECT
    DATE_TRUNC('quarter', started_at) AS metric_time__quarter
    , fare + coalesce(tip, 0) AS __paid
  FROM public.trips trips_src_10000
) subq_3
GROUP BY
  metric_time__quarter;

-- [8] by day of the week
SELECT
  metric_time__extract_dow
  , SUM(__trips) AS trips
FROM (
  SELECT
    EXTRACT(isodow FROM started_at) AS metric_time__extract_dow
    , 1 AS __trips
  FROM public.trips trips_src_10000
) subq_3
GROUP BY
  metric_time__extract_dow;

-- [9] by season of the calendar
SELECT
  subq_1.season AS metric_time__season
  , SUM(subq_0.__trips) AS trips
FROM (
  SELECT
    1 AS __trips
    , DATE_TRUNC('day', started_at) AS started_at__day
  FROM public.trips trips_src_10000
) subq_0
LEFT OUTER JOIN
  public.calendar subq_1
ON
  subq_0.started_at__day = subq_1.day
GROUP BY
  subq_1.season;

-- [10] by a computed dimension
SELECT
  trip__length
  , SUM(__trips) AS trips
  , AVG(__average_fare) AS average_fare
FROM (
  SELECT
    CASE WHEN distance < 2 THEN 'short' WHEN distance < 8 THEN 'middle' ELSE 'long' END AS trip__length
    , 1 AS __trips
    , fare AS __average_fare
  FROM public.trips trips_src_10000
) subq_3
GROUP BY
  trip__length;

-- [11] a truth
SELECT
  trip__is_shared
  , SUM(__shared_trips) AS shared_trips
  , SUM(__trips) AS trips
FROM (
  SELECT
    shared AS trip__is_shared
    , 1 AS __trips
    , CASE WHEN shared THEN 1 ELSE 0 END AS __shared_trips
  FROM public.trips trips_src_10000
) subq_3
GROUP BY
  trip__is_shared;

-- [12] least and most
SELECT
  payment AS trip__payment
  , MIN(fare) AS least_fare
  , MAX(distance) AS most_distance
FROM public.trips trips_src_10000
GROUP BY
  payment;

-- [13] median and percentiles
SELECT
  PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY (fare)) AS median_fare
  , PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY (fare)) AS fare_p90
  , PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY (fare)) AS fare_p90_exact
FROM public.trips trips_src_10000;

-- [14] median by month
SELECT
  DATE_TRUNC('month', started_at) AS metric_time__month
  , PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY (fare)) AS median_fare
FROM public.trips trips_src_10000
GROUP BY
  DATE_TRUNC('month', started_at);

-- [15] count distinct of zones
SELECT
  DATE_TRUNC('month', started_at) AS metric_time__month
  , COUNT(DISTINCT zone_id) AS zones_served
FROM public.trips trips_src_10000
GROUP BY
  DATE_TRUNC('month', started_at);

-- [16] between two dates
SELECT
  SUM(fare) AS fares
FROM public.trips trips_src_10000
WHERE DATE_TRUNC('day', started_at) BETWEEN '2019-02-01' AND '2019-02-28';

-- [17] a filter
SELECT
  trip__payment
  , SUM(trips) AS trips
FROM (
  SELECT
    payment AS trip__payment
    , status AS trip__status
    , 1 AS trips
  FROM public.trips trips_src_10000
) subq_2
WHERE trip__status = 'done'
GROUP BY
  trip__payment;

-- [18] two filters, one of time
SELECT
  metric_time__month
  , SUM(trips) AS trips
  , SUM(fares) AS fares
FROM (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , DATE_TRUNC('month', started_at) AS metric_time__month
    , shared AS trip__is_shared
    , 1 AS trips
    , fare AS fares
  FROM public.trips trips_src_10000
) subq_2
WHERE (trip__is_shared) AND (metric_time__day >= '2019-03-01')
GROUP BY
  metric_time__month;

-- [19] a metric with a filter
SELECT
  metric_time__month
  , SUM(card_fares) AS card_fares
FROM (
  SELECT
    DATE_TRUNC('month', started_at) AS metric_time__month
    , payment AS trip__payment
    , fare AS card_fares
  FROM public.trips trips_src_10000
) subq_2
WHERE trip__payment = 'card'
GROUP BY
  metric_time__month;

-- [20] top 5 zones
SELECT
  zones_src_10000.zone AS zone__zone_name
  , SUM(trips_src_10000.fare) AS fares
FROM public.trips trips_src_10000
LEFT OUTER JOIN
  public.zones zones_src_10000
ON
  trips_src_10000.zone_id = zones_src_10000.zone_id
GROUP BY
  zones_src_10000.zone
ORDER BY fares DESC
LIMIT 5;

-- [21] by borough
SELECT
  zones_src_10000.borough AS zone__borough
  , SUM(subq_1.__trips) AS trips
  , AVG(subq_1.__average_fare) AS average_fare
FROM (
  SELECT
    zone_id AS zone
    , 1 AS __trips
    , fare AS __average_fare
  FROM public.trips trips_src_10000
) subq_1
LEFT OUTER JOIN
  public.zones zones_src_10000
ON
  subq_1.zone = zones_src_10000.zone_id
GROUP BY
  zones_src_10000.borough
ORDER BY zone__borough;

-- [22] by borough and month
SELECT
  DATE_TRUNC('month', trips_src_10000.started_at) AS metric_time__month
  , zones_src_10000.borough AS zone__borough
  , SUM(trips_src_10000.fare) AS fares
FROM public.trips trips_src_10000
LEFT OUTER JOIN
  public.zones zones_src_10000
ON
  trips_src_10000.zone_id = zones_src_10000.zone_id
GROUP BY
  DATE_TRUNC('month', trips_src_10000.started_at)
  , zones_src_10000.borough;

-- [23] by the rider's plan
SELECT
  riders_src_10000.plan AS rider__plan
  , SUM(subq_1.__trips) AS trips
  , SUM(subq_1.__fares) AS fares
FROM (
  SELECT
    rider_id AS rider
    , 1 AS __trips
    , fare AS __fares
  FROM public.trips trips_src_10000
) subq_1
LEFT OUTER JOIN
  public.riders riders_src_10000
ON
  subq_1.rider = riders_src_10000.rider_id
GROUP BY
  riders_src_10000.plan;

-- [24] by the rider's plan and the borough
SELECT
  zones_src_10000.borough AS zone__borough
  , riders_src_10000.plan AS rider__plan
  , SUM(subq_1.__trips) AS trips
FROM (
  SELECT
    rider_id AS rider
    , zone_id AS zone
    , 1 AS __trips
  FROM public.trips trips_src_10000
) subq_1
LEFT OUTER JOIN
  public.zones zones_src_10000
ON
  subq_1.zone = zones_src_10000.zone_id
LEFT OUTER JOIN
  public.riders riders_src_10000
ON
  subq_1.rider = riders_src_10000.rider_id
GROUP BY
  zones_src_10000.borough
  , riders_src_10000.plan;

-- [25] by the rider's home
SELECT
  subq_13.zone__borough AS rider__zone__borough
  , SUM(subq_7.__trips) AS trips
FROM (
  SELECT
    rider_id AS rider
    , 1 AS __trips
  FROM public.trips trips_src_10000
) subq_7
LEFT OUTER JOIN (
  SELECT
    riders_src_10000.rider_id AS rider
    , zones_src_10000.borough AS zone__borough
  FROM public.riders riders_src_10000
  LEFT OUTER JOIN
    public.zones zones_src_10000
  ON
    riders_src_10000.home_zone = zones_src_10000.zone_id
) subq_13
ON
  subq_7.rider = subq_13.rider
GROUP BY
  subq_13.zone__borough;

-- [26] by the rider's decade
SELECT
  subq_4.decade AS rider__decade
  , AVG(trips_src_10000.fare) AS average_fare
FROM public.trips trips_src_10000
LEFT OUTER JOIN (
  SELECT
    rider_id AS rider
    , age / 10 * 10 AS decade
  FROM public.riders riders_src_10000
) subq_4
ON
  trips_src_10000.rider_id = subq_4.rider
GROUP BY
  subq_4.decade;

-- [27] by the month of joining
SELECT
  DATE_TRUNC('month', riders_src_10000.joined_on) AS rider__joined_on__month
  , COUNT(DISTINCT trips_src_10000.rider_id) AS active_riders
FROM public.trips trips_src_10000
LEFT OUTER JOIN
  public.riders riders_src_10000
ON
  trips_src_10000.rider_id = riders_src_10000.rider_id
GROUP BY
  DATE_TRUNC('month', riders_src_10000.joined_on);

-- [28] a filter of another table
SELECT
  SUM(trips) AS trips
FROM (
  SELECT
    riders_src_10000.plan AS rider__plan
    , subq_1.__trips AS trips
  FROM (
    SELECT
      rider_id AS rider
      , 1 AS __trips
    FROM public.trips trips_src_10000
  ) subq_1
  LEFT OUTER JOIN
    public.riders riders_src_10000
  ON
    subq_1.rider = riders_src_10000.rider_id
) subq_6
WHERE rider__plan IN ('plus', 'family');

-- [29] stars by payment of the trip
SELECT
  trips_src_10000.payment AS trip__payment
  , AVG(subq_1.__average_stars) AS average_stars
  , SUM(subq_1.__ratings) AS ratings
FROM (
  SELECT
    trip_id AS trip
    , CASE WHEN rating_id IS NOT NULL THEN 1 ELSE 0 END AS __ratings
    , stars AS __average_stars
  FROM public.ratings ratings_src_10000
) subq_1
LEFT OUTER JOIN
  public.trips trips_src_10000
ON
  subq_1.trip = trips_src_10000.trip_id
GROUP BY
  trips_src_10000.payment;

-- [30] stars by the trip's borough
SELECT
  subq_10.zone__borough AS trip__zone__borough
  , AVG(ratings_src_10000.stars) AS average_stars
FROM public.ratings ratings_src_10000
LEFT OUTER JOIN (
  SELECT
    trips_src_10000.trip_id AS trip
    , zones_src_10000.borough AS zone__borough
  FROM public.trips trips_src_10000
  LEFT OUTER JOIN
    public.zones zones_src_10000
  ON
    trips_src_10000.zone_id = zones_src_10000.zone_id
) subq_10
ON
  ratings_src_10000.trip_id = subq_10.trip
GROUP BY
  subq_10.zone__borough;

-- [31] stars by the trip's rider's plan
SELECT
  subq_11.rider__plan AS trip__rider__plan
  , SUM(subq_4.__ratings) AS ratings
FROM (
  SELECT
    trip_id AS trip
    , CASE WHEN rating_id IS NOT NULL THEN 1 ELSE 0 END AS __ratings
  FROM public.ratings ratings_src_10000
) subq_4
LEFT OUTER JOIN (
  SELECT
    trips_src_10000.trip_id AS trip
    , riders_src_10000.plan AS rider__plan
  FROM public.trips trips_src_10000
  LEFT OUTER JOIN
    public.riders riders_src_10000
  ON
    trips_src_10000.rider_id = riders_src_10000.rider_id
) subq_11
ON
  subq_4.trip = subq_11.trip
GROUP BY
  subq_11.rider__plan;

-- [32] riders by plan
SELECT
  rider__plan
  , SUM(__riders) AS riders
  , AVG(__average_age) AS average_age
FROM (
  SELECT
    plan AS rider__plan
    , 1 AS __riders
    , age AS __average_age
  FROM public.riders riders_src_10000
) subq_3
GROUP BY
  rider__plan;

-- [33] riders by the month of joining
SELECT
  metric_time__month
  , SUM(__riders) AS riders
FROM (
  SELECT
    DATE_TRUNC('month', joined_on) AS metric_time__month
    , 1 AS __riders
  FROM public.riders riders_src_10000
) subq_3
GROUP BY
  metric_time__month;

-- [34] visits by channel
SELECT
  visit__channel
  , SUM(__visits) AS visits
  , COUNT(DISTINCT __visitors) AS visitors
FROM (
  SELECT
    channel AS visit__channel
    , 1 AS __visits
    , rider_id AS __visitors
  FROM public.visits visits_src_10000
) subq_3
GROUP BY
  visit__channel;

-- [35] pages
SELECT
  visit__page
  , SUM(__visits) AS visits
FROM (
  SELECT
    page AS visit__page
    , 1 AS __visits
  FROM public.visits visits_src_10000
) subq_3
GROUP BY
  visit__page
ORDER BY visits DESC
LIMIT 10;

-- [36] by the rider
SELECT
  rider_id AS rider
  , SUM(fare) AS fares
FROM public.trips trips_src_10000
GROUP BY
  rider_id
ORDER BY fares DESC
LIMIT 10;

-- [37] by the trip
SELECT
  trip_id AS trip
  , SUM(fare) AS fares
FROM public.trips trips_src_10000
GROUP BY
  trip_id;

-- [38] values of a dimension
SELECT
  payment AS trip__payment
FROM public.trips trips_src_10000
GROUP BY
  payment;

-- [39] values of a public dimension
SELECT
  borough AS zone__borough
FROM public.zones zones_src_10000
GROUP BY
  borough;

-- [40] the first and the last day
SELECT
  MIN(metric_time__day) AS metric_time__day__min
  , MAX(metric_time__day) AS metric_time__day__max
FROM (
  SELECT
    day AS metric_time__day
  FROM public.calendar time_spine_src_10000
  GROUP BY
    day
) subq_3;

-- [41] a metric as a filter
WITH sma_10003_cte AS (
  SELECT
    rider_id AS rider
    , 1 AS __trips
    , fare AS __fares
  FROM public.trips trips_src_10000
)

SELECT
  SUM(trips) AS trips
FROM (
  SELECT
    subq_11.rider__fares AS rider__fares
    , subq_5.__trips AS trips
  FROM (
    SELECT
      rider
      , __trips
    FROM sma_10003_cte
  ) subq_5
  LEFT OUTER JOIN (
    SELECT
      rider
      , SUM(__fares) AS rider__fares
    FROM sma_10003_cte
    GROUP BY
      rider
  ) subq_11
  ON
    subq_5.rider = subq_11.rider
) subq_13
WHERE rider__fares > 500;

-- [42] riders with enough trips
SELECT
  rider__plan
  , SUM(riders) AS riders
FROM (
  SELECT
    subq_5.rider__plan AS rider__plan
    , subq_12.rider__trips AS rider__trips
    , subq_5.__riders AS riders
  FROM (
    SELECT
      rider_id AS rider
      , plan AS rider__plan
      , 1 AS __riders
    FROM public.riders riders_src_10000
  ) subq_5
  LEFT OUTER JOIN (
    SELECT
      rider
      , SUM(__trips) AS rider__trips
    FROM (
      SELECT
        rider_id AS rider
        , 1 AS __trips
      FROM public.trips trips_src_10000
    ) subq_9
    GROUP BY
      rider
  ) subq_12
  ON
    subq_5.rider = subq_12.rider
) subq_14
WHERE rider__trips >= 20
GROUP BY
  rider__plan;

-- [43] a share
WITH sma_10003_cte AS (
  SELECT
    DATE_TRUNC('month', started_at) AS metric_time__month
    , payment AS trip__payment
    , 1 AS __trips
  FROM public.trips trips_src_10000
)

SELECT
  metric_time__month AS metric_time__month
  , CAST(card_trips AS DOUBLE PRECISION) / CAST(NULLIF(trips, 0) AS DOUBLE PRECISION) AS card_share
FROM (
  SELECT
    COALESCE(subq_6.metric_time__month, subq_11.metric_time__month) AS metric_time__month
    , MAX(subq_6.card_trips) AS card_trips
    , MAX(subq_11.trips) AS trips
  FROM (
    SELECT
      metric_time__month
      , SUM(trips) AS card_trips
    FROM (
      SELECT
        metric_time__month
        , trip__payment
        , __trips AS trips
      FROM sma_10003_cte
    ) subq_2
    WHERE trip__payment = 'card'
    GROUP BY
      metric_time__month
  ) subq_6
  FULL OUTER JOIN (
    SELECT
      metric_time__month
      , SUM(__trips) AS trips
    FROM sma_10003_cte
    GROUP BY
      metric_time__month
  ) subq_11
  ON
    subq_6.metric_time__month = subq_11.metric_time__month
  GROUP BY
    COALESCE(subq_6.metric_time__month, subq_11.metric_time__month)
) subq_12;

-- [44] a ratio in one table
SELECT
  zone__borough
  , CAST(fares AS DOUBLE PRECISION) / CAST(NULLIF(active_riders, 0) AS DOUBLE PRECISION) AS fare_per_rider
FROM (
  SELECT
    zones_src_10000.borough AS zone__borough
    , SUM(trips_src_10000.fare) AS fares
    , COUNT(DISTINCT trips_src_10000.rider_id) AS active_riders
  FROM public.trips trips_src_10000
  LEFT OUTER JOIN
    public.zones zones_src_10000
  ON
    trips_src_10000.zone_id = zones_src_10000.zone_id
  GROUP BY
    zones_src_10000.borough
) subq_8;

-- [45] a ratio of two tables
SELECT
  metric_time__week
  , CAST(trips AS DOUBLE PRECISION) / CAST(NULLIF(visits, 0) AS DOUBLE PRECISION) AS trips_per_visit
FROM (
  SELECT
    COALESCE(subq_5.metric_time__week, subq_11.metric_time__week) AS metric_time__week
    , MAX(subq_5.trips) AS trips
    , MAX(subq_11.visits) AS visits
  FROM (
    SELECT
      metric_time__week
      , SUM(__trips) AS trips
    FROM (
      SELECT
        DATE_TRUNC('week', started_at) AS metric_time__week
        , 1 AS __trips
      FROM public.trips trips_src_10000
    ) subq_3
    GROUP BY
      metric_time__week
  ) subq_5
  FULL OUTER JOIN (
    SELECT
      metric_time__week
      , SUM(__visits) AS visits
    FROM (
      SELECT
        DATE_TRUNC('week', visited_at) AS metric_time__week
        , 1 AS __visits
      FROM public.visits visits_src_10000
    ) subq_9
    GROUP BY
      metric_time__week
  ) subq_11
  ON
    subq_5.metric_time__week = subq_11.metric_time__week
  GROUP BY
    COALESCE(subq_5.metric_time__week, subq_11.metric_time__week)
) subq_12;

-- [46] a ratio of two tables in all
SELECT
  CAST(MAX(subq_5.trips) AS DOUBLE PRECISION) / CAST(NULLIF(MAX(subq_11.visits), 0) AS DOUBLE PRECISION) AS trips_per_visit
FROM (
  SELECT
    SUM(1) AS trips
  FROM public.trips trips_src_10000
) subq_5
CROSS JOIN (
  SELECT
    SUM(1) AS visits
  FROM public.visits visits_src_10000
) subq_11;

-- [47] a share by another table
WITH sma_10003_cte AS (
  SELECT
    DATE_TRUNC('month', started_at) AS metric_time__month
    , rider_id AS rider
    , fare AS __fares
  FROM public.trips trips_src_10000
)

SELECT
  metric_time__month AS metric_time__month
  , CAST(plus_fares AS DOUBLE PRECISION) / CAST(NULLIF(fares, 0) AS DOUBLE PRECISION) AS plus_share
FROM (
  SELECT
    COALESCE(subq_10.metric_time__month, subq_15.metric_time__month) AS metric_time__month
    , MAX(subq_10.plus_fares) AS plus_fares
    , MAX(subq_15.fares) AS fares
  FROM (
    SELECT
      metric_time__month
      , SUM(fares) AS plus_fares
    FROM (
      SELECT
        sma_10003_cte.metric_time__month AS metric_time__month
        , riders_src_10000.plan AS rider__plan
        , sma_10003_cte.__fares AS fares
      FROM sma_10003_cte
      LEFT OUTER JOIN
        public.riders riders_src_10000
      ON
        sma_10003_cte.rider = riders_src_10000.rider_id
    ) subq_6
    WHERE rider__plan = 'plus'
    GROUP BY
      metric_time__month
  ) subq_10
  FULL OUTER JOIN (
    SELECT
      metric_time__month
      , SUM(__fares) AS fares
    FROM sma_10003_cte
    GROUP BY
      metric_time__month
  ) subq_15
  ON
    subq_10.metric_time__month = subq_15.metric_time__month
  GROUP BY
    COALESCE(subq_10.metric_time__month, subq_15.metric_time__month)
) subq_16;

-- [48] derived
WITH sma_10003_cte AS (
  SELECT
    CASE WHEN distance < 2 THEN 'short' WHEN distance < 8 THEN 'middle' ELSE 'long' END AS trip__length
    , fare AS __fares
    , fare + coalesce(tip, 0) AS __paid
  FROM public.trips trips_src_10000
)

, cm_7_cte AS (
  SELECT
    trip__length
    , paid - fares AS tips
  FROM (
    SELECT
      trip__length
      , SUM(__paid) AS paid
      , SUM(__fares) AS fares
    FROM sma_10003_cte
    GROUP BY
      trip__length
  ) subq_5
)

SELECT
  COALESCE(cm_7_cte.trip__length, subq_14.trip__length) AS trip__length
  , MAX(cm_7_cte.tips) AS tips
  , MAX(subq_14.tip_percent) AS tip_percent
FROM cm_7_cte
FULL OUTER JOIN (
  SELECT
    trip__length
    , 100.0 * tips / NULLIF(fares, 0) AS tip_percent
  FROM (
    SELECT
      COALESCE(cm_7_cte.trip__length, subq_12.trip__length) AS trip__length
      , MAX(cm_7_cte.tips) AS tips
      , MAX(subq_12.fares) AS fares
    FROM cm_7_cte
    FULL OUTER JOIN (
      SELECT
        trip__length
        , SUM(__fares) AS fares
      FROM sma_10003_cte
      GROUP BY
        trip__length
    ) subq_12
    ON
      cm_7_cte.trip__length = subq_12.trip__length
    GROUP BY
      COALESCE(cm_7_cte.trip__length, subq_12.trip__length)
  ) subq_13
) subq_14
ON
  cm_7_cte.trip__length = subq_14.trip__length
GROUP BY
  COALESCE(cm_7_cte.trip__length, subq_14.trip__length);

-- [49] metrics of several tables
SELECT
  COALESCE(subq_5.metric_time__month, subq_11.metric_time__month, subq_17.metric_time__month) AS metric_time__month
  , MAX(subq_5.trips) AS trips
  , MAX(subq_11.visits) AS visits
  , MAX(subq_17.riders) AS riders
FROM (
  SELECT
    metric_time__month
    , SUM(__trips) AS trips
  FROM (
    SELECT
      DATE_TRUNC('month', started_at) AS metric_time__month
      , 1 AS __trips
    FROM public.trips trips_src_10000
  ) subq_3
  GROUP BY
    metric_time__month
) subq_5
FULL OUTER JOIN (
  SELECT
    metric_time__month
    , SUM(__visits) AS visits
  FROM (
    SELECT
      DATE_TRUNC('month', visited_at) AS metric_time__month
      , 1 AS __visits
    FROM public.visits visits_src_10000
  ) subq_9
  GROUP BY
    metric_time__month
) subq_11
ON
  subq_5.metric_time__month = subq_11.metric_time__month
FULL OUTER JOIN (
  SELECT
    metric_time__month
    , SUM(__riders) AS riders
  FROM (
    SELECT
      DATE_TRUNC('month', joined_on) AS metric_time__month
      , 1 AS __riders
    FROM public.riders riders_src_10000
  ) subq_15
  GROUP BY
    metric_time__month
) subq_17
ON
  COALESCE(subq_5.metric_time__month, subq_11.metric_time__month) = subq_17.metric_time__month
GROUP BY
  COALESCE(subq_5.metric_time__month, subq_11.metric_time__month, subq_17.metric_time__month)
ORDER BY metric_time__month;

-- [50] metrics of several tables by plan
WITH sma_10002_cte AS (
  SELECT
    rider_id AS rider
    , plan
  FROM public.riders riders_src_10000
)

SELECT
  COALESCE(subq_9.rider__plan, subq_18.rider__plan) AS rider__plan
  , MAX(subq_9.fares) AS fares
  , MAX(subq_18.visits) AS visits
FROM (
  SELECT
    sma_10002_cte.plan AS rider__plan
    , SUM(trips_src_10000.fare) AS fares
  FROM public.trips trips_src_10000
  LEFT OUTER JOIN
    sma_10002_cte
  ON
    trips_src_10000.rider_id = sma_10002_cte.rider
  GROUP BY
    sma_10002_cte.plan
) subq_9
FULL OUTER JOIN (
  SELECT
    sma_10002_cte.plan AS rider__plan
    , SUM(subq_11.__visits) AS visits
  FROM (
    SELECT
      rider_id AS rider
      , 1 AS __visits
    FROM public.visits visits_src_10000
  ) subq_11
  LEFT OUTER JOIN
    sma_10002_cte
  ON
    subq_11.rider = sma_10002_cte.rider
  GROUP BY
    sma_10002_cte.plan
) subq_18
ON
  subq_9.rider__plan = subq_18.rider__plan
GROUP BY
  COALESCE(subq_9.rider__plan, subq_18.rider__plan);

-- [51] month over month
WITH sma_10003_cte AS (
  SELECT
    DATE_TRUNC('month', started_at) AS metric_time__month
    , 1 AS __trips
  FROM public.trips trips_src_10000
)

SELECT
  metric_time__month AS metric_time__month
  , (trips - trips_before) * 1.0 / NULLIF(trips_before, 0) AS trips_growth
FROM (
  SELECT
    COALESCE(subq_5.metric_time__month, subq_15.metric_time__month) AS metric_time__month
    , MAX(subq_5.trips) AS trips
    , MAX(subq_15.trips_before) AS trips_before
  FROM (
    SELECT
      metric_time__month
      , SUM(__trips) AS trips
    FROM sma_10003_cte
    GROUP BY
      metric_time__month
  ) subq_5
  FULL OUTER JOIN (
    SELECT
      subq_13.metric_time__month AS metric_time__month
      , subq_9.__trips AS trips_before
    FROM (
      SELECT
        DATE_TRUNC('month', day) AS metric_time__month
      FROM public.calendar time_spine_src_10000
      GROUP BY
        DATE_TRUNC('month', day)
    ) subq_13
    INNER JOIN (
      SELECT
        metric_time__month
        , SUM(__trips) AS __trips
      FROM sma_10003_cte
      GROUP BY
        metric_time__month
    ) subq_9
    ON
      subq_13.metric_time__month - MAKE_INTERVAL(months => 1) = subq_9.metric_time__month
  ) subq_15
  ON
    subq_5.metric_time__month = subq_15.metric_time__month
  GROUP BY
    COALESCE(subq_5.metric_time__month, subq_15.metric_time__month)
) subq_16;

-- [52] two weeks ago
SELECT
  metric_time__day
  , trips_then AS trips_two_weeks_ago
FROM (
  SELECT
    time_spine_src_10000.day AS metric_time__day
    , subq_4.__trips AS trips_then
  FROM public.calendar time_spine_src_10000
  INNER JOIN (
    SELECT
      metric_time__day
      , SUM(__trips) AS __trips
    FROM (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , 1 AS __trips
      FROM public.trips trips_src_10000
    ) subq_3
    GROUP BY
      metric_time__day
  ) subq_4
  ON
    time_spine_src_10000.day - MAKE_INTERVAL(days => 14) = subq_4.metric_time__day
) subq_10;

-- [53] since the start of the month
WITH sma_10003_cte AS (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , 1 AS __trips
  FROM public.trips trips_src_10000
)

SELECT
  metric_time__day AS metric_time__day
  , trips - trips_at_start AS trips_since_start_of_month
FROM (
  SELECT
    COALESCE(subq_5.metric_time__day, subq_15.metric_time__day) AS metric_time__day
    , MAX(subq_5.trips) AS trips
    , MAX(subq_15.trips_at_start) AS trips_at_start
  FROM (
    SELECT
      metric_time__day
      , SUM(__trips) AS trips
    FROM sma_10003_cte
    GROUP BY
      metric_time__day
  ) subq_5
  FULL OUTER JOIN (
    SELECT
      time_spine_src_10000.day AS metric_time__day
      , subq_9.__trips AS trips_at_start
    FROM public.calendar time_spine_src_10000
    INNER JOIN (
      SELECT
        metric_time__day
        , SUM(__trips) AS __trips
      FROM sma_10003_cte
      GROUP BY
        metric_time__day
    ) subq_9
    ON
      DATE_TRUNC('month', time_spine_src_10000.day) = subq_9.metric_time__day
  ) subq_15
  ON
    subq_5.metric_time__day = subq_15.metric_time__day
  GROUP BY
    COALESCE(subq_5.metric_time__day, subq_15.metric_time__day)
) subq_16;

-- [54] week over week of every day
WITH sma_10003_cte AS (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , 1 AS __trips_every_day
  FROM public.trips trips_src_10000
)

, rss_10000_cte AS (
  SELECT
    day AS day__day
  FROM public.calendar time_spine_src_10000
)

SELECT
  metric_time__day AS metric_time__day
  , trips_every_day - week_before AS growth_every_day
FROM (
  SELECT
    COALESCE(subq_10.metric_time__day, subq_20.metric_time__day) AS metric_time__day
    , COALESCE(MAX(subq_10.trips_every_day), 0) AS trips_every_day
    , COALESCE(MAX(subq_20.week_before), 0) AS week_before
  FROM (
    SELECT
      metric_time__day
      , COALESCE(__trips_every_day, 0) AS trips_every_day
    FROM (
      SELECT
        rss_10000_cte.day__day AS metric_time__day
        , subq_4.__trips_every_day AS __trips_every_day
      FROM rss_10000_cte
      LEFT OUTER JOIN (
        SELECT
          metric_time__day
          , SUM(__trips_every_day) AS __trips_every_day
        FROM sma_10003_cte
        GROUP BY
          metric_time__day
      ) subq_4
      ON
        rss_10000_cte.day__day = subq_4.metric_time__day
    ) subq_9
  ) subq_10
  FULL OUTER JOIN (
    SELECT
      metric_time__day
      , COALESCE(__trips_every_day, 0) AS week_before
    FROM (
      SELECT
        rss_10000_cte.day__day AS metric_time__day
        , subq_14.__trips_every_day AS __trips_every_day
      FROM rss_10000_cte
      LEFT OUTER JOIN (
        SELECT
          metric_time__day
          , SUM(__trips_every_day) AS __trips_every_day
        FROM sma_10003_cte
        GROUP BY
          metric_time__day
      ) subq_14
      ON
        rss_10000_cte.day__day - MAKE_INTERVAL(days => 7) = subq_14.metric_time__day
    ) subq_19
  ) subq_20
  ON
    subq_10.metric_time__day = subq_20.metric_time__day
  GROUP BY
    COALESCE(subq_10.metric_time__day, subq_20.metric_time__day)
) subq_21;

-- [55] month over month between two dates
WITH sma_10003_cte AS (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , DATE_TRUNC('month', started_at) AS metric_time__month
    , 1 AS __trips
  FROM public.trips trips_src_10000
)

, cm_3_cte AS (
  SELECT
    metric_time__month
    , SUM(__trips) AS trips
  FROM sma_10003_cte
  WHERE metric_time__day BETWEEN '2019-02-01' AND '2019-04-30'
  GROUP BY
    metric_time__month
)

SELECT
  COALESCE(subq_22.metric_time__month, cm_3_cte.metric_time__month) AS metric_time__month
  , MAX(subq_22.trips_growth) AS trips_growth
  , MAX(cm_3_cte.trips) AS trips
FROM (
  SELECT
    metric_time__month
    , (trips - trips_before) * 1.0 / NULLIF(trips_before, 0) AS trips_growth
  FROM (
    SELECT
      COALESCE(cm_3_cte.metric_time__month, subq_20.metric_time__month) AS metric_time__month
      , MAX(cm_3_cte.trips) AS trips
      , MAX(subq_20.trips_before) AS trips_before
    FROM cm_3_cte
    FULL OUTER JOIN (
      SELECT
        subq_17.metric_time__month AS metric_time__month
        , subq_12.__trips AS trips_before
      FROM (
        SELECT
          DATE_TRUNC('month', day) AS metric_time__month
        FROM public.calendar time_spine_src_10000
        WHERE DATE_TRUNC('month', day) BETWEEN '2019-02-01' AND '2019-04-30'
        GROUP BY
          DATE_TRUNC('month', day)
      ) subq_17
      INNER JOIN (
        SELECT
          metric_time__month
          , SUM(__trips) AS __trips
        FROM sma_10003_cte
        GROUP BY
          metric_time__month
      ) subq_12
      ON
        subq_17.metric_time__month - MAKE_INTERVAL(months => 1) = subq_12.metric_time__month
      WHERE subq_17.metric_time__month BETWEEN '2019-02-01' AND '2019-04-30'
    ) subq_20
    ON
      cm_3_cte.metric_time__month = subq_20.metric_time__month
    GROUP BY
      COALESCE(cm_3_cte.metric_time__month, subq_20.metric_time__month)
  ) subq_21
) subq_22
FULL OUTER JOIN
  cm_3_cte
ON
  subq_22.metric_time__month = cm_3_cte.metric_time__month
GROUP BY
  COALESCE(subq_22.metric_time__month, cm_3_cte.metric_time__month);

-- [56] every day
SELECT
  metric_time__day
  , COALESCE(__trips_every_day, 0) AS trips_every_day
FROM (
  SELECT
    time_spine_src_10000.day AS metric_time__day
    , subq_4.__trips_every_day AS __trips_every_day
  FROM public.calendar time_spine_src_10000
  LEFT OUTER JOIN (
    SELECT
      metric_time__day
      , SUM(__trips_every_day) AS __trips_every_day
    FROM (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , 1 AS __trips_every_day
      FROM public.trips trips_src_10000
    ) subq_3
    GROUP BY
      metric_time__day
  ) subq_4
  ON
    time_spine_src_10000.day = subq_4.metric_time__day
) subq_9;

-- [57] every week by payment
SELECT
  metric_time__week
  , trip__payment
  , COALESCE(__trips_every_day, 0) AS trips_every_day
FROM (
  SELECT
    subq_8.metric_time__week AS metric_time__week
    , subq_4.trip__payment AS trip__payment
    , subq_4.__trips_every_day AS __trips_every_day
  FROM (
    SELECT
      DATE_TRUNC('week', day) AS metric_time__week
    FROM public.calendar time_spine_src_10000
    GROUP BY
      DATE_TRUNC('week', day)
  ) subq_8
  LEFT OUTER JOIN (
    SELECT
      metric_time__week
      , trip__payment
      , SUM(__trips_every_day) AS __trips_every_day
    FROM (
      SELECT
        DATE_TRUNC('week', started_at) AS metric_time__week
        , payment AS trip__payment
        , 1 AS __trips_every_day
      FROM public.trips trips_src_10000
    ) subq_3
    GROUP BY
      metric_time__week
      , trip__payment
  ) subq_4
  ON
    subq_8.metric_time__week = subq_4.metric_time__week
) subq_9;

-- [58] all time by day
SELECT
  subq_3.day AS metric_time__day
  , SUM(subq_1.__trips) AS trips_all_time
FROM public.calendar subq_3
INNER JOIN (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , 1 AS __trips
  FROM public.trips trips_src_10000
) subq_1
ON
  (subq_1.metric_time__day <= subq_3.day)
GROUP BY
  subq_3.day;

-- [59] all time by month
SELECT
  metric_time__month
  , trips_all_time
FROM (
  SELECT
    metric_time__month
    , FIRST_VALUE(trips_all_time) OVER (
      PARTITION BY metric_time__month
      ORDER BY metric_time__day
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS trips_all_time
  FROM (
    SELECT
      subq_3.day AS metric_time__day
      , DATE_TRUNC('month', subq_3.day) AS metric_time__month
      , SUM(subq_1.__trips) AS trips_all_time
    FROM public.calendar subq_3
    INNER JOIN (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , 1 AS __trips
      FROM public.trips trips_src_10000
    ) subq_1
    ON
      (subq_1.metric_time__day <= subq_3.day)
    GROUP BY
      subq_3.day
      , DATE_TRUNC('month', subq_3.day)
  ) subq_9
) subq_10
GROUP BY
  metric_time__month
  , trips_all_time;

-- [60] all time in all
SELECT
  SUM(1) AS trips_all_time
FROM public.trips trips_src_10000;

-- [61] 28 days by day
SELECT
  subq_3.day AS metric_time__day
  , SUM(subq_1.__trips) AS trips_28_days
FROM public.calendar subq_3
INNER JOIN (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , 1 AS __trips
  FROM public.trips trips_src_10000
) subq_1
ON
  (
    subq_1.metric_time__day <= subq_3.day
  ) AND (
    subq_1.metric_time__day > subq_3.day - MAKE_INTERVAL(days => 28)
  )
GROUP BY
  subq_3.day;

-- [62] 28 days by week
SELECT
  metric_time__week
  , trips_28_days
FROM (
  SELECT
    metric_time__week
    , FIRST_VALUE(trips_28_days) OVER (
      PARTITION BY metric_time__week
      ORDER BY metric_time__day
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS trips_28_days
  FROM (
    SELECT
      subq_3.day AS metric_time__day
      , DATE_TRUNC('week', subq_3.day) AS metric_time__week
      , SUM(subq_1.__trips) AS trips_28_days
    FROM public.calendar subq_3
    INNER JOIN (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , 1 AS __trips
      FROM public.trips trips_src_10000
    ) subq_1
    ON
      (
        subq_1.metric_time__day <= subq_3.day
      ) AND (
        subq_1.metric_time__day > subq_3.day - MAKE_INTERVAL(days => 28)
      )
    GROUP BY
      subq_3.day
      , DATE_TRUNC('week', subq_3.day)
  ) subq_9
) subq_10
GROUP BY
  metric_time__week
  , trips_28_days;

-- [63] 28 days by day and borough
SELECT
  subq_4.metric_time__day AS metric_time__day
  , zones_src_10000.borough AS zone__borough
  , SUM(subq_4.__trips) AS trips_28_days
FROM (
  SELECT
    subq_3.day AS metric_time__day
    , subq_1.zone AS zone
    , subq_1.__trips AS __trips
  FROM public.calendar subq_3
  INNER JOIN (
    SELECT
      DATE_TRUNC('day', started_at) AS metric_time__day
      , zone_id AS zone
      , 1 AS __trips
    FROM public.trips trips_src_10000
  ) subq_1
  ON
    (
      subq_1.metric_time__day <= subq_3.day
    ) AND (
      subq_1.metric_time__day > subq_3.day - MAKE_INTERVAL(days => 28)
    )
) subq_4
LEFT OUTER JOIN
  public.zones zones_src_10000
ON
  subq_4.zone = zones_src_10000.zone_id
GROUP BY
  subq_4.metric_time__day
  , zones_src_10000.borough;

-- [64] 28 days between two dates
SELECT
  subq_7.metric_time__day AS metric_time__day
  , SUM(subq_6.__trips) AS trips_28_days
FROM (
  SELECT
    day AS metric_time__day
  FROM public.calendar subq_8
  WHERE day BETWEEN '2019-03-01' AND '2019-03-31'
) subq_7
INNER JOIN (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , 1 AS __trips
  FROM public.trips trips_src_10000
  WHERE DATE_TRUNC('day', started_at) BETWEEN '2019-02-01' AND '2019-03-31'
) subq_6
ON
  (
    subq_6.metric_time__day <= subq_7.metric_time__day
  ) AND (
    subq_6.metric_time__day > subq_7.metric_time__day - MAKE_INTERVAL(days => 28)
  )
WHERE subq_7.metric_time__day BETWEEN '2019-03-01' AND '2019-03-31'
GROUP BY
  subq_7.metric_time__day;

-- [65] active riders of 7 days by day
SELECT
  subq_3.day AS metric_time__day
  , COUNT(DISTINCT trips_src_10000.rider_id) AS active_riders_7_days
FROM public.calendar subq_3
INNER JOIN
  public.trips trips_src_10000
ON
  (
    DATE_TRUNC('day', trips_src_10000.started_at) <= subq_3.day
  ) AND (
    DATE_TRUNC('day', trips_src_10000.started_at) > subq_3.day - MAKE_INTERVAL(days => 7)
  )
GROUP BY
  subq_3.day;

-- [66] active riders of 7 days by month
SELECT
  metric_time__month
  , active_riders_7_days
FROM (
  SELECT
    metric_time__month
    , LAST_VALUE(active_riders_7_days) OVER (
      PARTITION BY metric_time__month
      ORDER BY metric_time__day
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS active_riders_7_days
  FROM (
    SELECT
      subq_3.day AS metric_time__day
      , DATE_TRUNC('month', subq_3.day) AS metric_time__month
      , COUNT(DISTINCT trips_src_10000.rider_id) AS active_riders_7_days
    FROM public.calendar subq_3
    INNER JOIN
      public.trips trips_src_10000
    ON
      (
        DATE_TRUNC('day', trips_src_10000.started_at) <= subq_3.day
      ) AND (
        DATE_TRUNC('day', trips_src_10000.started_at) > subq_3.day - MAKE_INTERVAL(days => 7)
      )
    GROUP BY
      subq_3.day
      , DATE_TRUNC('month', subq_3.day)
  ) subq_9
) subq_10
GROUP BY
  metric_time__month
  , active_riders_7_days;

-- [67] month to date by day
SELECT
  subq_3.day AS metric_time__day
  , SUM(trips_src_10000.fare) AS fares_month_to_date
FROM public.calendar subq_3
INNER JOIN
  public.trips trips_src_10000
ON
  (
    DATE_TRUNC('day', trips_src_10000.started_at) <= subq_3.day
  ) AND (
    DATE_TRUNC('day', trips_src_10000.started_at) >= DATE_TRUNC('month', subq_3.day)
  )
GROUP BY
  subq_3.day;

-- [68] two months by month
SELECT
  metric_time__month
  , fares_2_months
FROM (
  SELECT
    metric_time__month
    , AVG(__fares) OVER (PARTITION BY metric_time__month) AS fares_2_months
  FROM (
    SELECT
      subq_3.day AS metric_time__day
      , DATE_TRUNC('month', subq_3.day) AS metric_time__month
      , SUM(trips_src_10000.fare) AS __fares
    FROM public.calendar subq_3
    INNER JOIN
      public.trips trips_src_10000
    ON
      (
        DATE_TRUNC('day', trips_src_10000.started_at) <= subq_3.day
      ) AND (
        DATE_TRUNC('day', trips_src_10000.started_at) > subq_3.day - MAKE_INTERVAL(months => 2)
      )
    GROUP BY
      subq_3.day
      , DATE_TRUNC('month', subq_3.day)
  ) subq_7
) subq_10
GROUP BY
  metric_time__month
  , fares_2_months;

-- [69] active riders with zeros
SELECT
  metric_time__day
  , COALESCE(__active_riders_fill_nulls_with_0_join_to_timespine, 0) AS active_riders_filled
FROM (
  SELECT
    time_spine_src_10000.day AS metric_time__day
    , subq_7.__active_riders_fill_nulls_with_0_join_to_timespine AS __active_riders_fill_nulls_with_0_join_to_timespine
  FROM public.calendar time_spine_src_10000
  LEFT OUTER JOIN (
    SELECT
      subq_3.day AS metric_time__day
      , COUNT(DISTINCT trips_src_10000.rider_id) AS __active_riders_fill_nulls_with_0_join_to_timespine
    FROM public.calendar subq_3
    INNER JOIN
      public.trips trips_src_10000
    ON
      (
        DATE_TRUNC('day', trips_src_10000.started_at) <= subq_3.day
      ) AND (
        DATE_TRUNC('day', trips_src_10000.started_at) > subq_3.day - MAKE_INTERVAL(days => 2)
      )
    GROUP BY
      subq_3.day
  ) subq_7
  ON
    time_spine_src_10000.day = subq_7.metric_time__day
) subq_12;

-- [70] a share of 28 days
WITH sma_10003_cte AS (
  SELECT
    DATE_TRUNC('day', started_at) AS metric_time__day
    , 1 AS __trips
  FROM public.trips trips_src_10000
)

SELECT
  metric_time__day AS metric_time__day
  , trips * 1.0 / trips_28_days AS share_of_28_days
FROM (
  SELECT
    COALESCE(subq_5.metric_time__day, subq_14.metric_time__day) AS metric_time__day
    , MAX(subq_5.trips) AS trips
    , MAX(subq_14.trips_28_days) AS trips_28_days
  FROM (
    SELECT
      metric_time__day
      , SUM(__trips) AS trips
    FROM sma_10003_cte
    GROUP BY
      metric_time__day
  ) subq_5
  FULL OUTER JOIN (
    SELECT
      subq_8.day AS metric_time__day
      , SUM(sma_10003_cte.__trips) AS trips_28_days
    FROM public.calendar subq_8
    INNER JOIN
      sma_10003_cte
    ON
      (
        sma_10003_cte.metric_time__day <= subq_8.day
      ) AND (
        sma_10003_cte.metric_time__day > subq_8.day - MAKE_INTERVAL(days => 28)
      )
    GROUP BY
      subq_8.day
  ) subq_14
  ON
    subq_5.metric_time__day = subq_14.metric_time__day
  GROUP BY
    COALESCE(subq_5.metric_time__day, subq_14.metric_time__day)
) subq_15;

-- [71] balances at the end of each month
SELECT
  subq_2.metric_time__month AS metric_time__month
  , SUM(subq_2.__balances) AS balances
FROM (
  SELECT
    DATE_TRUNC('day', month_end) AS month_end__day
    , DATE_TRUNC('month', month_end) AS metric_time__month
    , balance AS __balances
  FROM public.wallets wallets_src_10000
) subq_2
INNER JOIN (
  SELECT
    DATE_TRUNC('month', month_end) AS metric_time__month
    , MAX(DATE_TRUNC('day', month_end)) AS month_end__day__complete
  FROM public.wallets wallets_src_10000
  GROUP BY
    DATE_TRUNC('month', month_end)
) subq_4
ON
  subq_2.month_end__day = subq_4.month_end__day__complete
GROUP BY
  subq_2.metric_time__month;

-- [72] the last balances
SELECT
  SUM(subq_2.__balances) AS balances
FROM (
  SELECT
    DATE_TRUNC('day', month_end) AS month_end__day
    , balance AS __balances
  FROM public.wallets wallets_src_10000
) subq_2
INNER JOIN (
  SELECT
    MAX(DATE_TRUNC('day', month_end)) AS month_end__day__complete
  FROM public.wallets wallets_src_10000
) subq_4
ON
  subq_2.month_end__day = subq_4.month_end__day__complete;

-- [73] the last balances by plan
WITH sma_10005_cte AS (
  SELECT
    DATE_TRUNC('day', month_end) AS month_end__day
    , rider_id AS rider
    , balance AS __balances
    , balance AS __opening_balances
  FROM public.wallets wallets_src_10000
)

, sma_10002_cte AS (
  SELECT
    rider_id AS rider
    , plan
  FROM public.riders riders_src_10000
)

SELECT
  COALESCE(subq_12.rider__plan, subq_23.rider__plan) AS rider__plan
  , MAX(subq_12.balances) AS balances
  , MAX(subq_23.opening_balances) AS opening_balances
FROM (
  SELECT
    subq_6.rider__plan AS rider__plan
    , SUM(subq_6.__balances) AS balances
  FROM (
    SELECT
      sma_10005_cte.month_end__day AS month_end__day
      , sma_10002_cte.plan AS rider__plan
      , sma_10005_cte.__balances AS __balances
    FROM sma_10005_cte
    LEFT OUTER JOIN
      sma_10002_cte
    ON
      sma_10005_cte.rider = sma_10002_cte.rider
  ) subq_6
  INNER JOIN (
    SELECT
      MAX(sma_10005_cte.month_end__day) AS month_end__day__complete
    FROM sma_10005_cte
    LEFT OUTER JOIN
      sma_10002_cte
    ON
      sma_10005_cte.rider = sma_10002_cte.rider
  ) subq_8
  ON
    subq_6.month_end__day = subq_8.month_end__day__complete
  GROUP BY
    subq_6.rider__plan
) subq_12
FULL OUTER JOIN (
  SELECT
    subq_17.rider__plan AS rider__plan
    , SUM(subq_17.__opening_balances) AS opening_balances
  FROM (
    SELECT
      sma_10005_cte.month_end__day AS month_end__day
      , sma_10002_cte.plan AS rider__plan
      , sma_10005_cte.__opening_balances AS __opening_balances
    FROM sma_10005_cte
    LEFT OUTER JOIN
      sma_10002_cte
    ON
      sma_10005_cte.rider = sma_10002_cte.rider
  ) subq_17
  INNER JOIN (
    SELECT
      MIN(sma_10005_cte.month_end__day) AS month_end__day__complete
    FROM sma_10005_cte
    LEFT OUTER JOIN
      sma_10002_cte
    ON
      sma_10005_cte.rider = sma_10002_cte.rider
  ) subq_19
  ON
    subq_17.month_end__day = subq_19.month_end__day__complete
  GROUP BY
    subq_17.rider__plan
) subq_23
ON
  subq_12.rider__plan = subq_23.rider__plan
GROUP BY
  COALESCE(subq_12.rider__plan, subq_23.rider__plan);

-- [74] the last balance of each
SELECT
  SUM(subq_2.__balances_of_each) AS balances_of_each
FROM (
  SELECT
    DATE_TRUNC('day', month_end) AS month_end__day
    , rider_id AS rider
    , balance AS __balances_of_each
  FROM public.wallets wallets_src_10000
) subq_2
INNER JOIN (
  SELECT
    rider_id AS rider
    , MAX(DATE_TRUNC('day', month_end)) AS month_end__day__complete
  FROM public.wallets wallets_src_10000
  GROUP BY
    rider_id
) subq_4
ON
  (
    subq_2.month_end__day = subq_4.month_end__day__complete
  ) AND (
    subq_2.rider = subq_4.rider
  );

-- [75] conversion
WITH sma_10004_cte AS (
  SELECT
    DATE_TRUNC('day', visited_at) AS metric_time__day
    , rider_id AS rider
    , 1 AS __visits
  FROM public.visits visits_src_10000
)

SELECT
  CAST(MAX(subq_15.__trips) AS DOUBLE PRECISION) / CAST(NULLIF(MAX(subq_4.__visits), 0) AS DOUBLE PRECISION) AS booking_rate
FROM (
  SELECT
    SUM(__visits) AS __visits
  FROM sma_10004_cte
) subq_4
CROSS JOIN (
  SELECT
    SUM(__trips) AS __trips
  FROM (
    SELECT DISTINCT
      FIRST_VALUE(sma_10004_cte.__visits) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS __visits
      , FIRST_VALUE(sma_10004_cte.metric_time__day) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS metric_time__day
      , FIRST_VALUE(sma_10004_cte.rider) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS rider
      , subq_10.mf_internal_uuid AS mf_internal_uuid
      , subq_10.__trips AS __trips
    FROM sma_10004_cte
    INNER JOIN (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , rider_id AS rider
        , 1 AS __trips
        , GEN_RANDOM_UUID() AS mf_internal_uuid
      FROM public.trips trips_src_10000
    ) subq_10
    ON
      (
        sma_10004_cte.rider = subq_10.rider
      ) AND (
        (sma_10004_cte.metric_time__day <= subq_10.metric_time__day)
      )
  ) subq_11
) subq_15;

-- [76] conversion by channel
WITH sma_10004_cte AS (
  SELECT
    DATE_TRUNC('day', visited_at) AS metric_time__day
    , rider_id AS rider
    , channel AS visit__channel
    , 1 AS __visits
  FROM public.visits visits_src_10000
)

SELECT
  visit__channel AS visit__channel
  , CAST(__trips AS DOUBLE PRECISION) / CAST(NULLIF(__visits, 0) AS DOUBLE PRECISION) AS booking_rate
FROM (
  SELECT
    COALESCE(subq_4.visit__channel, subq_15.visit__channel) AS visit__channel
    , MAX(subq_4.__visits) AS __visits
    , MAX(subq_15.__trips) AS __trips
  FROM (
    SELECT
      visit__channel
      , SUM(__visits) AS __visits
    FROM sma_10004_cte
    GROUP BY
      visit__channel
  ) subq_4
  FULL OUTER JOIN (
    SELECT
      visit__channel
      , SUM(__trips) AS __trips
    FROM (
      SELECT DISTINCT
        FIRST_VALUE(sma_10004_cte.__visits) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS __visits
        , FIRST_VALUE(sma_10004_cte.visit__channel) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS visit__channel
        , FIRST_VALUE(sma_10004_cte.metric_time__day) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS metric_time__day
        , FIRST_VALUE(sma_10004_cte.rider) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS rider
        , subq_10.mf_internal_uuid AS mf_internal_uuid
        , subq_10.__trips AS __trips
      FROM sma_10004_cte
      INNER JOIN (
        SELECT
          DATE_TRUNC('day', started_at) AS metric_time__day
          , rider_id AS rider
          , 1 AS __trips
          , GEN_RANDOM_UUID() AS mf_internal_uuid
        FROM public.trips trips_src_10000
      ) subq_10
      ON
        (
          sma_10004_cte.rider = subq_10.rider
        ) AND (
          (sma_10004_cte.metric_time__day <= subq_10.metric_time__day)
        )
    ) subq_11
    GROUP BY
      visit__channel
  ) subq_15
  ON
    subq_4.visit__channel = subq_15.visit__channel
  GROUP BY
    COALESCE(subq_4.visit__channel, subq_15.visit__channel)
) subq_16;

-- [77] conversion in 7 days
WITH sma_10004_cte AS (
  SELECT
    DATE_TRUNC('day', visited_at) AS metric_time__day
    , rider_id AS rider
    , 1 AS __visits
  FROM public.visits visits_src_10000
)

SELECT
  CAST(MAX(subq_15.__trips) AS DOUBLE PRECISION) / CAST(NULLIF(MAX(subq_4.__visits), 0) AS DOUBLE PRECISION) AS booking_rate_7_days
FROM (
  SELECT
    SUM(__visits) AS __visits
  FROM sma_10004_cte
) subq_4
CROSS JOIN (
  SELECT
    SUM(__trips) AS __trips
  FROM (
    SELECT DISTINCT
      FIRST_VALUE(sma_10004_cte.__visits) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS __visits
      , FIRST_VALUE(sma_10004_cte.metric_time__day) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS metric_time__day
      , FIRST_VALUE(sma_10004_cte.rider) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS rider
      , subq_10.mf_internal_uuid AS mf_internal_uuid
      , subq_10.__trips AS __trips
    FROM sma_10004_cte
    INNER JOIN (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , rider_id AS rider
        , 1 AS __trips
        , GEN_RANDOM_UUID() AS mf_internal_uuid
      FROM public.trips trips_src_10000
    ) subq_10
    ON
      (
        sma_10004_cte.rider = subq_10.rider
      ) AND (
        (
          sma_10004_cte.metric_time__day <= subq_10.metric_time__day
        ) AND (
          sma_10004_cte.metric_time__day > subq_10.metric_time__day - MAKE_INTERVAL(days => 7)
        )
      )
  ) subq_11
) subq_15;

-- [78] conversion in 7 days by month
WITH sma_10004_cte AS (
  SELECT
    DATE_TRUNC('day', visited_at) AS metric_time__day
    , DATE_TRUNC('month', visited_at) AS metric_time__month
    , rider_id AS rider
    , 1 AS __visits
  FROM public.visits visits_src_10000
)

SELECT
  metric_time__month AS metric_time__month
  , CAST(__trips AS DOUBLE PRECISION) / CAST(NULLIF(__visits, 0) AS DOUBLE PRECISION) AS booking_rate_7_days
FROM (
  SELECT
    COALESCE(subq_4.metric_time__month, subq_15.metric_time__month) AS metric_time__month
    , MAX(subq_4.__visits) AS __visits
    , MAX(subq_15.__trips) AS __trips
  FROM (
    SELECT
      metric_time__month
      , SUM(__visits) AS __visits
    FROM sma_10004_cte
    GROUP BY
      metric_time__month
  ) subq_4
  FULL OUTER JOIN (
    SELECT
      metric_time__month
      , SUM(__trips) AS __trips
    FROM (
      SELECT DISTINCT
        FIRST_VALUE(sma_10004_cte.__visits) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS __visits
        , FIRST_VALUE(sma_10004_cte.metric_time__day) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS metric_time__day
        , FIRST_VALUE(sma_10004_cte.metric_time__month) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS metric_time__month
        , FIRST_VALUE(sma_10004_cte.rider) OVER (
          PARTITION BY
            subq_10.rider
            , subq_10.metric_time__day
            , subq_10.mf_internal_uuid
          ORDER BY sma_10004_cte.metric_time__day DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS rider
        , subq_10.mf_internal_uuid AS mf_internal_uuid
        , subq_10.__trips AS __trips
      FROM sma_10004_cte
      INNER JOIN (
        SELECT
          DATE_TRUNC('day', started_at) AS metric_time__day
          , rider_id AS rider
          , 1 AS __trips
          , GEN_RANDOM_UUID() AS mf_internal_uuid
        FROM public.trips trips_src_10000
      ) subq_10
      ON
        (
          sma_10004_cte.rider = subq_10.rider
        ) AND (
          (
            sma_10004_cte.metric_time__day <= subq_10.metric_time__day
          ) AND (
            sma_10004_cte.metric_time__day > subq_10.metric_time__day - MAKE_INTERVAL(days => 7)
          )
        )
    ) subq_11
    GROUP BY
      metric_time__month
  ) subq_15
  ON
    subq_4.metric_time__month = subq_15.metric_time__month
  GROUP BY
    COALESCE(subq_4.metric_time__month, subq_15.metric_time__month)
) subq_16;

-- [79] conversions by channel
WITH sma_10004_cte AS (
  SELECT
    DATE_TRUNC('day', visited_at) AS metric_time__day
    , rider_id AS rider
    , channel AS visit__channel
    , 1 AS __visits
  FROM public.visits visits_src_10000
)

SELECT
  COALESCE(subq_4.visit__channel, subq_15.visit__channel) AS visit__channel
  , COALESCE(MAX(subq_15.__trips_fill_nulls_with_0), 0) AS bookings_7_days
FROM (
  SELECT
    visit__channel
    , SUM(__visits) AS __visits
  FROM sma_10004_cte
  GROUP BY
    visit__channel
) subq_4
FULL OUTER JOIN (
  SELECT
    visit__channel
    , SUM(__trips_fill_nulls_with_0) AS __trips_fill_nulls_with_0
  FROM (
    SELECT DISTINCT
      FIRST_VALUE(sma_10004_cte.__visits) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS __visits
      , FIRST_VALUE(sma_10004_cte.visit__channel) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS visit__channel
      , FIRST_VALUE(sma_10004_cte.metric_time__day) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS metric_time__day
      , FIRST_VALUE(sma_10004_cte.rider) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS rider
      , subq_10.mf_internal_uuid AS mf_internal_uuid
      , subq_10.__trips_fill_nulls_with_0 AS __trips_fill_nulls_with_0
    FROM sma_10004_cte
    INNER JOIN (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , rider_id AS rider
        , 1 AS __trips_fill_nulls_with_0
        , GEN_RANDOM_UUID() AS mf_internal_uuid
      FROM public.trips trips_src_10000
    ) subq_10
    ON
      (
        sma_10004_cte.rider = subq_10.rider
      ) AND (
        (
          sma_10004_cte.metric_time__day <= subq_10.metric_time__day
        ) AND (
          sma_10004_cte.metric_time__day > subq_10.metric_time__day - MAKE_INTERVAL(days => 7)
        )
      )
  ) subq_11
  GROUP BY
    visit__channel
) subq_15
ON
  subq_4.visit__channel = subq_15.visit__channel
GROUP BY
  COALESCE(subq_4.visit__channel, subq_15.visit__channel);

-- [80] conversions by day
WITH sma_10004_cte AS (
  SELECT
    DATE_TRUNC('day', visited_at) AS metric_time__day
    , rider_id AS rider
    , 1 AS __visits
  FROM public.visits visits_src_10000
)

SELECT
  COALESCE(subq_4.metric_time__day, subq_15.metric_time__day) AS metric_time__day
  , COALESCE(MAX(subq_15.__trips_fill_nulls_with_0), 0) AS bookings_7_days
FROM (
  SELECT
    metric_time__day
    , SUM(__visits) AS __visits
  FROM sma_10004_cte
  GROUP BY
    metric_time__day
) subq_4
FULL OUTER JOIN (
  SELECT
    metric_time__day
    , SUM(__trips_fill_nulls_with_0) AS __trips_fill_nulls_with_0
  FROM (
    SELECT DISTINCT
      FIRST_VALUE(sma_10004_cte.__visits) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS __visits
      , FIRST_VALUE(sma_10004_cte.metric_time__day) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS metric_time__day
      , FIRST_VALUE(sma_10004_cte.rider) OVER (
        PARTITION BY
          subq_10.rider
          , subq_10.metric_time__day
          , subq_10.mf_internal_uuid
        ORDER BY sma_10004_cte.metric_time__day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS rider
      , subq_10.mf_internal_uuid AS mf_internal_uuid
      , subq_10.__trips_fill_nulls_with_0 AS __trips_fill_nulls_with_0
    FROM sma_10004_cte
    INNER JOIN (
      SELECT
        DATE_TRUNC('day', started_at) AS metric_time__day
        , rider_id AS rider
        , 1 AS __trips_fill_nulls_with_0
        , GEN_RANDOM_UUID() AS mf_internal_uuid
      FROM public.trips trips_src_10000
    ) subq_10
    ON
      (
        sma_10004_cte.rider = subq_10.rider
      ) AND (
        (
          sma_10004_cte.metric_time__day <= subq_10.metric_time__day
        ) AND (
          sma_10004_cte.metric_time__day > subq_10.metric_time__day - MAKE_INTERVAL(days => 7)
        )
      )
  ) subq_11
  GROUP BY
    metric_time__day
) subq_15
ON
  subq_4.metric_time__day = subq_15.metric_time__day
GROUP BY
  COALESCE(subq_4.metric_time__day, subq_15.metric_time__day);
