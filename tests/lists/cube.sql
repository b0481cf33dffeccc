-- What Cube writes for tests/lists/cube: `python -m tests.lists.layers`.

-- [1] total
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  LIMIT 10000;

-- [2] several in all
SELECT
      count("trips".trip_id) "trips__count", sum("trips".fare) "trips__fares", avg("trips".fare) "trips__average_fare"
    FROM
      public.trips AS "trips"  LIMIT 10000;

-- [3] by payment
SELECT
      "trips".payment "trips__payment", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [4] by two
SELECT
      "trips".payment "trips__payment", "trips".status "trips__status", count("trips".trip_id) "trips__count", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"  GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10000;

-- [5] least and most
SELECT
      "trips".payment "trips__payment", min("trips".fare) "trips__least_fare", max("trips".distance) "trips__most_distance"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [6] count distinct of riders
SELECT
      "trips".status "trips__status", count(distinct "trips".rider_id) "trips__active_riders"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [7] count distinct of declared values
SELECT
      count(distinct "trips".payment) "trips__payments"
    FROM
      public.trips AS "trips"  LIMIT 10000;

-- [8] filtered measures
SELECT
      "trips".status "trips__status", count(CASE WHEN ("trips".payment = 'card') THEN "trips".trip_id END) "trips__card_trips", sum(CASE WHEN ("trips".payment = 'card') THEN "trips".fare END) "trips__card_fares"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [9] a ratio
SELECT
      "trips".seats "trips__seats", 1.0 * count(CASE WHEN ("trips".payment = 'card') THEN "trips".trip_id END) / NULLIF(count("trips".trip_id), 0) "trips__card_share", sum("trips".fare) / NULLIF(count(distinct "trips".rider_id), 0) "trips__fare_per_rider"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [10] median
SELECT
      "trips".payment "trips__payment", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "trips".fare) "trips__median_fare"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [11] the last time
SELECT
      MAX("trips".started_at) "trips__last_trip"
    FROM
      public.trips AS "trips"  LIMIT 10000;

-- [12] a case
SELECT
      CASE
    WHEN "trips".distance < 2 THEN 'short'
WHEN "trips".distance < 8 THEN 'middle' ELSE 'long' END "trips__length", count("trips".trip_id) "trips__count", sum(COALESCE("trips".tip, 0)) "trips__tips"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [13] bins
SELECT
      FLOOR("trips".fare / 10) * 10 "trips__fare_bin", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [14] by hour of the day
SELECT
      EXTRACT(HOUR FROM "trips".started_at) "trips__hour", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [15] a truth
SELECT
      "trips".shared "trips__shared", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [16] a segment
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".status = 'done') LIMIT 10000;

-- [17] two segments
SELECT
      "trips".payment "trips__payment", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"  WHERE ("trips".status = 'done') AND ("trips".distance >= 8) GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [18] top 3
SELECT
      "zones".zone "zones__zone", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 3;

-- [19] the second page
SELECT
      "zones".zone "zones__zone", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1 ORDER BY 1 ASC LIMIT 5 OFFSET 5;

-- [20] equals
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".payment = 'card') LIMIT 10000;

-- [21] one of several
SELECT
      "zones".borough "zones__borough", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  WHERE ("zones".borough IN ('Queens', 'Bronx')) GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [22] not equals
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".payment <> 'card' OR "trips".payment IS NULL) LIMIT 10000;

-- [23] contains
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  WHERE ("zones".zone ILIKE '%' || 'ar' || '%') LIMIT 10000;

-- [24] set and a number
SELECT
      sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"  WHERE ("trips".payment IS NOT NULL) AND ("trips".fare > '20') LIMIT 10000;

-- [25] not set
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".payment IS NULL) LIMIT 10000;

-- [26] either, or both
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE (("trips".payment = 'cash') OR (("trips".seats >= '2') AND ("trips".shared = 'true'))) LIMIT 10000;

-- [27] of a measure
SELECT
      "zones".zone "zones__zone", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1 HAVING (count("trips".trip_id) > '300') ORDER BY 2 DESC LIMIT 10000;

-- [28] a date range
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-02-01T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-02-28T23:59:59.999Z'::timestamptz) LIMIT 10000;

-- [29] before a date
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at < '2019-02-01T00:00:00.000Z'::timestamptz) LIMIT 10000;

-- [30] outside of a date range
SELECT
      count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at < '2019-02-01T00:00:00.000Z'::timestamptz OR "trips".started_at > '2019-02-28T23:59:59.999Z'::timestamptz) LIMIT 10000;

-- [31] by day
SELECT
      date_trunc('day', ("trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_day", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-03-01T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-03-31T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [32] by hour
SELECT
      date_trunc('hour', ("trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_hour", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-03-01T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-03-02T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [33] by week and payment
SELECT
      "trips".payment "trips__payment", date_trunc('week', ("trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_week", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-01-01T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-06-30T23:59:59.999Z'::timestamptz) GROUP BY 1, 2 ORDER BY 2 ASC LIMIT 10000;

-- [34] by month, of all time
SELECT
      date_trunc('month', ("trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_month", count("trips".trip_id) "trips__count", count(distinct "trips".rider_id) "trips__active_riders"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [35] by quarter in New York
SELECT
      date_trunc('quarter', ("trips".started_at::timestamptz AT TIME ZONE 'America/New_York')) "trips__started_at_quarter", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-01-01T05:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-07-01T03:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [36] by day in New York
SELECT
      date_trunc('day', ("trips".started_at::timestamptz AT TIME ZONE 'America/New_York')) "trips__started_at_day", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-03-01T05:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-04-01T03:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [37] by fortnight
SELECT
      ('2019-01-07T00:00:00.000'::timestamp + INTERVAL '2 weeks' *
      FLOOR(
        EXTRACT(EPOCH FROM (("trips".started_at::timestamptz AT TIME ZONE 'UTC') - '2019-01-07T00:00:00.000'::timestamp)) /
        EXTRACT(EPOCH FROM INTERVAL '2 weeks')
      )) "trips__started_at_fortnight", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-01-07T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-06-30T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [38] by fiscal year
SELECT
      date_trunc('year', ("trips".started_at::timestamptz AT TIME ZONE 'UTC') - interval '3 months') + interval '3 months' "trips__started_at_fiscal_year", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-01-01T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-06-30T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [39] a range without a grain
SELECT
      "trips".payment "trips__payment", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-03-01T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-03-31T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [40] two times
SELECT
      date_trunc('month', ("trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_month", date_trunc('year', ("riders".joined_on::timestamptz AT TIME ZONE 'UTC')) "riders__joined_on_year", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id  GROUP BY 1, 2 ORDER BY 1 ASC LIMIT 10000;

-- [41] by borough
SELECT
      "zones".borough "zones__borough", count("trips".trip_id) "trips__count", avg("trips".fare) "trips__average_fare"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [42] by plan
SELECT
      "riders".plan "riders__plan", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [43] by plan and borough
SELECT
      "riders".plan "riders__plan", "zones".borough "zones__borough", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10000;

-- [44] by decade
SELECT
      "riders".age / 10 * 10 "riders__decade", avg("trips".fare) "trips__average_fare"
    FROM
      public.trips AS "trips"
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [45] stars by payment
SELECT
      "trips".payment "trips__payment", avg("ratings".stars) "ratings__average_stars"
    FROM
      public.ratings AS "ratings"
LEFT JOIN public.trips AS "trips" ON "ratings".trip_id = "trips".trip_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [46] stars by borough
SELECT
      "zones".borough "zones__borough", "ratings".stars "ratings__stars", count("ratings".rating_id) "ratings__count"
    FROM
      public.ratings AS "ratings"
LEFT JOIN public.trips AS "trips" ON "ratings".trip_id = "trips".trip_id
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10000;

-- [47] ratings by plan
SELECT
      "riders".plan "riders__plan", count("ratings".rating_id) "ratings__count"
    FROM
      public.ratings AS "ratings"
LEFT JOIN public.trips AS "trips" ON "ratings".trip_id = "trips".trip_id
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [48] riders by plan
SELECT
      "riders".plan "riders__plan", count("riders".rider_id) "riders__count", avg("riders".age) "riders__average_age"
    FROM
      public.riders AS "riders"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [49] visits by channel and plan
SELECT
      "visits".channel "visits__channel", "riders".plan "riders__plan", count("visits".visit_id) "visits__count", count(distinct "visits".rider_id) "visits__visitors"
    FROM
      public.visits AS "visits"
LEFT JOIN public.riders AS "riders" ON "visits".rider_id = "riders".rider_id  GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10000;

-- [50] pages
SELECT
      "visits".page "visits__page", count(distinct "visits".rider_id) "visits__visitors", count("visits".visit_id) "visits__count"
    FROM
      public.visits AS "visits"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10;

-- [51] a view
SELECT
      "zones".borough "rides__borough", "riders".plan "rides__riders_plan", count("trips".trip_id) "rides__count", sum("trips".fare) "rides__fares"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id  GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10000;

-- [52] a view by month
SELECT
      date_trunc('month', ("trips".started_at::timestamptz AT TIME ZONE 'UTC')) "rides__started_at_month", count("trips".trip_id) "rides__count"
    FROM
      public.trips AS "trips"  WHERE ("trips".started_at >= '2019-01-01T00:00:00.000Z'::timestamptz AND "trips".started_at <= '2019-06-30T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [53] balances by plan
SELECT
      "riders".plan "riders__plan", sum("wallets".balance) "wallets__balances"
    FROM
      public.riders AS "riders"
LEFT JOIN public.wallets AS "wallets" ON "riders".rider_id = "wallets".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [54] riders and their balances
SELECT
      "riders".plan "riders__plan", count(distinct "riders".rider_id) "riders__count", sum("wallets".balance) "wallets__balances"
    FROM
      public.riders AS "riders"
LEFT JOIN public.wallets AS "wallets" ON "riders".rider_id = "wallets".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [55] riders and their trips
SELECT q_0."trips__payment", "riders__count" "riders__count", "riders__average_age" "riders__average_age", "trips__count" "trips__count" FROM (SELECT "main__trips".payment "trips__payment", count(distinct "main__riders".rider_id) "riders__count", count("main__trips".trip_id) "trips__count" FROM public.trips AS "main__trips"
LEFT JOIN public.riders AS "main__riders" ON "main__trips".rider_id = "main__riders".rider_id  GROUP BY 1) AS q_0 INNER JOIN (SELECT "keys"."trips__payment", avg("riders_key__riders".age) "riders__average_age" FROM (SELECT DISTINCT "riders_key__trips".payment "trips__payment", "riders_key__riders".rider_id "riders__id" FROM public.trips AS "riders_key__trips"
LEFT JOIN public.riders AS "riders_key__riders" ON "riders_key__trips".rider_id = "riders_key__riders".rider_id ) AS "keys"
LEFT JOIN public.riders AS "riders_key__riders" ON "keys"."riders__id" = "riders_key__riders".rider_id
              GROUP BY 1) AS q_1 ON (q_0."trips__payment" = q_1."trips__payment" OR (q_0."trips__payment" IS NULL AND q_1."trips__payment" IS NULL)) ORDER BY 2 DESC LIMIT 10000;

-- [56] ratings and their trips
SELECT q_0."trips__status", "ratings__average_stars" "ratings__average_stars", "trips__fares" "trips__fares" FROM (SELECT "main__trips".status "trips__status", avg("main__ratings".stars) "ratings__average_stars" FROM public.ratings AS "main__ratings"
LEFT JOIN public.trips AS "main__trips" ON "main__ratings".trip_id = "main__trips".trip_id  GROUP BY 1) AS q_0 INNER JOIN (SELECT "keys"."trips__status", sum("trips_key__trips".fare) "trips__fares" FROM (SELECT DISTINCT "trips_key__trips".status "trips__status", "trips_key__trips".trip_id "trips__id" FROM public.ratings AS "trips_key__ratings"
LEFT JOIN public.trips AS "trips_key__trips" ON "trips_key__ratings".trip_id = "trips_key__trips".trip_id ) AS "keys"
LEFT JOIN public.trips AS "trips_key__trips" ON "keys"."trips__id" = "trips_key__trips".trip_id
              GROUP BY 1) AS q_1 ON (q_0."trips__status" = q_1."trips__status" OR (q_0."trips__status" IS NULL AND q_1."trips__status" IS NULL)) ORDER BY 2 DESC LIMIT 10000;

-- [57] zones that are served
SELECT
      "trips".payment "trips__payment", count(distinct "zones".zone_id) "zones__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [58] values of a dimension
SELECT
      "trips".payment "trips__payment"
    FROM
      public.trips AS "trips"  GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [59] values of a public dimension
SELECT
      "zones".borough "zones__borough"
    FROM
      public.zones AS "zones"  GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [60] riders by how many trips they took
SELECT
      CASE WHEN "riders__trips_taken" >= 20 THEN 'often' ELSE 'seldom' END "riders__kind", count("riders".rider_id) "riders__count"
    FROM
      public.riders AS "riders"
LEFT JOIN (SELECT
      "riders_trips_taken_subquery__riders".rider_id "riders__id", count("riders_trips_taken_subquery__trips".trip_id) "riders__trips_taken"
    FROM
      public.trips AS "riders_trips_taken_subquery__trips"
LEFT JOIN public.riders AS "riders_trips_taken_subquery__riders" ON "riders_trips_taken_subquery__trips".rider_id = "riders_trips_taken_subquery__riders".rider_id  GROUP BY 1) AS "riders_trips_taken_subquery" ON "riders_trips_taken_subquery"."riders__id" = "riders".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [61] trips of the average rider
SELECT
      avg("riders__trips_taken") "riders__average_trips"
    FROM
      public.riders AS "riders"
LEFT JOIN (SELECT
      "riders_trips_taken_subquery__riders".rider_id "riders__id", count("riders_trips_taken_subquery__trips".trip_id) "riders__trips_taken"
    FROM
      public.trips AS "riders_trips_taken_subquery__trips"
LEFT JOIN public.riders AS "riders_trips_taken_subquery__riders" ON "riders_trips_taken_subquery__trips".rider_id = "riders_trips_taken_subquery__riders".rider_id  GROUP BY 1) AS "riders_trips_taken_subquery" ON "riders_trips_taken_subquery"."riders__id" = "riders".rider_id  LIMIT 10000;

-- [62] trips by the kind of their rider
SELECT
      CASE WHEN "riders__trips_taken" >= 20 THEN 'often' ELSE 'seldom' END "riders__kind", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id
LEFT JOIN (SELECT
      "riders_trips_taken_subquery__riders".rider_id "riders__id", count("riders_trips_taken_subquery__trips".trip_id) "riders__trips_taken"
    FROM
      public.trips AS "riders_trips_taken_subquery__trips"
LEFT JOIN public.riders AS "riders_trips_taken_subquery__riders" ON "riders_trips_taken_subquery__trips".rider_id = "riders_trips_taken_subquery__riders".rider_id  GROUP BY 1) AS "riders_trips_taken_subquery" ON "riders_trips_taken_subquery"."riders__id" = "riders".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [63] riders with enough trips
SELECT
      count("riders".rider_id) "riders__count"
    FROM
      public.riders AS "riders"
LEFT JOIN (SELECT
      "riders_trips_taken_subquery__riders".rider_id "riders__id", count("riders_trips_taken_subquery__trips".trip_id) "riders__trips_taken"
    FROM
      public.trips AS "riders_trips_taken_subquery__trips"
LEFT JOIN public.riders AS "riders_trips_taken_subquery__riders" ON "riders_trips_taken_subquery__trips".rider_id = "riders_trips_taken_subquery__riders".rider_id  GROUP BY 1) AS "riders_trips_taken_subquery" ON "riders_trips_taken_subquery"."riders__id" = "riders".rider_id  WHERE ("riders__trips_taken" >= '20') LIMIT 10000;

-- [64] a cube of a statement
SELECT
      CASE WHEN "habits".spent > 500 THEN 'gold' ELSE 'plain' END "habits__tier", count("habits".rider_id) "habits__count", avg("habits".trips) "habits__average_trips"
    FROM
      (SELECT rider_id, count(*) AS trips, sum(fare) AS spent, max(started_at) AS last FROM public.trips GROUP BY 1) AS "habits"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [65] a histogram of what they did
SELECT
      "habits".trips "habits__trips", count("habits".rider_id) "habits__count"
    FROM
      (SELECT rider_id, count(*) AS trips, sum(fare) AS spent, max(started_at) AS last FROM public.trips GROUP BY 1) AS "habits"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [66] by the month of the last trip
SELECT
      date_trunc('month', ("habits".last::timestamptz AT TIME ZONE 'UTC')) "habits__last_month", count("habits".rider_id) "habits__count", sum("habits".spent) "habits__spent"
    FROM
      (SELECT rider_id, count(*) AS trips, sum(fare) AS spent, max(started_at) AS last FROM public.trips GROUP BY 1) AS "habits"  GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- [67] 7 days
SELECT q_0."trips__started_at_day", "trips__trips_7_days" "trips__trips_7_days" FROM (SELECT "trips.started_at_series"."date_from" "trips__started_at_day", sum("trips__trips_7_days") "trips__trips_7_days" FROM (SELECT date_from::timestamp as "date_from", date_to::timestamp as "date_to" FROM (VALUES ('2019-03-01T00:00:00.000', '2019-03-01T23:59:59.999'),('2019-03-02T00:00:00.000', '2019-03-02T23:59:59.999'),('2019-03-03T00:00:00.000', '2019-03-03T23:59:59.999'),('2019-03-04T00:00:00.000', '2019-03-04T23:59:59.999'),('2019-03-05T00:00:00.000', '2019-03-05T23:59:59.999'),('2019-03-06T00:00:00.000', '2019-03-06T23:59:59.999'),('2019-03-07T00:00:00.000', '2019-03-07T23:59:59.999'),('2019-03-08T00:00:00.000', '2019-03-08T23:59:59.999'),('2019-03-09T00:00:00.000', '2019-03-09T23:59:59.999'),('2019-03-10T00:00:00.000', '2019-03-10T23:59:59.999'),('2019-03-11T00:00:00.000', '2019-03-11T23:59:59.999'),('2019-03-12T00:00:00.000', '2019-03-12T23:59:59.999'),('2019-03-13T00:00:00.000', '2019-03-13T23:59:59.999'),('2019-03-14T00:00:00.000', '2019-03-14T23:59:59.999'),('2019-03-15T00:00:00.000', '2019-03-15T23:59:59.999'),('2019-03-16T00:00:00.000', '2019-03-16T23:59:59.999'),('2019-03-17T00:00:00.000', '2019-03-17T23:59:59.999'),('2019-03-18T00:00:00.000', '2019-03-18T23:59:59.999'),('2019-03-19T00:00:00.000', '2019-03-19T23:59:59.999'),('2019-03-20T00:00:00.000', '2019-03-20T23:59:59.999'),('2019-03-21T00:00:00.000', '2019-03-21T23:59:59.999'),('2019-03-22T00:00:00.000', '2019-03-22T23:59:59.999'),('2019-03-23T00:00:00.000', '2019-03-23T23:59:59.999'),('2019-03-24T00:00:00.000', '2019-03-24T23:59:59.999'),('2019-03-25T00:00:00.000', '2019-03-25T23:59:59.999'),('2019-03-26T00:00:00.000', '2019-03-26T23:59:59.999'),('2019-03-27T00:00:00.000', '2019-03-27T23:59:59.999'),('2019-03-28T00:00:00.000', '2019-03-28T23:59:59.999'),('2019-03-29T00:00:00.000', '2019-03-29T23:59:59.999'),('2019-03-30T00:00:00.000', '2019-03-30T23:59:59.999'),('2019-03-31T00:00:00.000', '2019-03-31T23:59:59.999')) AS dates (date_from, date_to)) AS "trips.started_at_series" LEFT JOIN (SELECT date_trunc('day', ("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_day", count("trips_trips_7_days_cumulative__trips".trip_id) "trips__trips_7_days" FROM public.trips AS "trips_trips_7_days_cumulative__trips"  WHERE (("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') > '2019-03-01T00:00:00.000'::timestamp - interval '7 days' AND ("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') <= '2019-03-31T23:59:59.999'::timestamp) GROUP BY 1) AS "trips_trips_7_days_cumulative__base" ON "trips_trips_7_days_cumulative__base"."trips__started_at_day" > "trips.started_at_series"."date_to" - interval '7 days' AND "trips_trips_7_days_cumulative__base"."trips__started_at_day" <= "trips.started_at_series"."date_to" GROUP BY 1) AS q_0  ORDER BY 1 ASC LIMIT 10000;

-- [68] 7 days beside the day's own
SELECT q_0."trips__started_at_day", "trips__count" "trips__count", "trips__trips_7_days" "trips__trips_7_days" FROM (SELECT date_trunc('day', ("main__trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_day", count("main__trips".trip_id) "trips__count" FROM public.trips AS "main__trips"  WHERE ("main__trips".started_at >= '2019-03-01T00:00:00.000Z'::timestamptz AND "main__trips".started_at <= '2019-03-31T23:59:59.999Z'::timestamptz) GROUP BY 1) AS q_0 INNER JOIN (SELECT "trips.started_at_series"."date_from" "trips__started_at_day", sum("trips__trips_7_days") "trips__trips_7_days" FROM (SELECT date_from::timestamp as "date_from", date_to::timestamp as "date_to" FROM (VALUES ('2019-03-01T00:00:00.000', '2019-03-01T23:59:59.999'),('2019-03-02T00:00:00.000', '2019-03-02T23:59:59.999'),('2019-03-03T00:00:00.000', '2019-03-03T23:59:59.999'),('2019-03-04T00:00:00.000', '2019-03-04T23:59:59.999'),('2019-03-05T00:00:00.000', '2019-03-05T23:59:59.999'),('2019-03-06T00:00:00.000', '2019-03-06T23:59:59.999'),('2019-03-07T00:00:00.000', '2019-03-07T23:59:59.999'),('2019-03-08T00:00:00.000', '2019-03-08T23:59:59.999'),('2019-03-09T00:00:00.000', '2019-03-09T23:59:59.999'),('2019-03-10T00:00:00.000', '2019-03-10T23:59:59.999'),('2019-03-11T00:00:00.000', '2019-03-11T23:59:59.999'),('2019-03-12T00:00:00.000', '2019-03-12T23:59:59.999'),('2019-03-13T00:00:00.000', '2019-03-13T23:59:59.999'),('2019-03-14T00:00:00.000', '2019-03-14T23:59:59.999'),('2019-03-15T00:00:00.000', '2019-03-15T23:59:59.999'),('2019-03-16T00:00:00.000', '2019-03-16T23:59:59.999'),('2019-03-17T00:00:00.000', '2019-03-17T23:59:59.999'),('2019-03-18T00:00:00.000', '2019-03-18T23:59:59.999'),('2019-03-19T00:00:00.000', '2019-03-19T23:59:59.999'),('2019-03-20T00:00:00.000', '2019-03-20T23:59:59.999'),('2019-03-21T00:00:00.000', '2019-03-21T23:59:59.999'),('2019-03-22T00:00:00.000', '2019-03-22T23:59:59.999'),('2019-03-23T00:00:00.000', '2019-03-23T23:59:59.999'),('2019-03-24T00:00:00.000', '2019-03-24T23:59:59.999'),('2019-03-25T00:00:00.000', '2019-03-25T23:59:59.999'),('2019-03-26T00:00:00.000', '2019-03-26T23:59:59.999'),('2019-03-27T00:00:00.000', '2019-03-27T23:59:59.999'),('2019-03-28T00:00:00.000', '2019-03-28T23:59:59.999'),('2019-03-29T00:00:00.000', '2019-03-29T23:59:59.999'),('2019-03-30T00:00:00.000', '2019-03-30T23:59:59.999'),('2019-03-31T00:00:00.000', '2019-03-31T23:59:59.999')) AS dates (date_from, date_to)) AS "trips.started_at_series" LEFT JOIN (SELECT date_trunc('day', ("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_day", count("trips_trips_7_days_cumulative__trips".trip_id) "trips__trips_7_days" FROM public.trips AS "trips_trips_7_days_cumulative__trips"  WHERE (("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') > '2019-03-01T00:00:00.000'::timestamp - interval '7 days' AND ("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') <= '2019-03-31T23:59:59.999'::timestamp) GROUP BY 1) AS "trips_trips_7_days_cumulative__base" ON "trips_trips_7_days_cumulative__base"."trips__started_at_day" > "trips.started_at_series"."date_to" - interval '7 days' AND "trips_trips_7_days_cumulative__base"."trips__started_at_day" <= "trips.started_at_series"."date_to" GROUP BY 1) AS q_1 ON (q_0."trips__started_at_day" = q_1."trips__started_at_day" OR (q_0."trips__started_at_day" IS NULL AND q_1."trips__started_at_day" IS NULL)) ORDER BY 1 ASC LIMIT 10000;

-- [69] 28 days by week and borough
SELECT q_0."zones__borough", q_0."trips__started_at_week", "trips__fares_28_days" "trips__fares_28_days" FROM (SELECT "zones__borough", "trips.started_at_series"."date_from" "trips__started_at_week", sum("trips__fares_28_days") "trips__fares_28_days" FROM (SELECT date_from::timestamp as "date_from", date_to::timestamp as "date_to" FROM (VALUES ('2019-02-25T00:00:00.000', '2019-03-03T23:59:59.999'),('2019-03-04T00:00:00.000', '2019-03-10T23:59:59.999'),('2019-03-11T00:00:00.000', '2019-03-17T23:59:59.999'),('2019-03-18T00:00:00.000', '2019-03-24T23:59:59.999'),('2019-03-25T00:00:00.000', '2019-03-31T23:59:59.999'),('2019-04-01T00:00:00.000', '2019-04-07T23:59:59.999'),('2019-04-08T00:00:00.000', '2019-04-14T23:59:59.999'),('2019-04-15T00:00:00.000', '2019-04-21T23:59:59.999'),('2019-04-22T00:00:00.000', '2019-04-28T23:59:59.999'),('2019-04-29T00:00:00.000', '2019-05-05T23:59:59.999'),('2019-05-06T00:00:00.000', '2019-05-12T23:59:59.999'),('2019-05-13T00:00:00.000', '2019-05-19T23:59:59.999'),('2019-05-20T00:00:00.000', '2019-05-26T23:59:59.999'),('2019-05-27T00:00:00.000', '2019-06-02T23:59:59.999')) AS dates (date_from, date_to)) AS "trips.started_at_series" LEFT JOIN (SELECT "trips_fares_28_days_cumulative__zones".borough "zones__borough", date_trunc('day', ("trips_fares_28_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_week", sum("trips_fares_28_days_cumulative__trips".fare) "trips__fares_28_days" FROM public.trips AS "trips_fares_28_days_cumulative__trips"
LEFT JOIN public.zones AS "trips_fares_28_days_cumulative__zones" ON "trips_fares_28_days_cumulative__trips".zone_id = "trips_fares_28_days_cumulative__zones".zone_id  WHERE (("trips_fares_28_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') >= '2019-02-25T00:00:00.000'::timestamp - interval '28 days' AND ("trips_fares_28_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') < '2019-06-02T23:59:59.999'::timestamp) GROUP BY 1, 2) AS "trips_fares_28_days_cumulative__base" ON "trips_fares_28_days_cumulative__base"."trips__started_at_week" >= "trips.started_at_series"."date_from" - interval '28 days' AND "trips_fares_28_days_cumulative__base"."trips__started_at_week" < "trips.started_at_series"."date_from" GROUP BY 1, 2) AS q_0  ORDER BY 2 ASC LIMIT 10000;

-- [70] riders of 30 days
SELECT q_0."trips__started_at_day", "trips__riders_30_days" "trips__riders_30_days" FROM (SELECT "trips.started_at_series"."date_from" "trips__started_at_day", count(distinct "trips__riders_30_days") "trips__riders_30_days" FROM (SELECT date_from::timestamp as "date_from", date_to::timestamp as "date_to" FROM (VALUES ('2019-03-01T00:00:00.000', '2019-03-01T23:59:59.999'),('2019-03-02T00:00:00.000', '2019-03-02T23:59:59.999'),('2019-03-03T00:00:00.000', '2019-03-03T23:59:59.999'),('2019-03-04T00:00:00.000', '2019-03-04T23:59:59.999'),('2019-03-05T00:00:00.000', '2019-03-05T23:59:59.999'),('2019-03-06T00:00:00.000', '2019-03-06T23:59:59.999'),('2019-03-07T00:00:00.000', '2019-03-07T23:59:59.999'),('2019-03-08T00:00:00.000', '2019-03-08T23:59:59.999'),('2019-03-09T00:00:00.000', '2019-03-09T23:59:59.999'),('2019-03-10T00:00:00.000', '2019-03-10T23:59:59.999'),('2019-03-11T00:00:00.000', '2019-03-11T23:59:59.999'),('2019-03-12T00:00:00.000', '2019-03-12T23:59:59.999'),('2019-03-13T00:00:00.000', '2019-03-13T23:59:59.999'),('2019-03-14T00:00:00.000', '2019-03-14T23:59:59.999'),('2019-03-15T00:00:00.000', '2019-03-15T23:59:59.999'),('2019-03-16T00:00:00.000', '2019-03-16T23:59:59.999'),('2019-03-17T00:00:00.000', '2019-03-17T23:59:59.999'),('2019-03-18T00:00:00.000', '2019-03-18T23:59:59.999'),('2019-03-19T00:00:00.000', '2019-03-19T23:59:59.999'),('2019-03-20T00:00:00.000', '2019-03-20T23:59:59.999'),('2019-03-21T00:00:00.000', '2019-03-21T23:59:59.999'),('2019-03-22T00:00:00.000', '2019-03-22T23:59:59.999'),('2019-03-23T00:00:00.000', '2019-03-23T23:59:59.999'),('2019-03-24T00:00:00.000', '2019-03-24T23:59:59.999'),('2019-03-25T00:00:00.000', '2019-03-25T23:59:59.999'),('2019-03-26T00:00:00.000', '2019-03-26T23:59:59.999'),('2019-03-27T00:00:00.000', '2019-03-27T23:59:59.999'),('2019-03-28T00:00:00.000', '2019-03-28T23:59:59.999'),('2019-03-29T00:00:00.000', '2019-03-29T23:59:59.999'),('2019-03-30T00:00:00.000', '2019-03-30T23:59:59.999'),('2019-03-31T00:00:00.000', '2019-03-31T23:59:59.999')) AS dates (date_from, date_to)) AS "trips.started_at_series" LEFT JOIN (SELECT ("trips_riders_30_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') "trips__started_at_day", "trips_riders_30_days_cumulative__trips".rider_id "trips__riders_30_days" FROM public.trips AS "trips_riders_30_days_cumulative__trips"  WHERE (("trips_riders_30_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') > '2019-03-01T00:00:00.000'::timestamp - interval '30 days' AND ("trips_riders_30_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') <= '2019-03-31T23:59:59.999'::timestamp)) AS "trips_riders_30_days_cumulative__base" ON "trips_riders_30_days_cumulative__base"."trips__started_at_day" > "trips.started_at_series"."date_to" - interval '30 days' AND "trips_riders_30_days_cumulative__base"."trips__started_at_day" <= "trips.started_at_series"."date_to" GROUP BY 1) AS q_0  ORDER BY 1 ASC LIMIT 10000;

-- [71] to date by month
SELECT q_0."trips__started_at_month", "trips__trips_to_date" "trips__trips_to_date" FROM (SELECT "trips.started_at_series"."date_from" "trips__started_at_month", sum("trips__trips_to_date") "trips__trips_to_date" FROM (SELECT date_from::timestamp as "date_from", date_to::timestamp as "date_to" FROM (VALUES ('2019-01-01T00:00:00.000', '2019-01-31T23:59:59.999'),('2019-02-01T00:00:00.000', '2019-02-28T23:59:59.999'),('2019-03-01T00:00:00.000', '2019-03-31T23:59:59.999'),('2019-04-01T00:00:00.000', '2019-04-30T23:59:59.999'),('2019-05-01T00:00:00.000', '2019-05-31T23:59:59.999'),('2019-06-01T00:00:00.000', '2019-06-30T23:59:59.999')) AS dates (date_from, date_to)) AS "trips.started_at_series" LEFT JOIN (SELECT date_trunc('month', ("trips_trips_to_date_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC')) "trips__started_at_month", count("trips_trips_to_date_cumulative__trips".trip_id) "trips__trips_to_date" FROM public.trips AS "trips_trips_to_date_cumulative__trips"  WHERE (("trips_trips_to_date_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') <= '2019-06-30T23:59:59.999'::timestamp) GROUP BY 1) AS "trips_trips_to_date_cumulative__base" ON "trips_trips_to_date_cumulative__base"."trips__started_at_month" <= "trips.started_at_series"."date_to" GROUP BY 1) AS q_0  ORDER BY 1 ASC LIMIT 10000;

-- [72] a rolling window without a grain
SELECT "trips__trips_7_days" "trips__trips_7_days" FROM (SELECT count("trips_trips_7_days_cumulative__trips".trip_id) "trips__trips_7_days" FROM public.trips AS "trips_trips_7_days_cumulative__trips"  WHERE (("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') > ('2019-03-31T23:59:59.999Z'::timestamptz::timestamptz AT TIME ZONE 'UTC') - interval '7 days' AND ("trips_trips_7_days_cumulative__trips".started_at::timestamptz AT TIME ZONE 'UTC') <= ('2019-03-31T23:59:59.999Z'::timestamptz::timestamptz AT TIME ZONE 'UTC'))) AS q_0  LIMIT 10000;

-- [73] a funnel
SELECT
      "booking".step "booking__step", count("booking".user_id) "booking__conversions", CASE WHEN count(distinct "booking".first_step_user_id) > 0 THEN 1.0 * count("booking".user_id) / count(distinct "booking".first_step_user_id) ELSE NULL END "booking__conversions_percent"
    FROM
      (WITH joined_events AS (
    select
    visited_events.user_id visited_user_id,
booked_events.user_id booked_user_id,
visited_events.t
    FROM
(select rider_id user_id, visited_at t from public.visits) visited_events
LEFT JOIN
(select rider_id user_id, started_at t from public.trips) booked_events ON visited_events.user_id = booked_events.user_id AND booked_events.t >= visited_events.t AND (booked_events.t::timestamptz AT TIME ZONE 'UTC') <= (visited_events.t::timestamptz AT TIME ZONE 'UTC') + interval '7 days'
  )
  select user_id, first_step_user_id, step, max(t) t from (
    SELECT visited_user_id user_id, visited_user_id first_step_user_id, t, 'Visited' step FROM joined_events
UNION ALL
SELECT booked_user_id user_id, visited_user_id first_step_user_id, t, 'Booked' step FROM joined_events
  ) as event_steps GROUP BY 1, 2, 3) AS "booking"  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [74] a funnel by month
SELECT
      "booking".step "booking__step", date_trunc('month', ("booking".t::timestamptz AT TIME ZONE 'UTC')) "booking__time_month", count("booking".user_id) "booking__conversions"
    FROM
      (WITH joined_events AS (
    select
    visited_events.user_id visited_user_id,
booked_events.user_id booked_user_id,
visited_events.t
    FROM
(select rider_id user_id, visited_at t from public.visits) visited_events
LEFT JOIN
(select rider_id user_id, started_at t from public.trips) booked_events ON visited_events.user_id = booked_events.user_id AND booked_events.t >= visited_events.t AND (booked_events.t::timestamptz AT TIME ZONE 'UTC') <= (visited_events.t::timestamptz AT TIME ZONE 'UTC') + interval '7 days'
  )
  select user_id, first_step_user_id, step, max(t) t from (
    SELECT visited_user_id user_id, visited_user_id first_step_user_id, t, 'Visited' step FROM joined_events
UNION ALL
SELECT booked_user_id user_id, visited_user_id first_step_user_id, t, 'Booked' step FROM joined_events
  ) as event_steps GROUP BY 1, 2, 3) AS "booking"  WHERE ("booking".t >= '2019-01-01T00:00:00.000Z'::timestamptz AND "booking".t <= '2019-06-30T23:59:59.999Z'::timestamptz) GROUP BY 1, 2 ORDER BY 2 ASC LIMIT 10000;

-- [75] is there anything new
SELECT MAX(started_at) FROM public.trips;

-- [76] a pre-aggregation
SELECT
      "riders".plan "riders__plan", "visits".channel "visits__channel", date_trunc('day', ("visits".visited_at::timestamptz AT TIME ZONE 'UTC')) "visits__visited_at_day", count("visits".visit_id) "visits__count", count(CASE WHEN ("visits".channel = 'partner') THEN "visits".visit_id END) "visits__partner_visits"
    FROM
      public.visits AS "visits"
LEFT JOIN public.riders AS "riders" ON "visits".rider_id = "riders".rider_id  GROUP BY 1, 2, 3;

-- [77] rows behind a number
SELECT
      "trips".trip_id "trips__id", "trips".started_at "trips__started_at", "trips".fare "trips__fare"
    FROM
      public.trips AS "trips"  ORDER BY 1 ASC LIMIT 100;

-- [78] by the rider
SELECT
      "riders".rider_id "riders__id", sum("trips".fare) "trips__fares"
    FROM
      public.trips AS "trips"
LEFT JOIN public.riders AS "riders" ON "trips".rider_id = "riders".rider_id  GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- [79] how many rows there would be
select count(*) "total_count" from (
SELECT
      "zones".zone "zones__zone", count("trips".trip_id) "trips__count"
    FROM
      public.trips AS "trips"
LEFT JOIN public.zones AS "zones" ON "trips".zone_id = "zones".zone_id  GROUP BY 1
) "original_query";
