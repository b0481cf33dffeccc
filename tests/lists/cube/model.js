// What the tables mean to Cube.
import Funnels from "Funnels";

cube("trips", {
  sql_table: "public.trips",
  joins: {
    riders: { sql: `${CUBE}.rider_id = ${riders}.rider_id`, relationship: "many_to_one" },
    zones: { sql: `${CUBE}.zone_id = ${zones}.zone_id`, relationship: "many_to_one" },
  },
  measures: {
    count: { type: "count", drill_members: [id, started_at, fare] },
    fares: { sql: "fare", type: "sum" },
    average_fare: { sql: "fare", type: "avg" },
    least_fare: { sql: "fare", type: "min" },
    most_distance: { sql: "distance", type: "max" },
    active_riders: { sql: "rider_id", type: "count_distinct" },
    payments: { sql: "payment", type: "count_distinct" },
    card_trips: { type: "count", filters: [{ sql: `${CUBE}.payment = 'card'` }] },
    card_fares: { sql: "fare", type: "sum", filters: [{ sql: `${CUBE}.payment = 'card'` }] },
    card_share: { sql: `1.0 * ${card_trips} / NULLIF(${count}, 0)`, type: "number" },
    fare_per_rider: { sql: `${fares} / NULLIF(${active_riders}, 0)`, type: "number" },
    median_fare: { sql: `PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ${CUBE}.fare)`, type: "number" },
    tips: { sql: `COALESCE(${CUBE}.tip, 0)`, type: "sum" },
    last_trip: { type: "time", sql: `MAX(${CUBE}.started_at)` },
    trips_7_days: { type: "count", rolling_window: { trailing: "7 day" } },
    fares_28_days: { sql: "fare", type: "sum", rolling_window: { trailing: "28 day", offset: "start" } },
    riders_30_days: { sql: "rider_id", type: "count_distinct", rolling_window: { trailing: "30 day" } },
    trips_to_date: { type: "count", rolling_window: { trailing: "unbounded" } },
  },
  dimensions: {
    id: { sql: "trip_id", type: "number", primary_key: true },
    payment: { sql: "payment", type: "string" },
    status: { sql: "status", type: "string" },
    shared: { sql: "shared", type: "boolean" },
    seats: { sql: "seats", type: "number" },
    fare: { sql: "fare", type: "number" },
    fare_bin: { sql: `FLOOR(${CUBE}.fare / 10) * 10`, type: "number" },
    length: {
      type: "string",
      case: {
        when: [
          { sql: `${CUBE}.distance < 2`, label: "short" },
          { sql: `${CUBE}.distance < 8`, label: "middle" },
        ],
        else: { label: "long" },
      },
    },
    hour: { sql: `EXTRACT(HOUR FROM ${CUBE}.started_at)`, type: "number" },
    started_at: {
      sql: "started_at",
      type: "time",
      granularities: {
        fortnight: { interval: "2 weeks", origin: "2019-01-07" },
        fiscal_year: { interval: "1 year", offset: "3 months" },
      },
    },
  },
  segments: {
    finished: { sql: `${CUBE}.status = 'done'` },
    long_ones: { sql: `${CUBE}.distance >= 8` },
  },
  refresh_key: { sql: "SELECT MAX(started_at) FROM public.trips" },
});

cube("zones", {
  sql_table: "public.zones",
  measures: { count: { type: "count" } },
  dimensions: {
    id: { sql: "zone_id", type: "number", primary_key: true },
    zone: { sql: "zone", type: "string" },
    borough: { sql: "borough", type: "string" },
  },
});

cube("riders", {
  sql_table: "public.riders",
  joins: { wallets: { sql: `${CUBE}.rider_id = ${wallets}.rider_id`, relationship: "one_to_many" } },
  measures: {
    count: { type: "count" },
    average_age: { sql: "age", type: "avg" },
    average_trips: { sql: `${trips_taken}`, type: "avg" },
  },
  dimensions: {
    id: { sql: "rider_id", type: "number", primary_key: true },
    plan: { sql: "plan", type: "string" },
    decade: { sql: `${CUBE}.age / 10 * 10`, type: "number" },
    joined_on: { sql: "joined_on", type: "time" },
    trips_taken: { sql: `${trips.count}`, type: "number", sub_query: true },
    kind: { sql: `CASE WHEN ${trips_taken} >= 20 THEN 'often' ELSE 'seldom' END`, type: "string" },
  },
});

cube("ratings", {
  sql: "SELECT * FROM public.ratings",
  joins: { trips: { sql: `${CUBE}.trip_id = ${trips}.trip_id`, relationship: "many_to_one" } },
  measures: { count: { type: "count" }, average_stars: { sql: "stars", type: "avg" } },
  dimensions: {
    id: { sql: "rating_id", type: "number", primary_key: true },
    stars: { sql: "stars", type: "number" },
    rated_at: { sql: "rated_at", type: "time" },
  },
});

cube("visits", {
  sql_table: "public.visits",
  joins: { riders: { sql: `${CUBE}.rider_id = ${riders}.rider_id`, relationship: "many_to_one" } },
  measures: {
    count: { type: "count" },
    visitors: { sql: "rider_id", type: "count_distinct" },
    partner_visits: { type: "count", filters: [{ sql: `${CUBE}.channel = 'partner'` }] },
  },
  dimensions: {
    id: { sql: "visit_id", type: "number", primary_key: true },
    channel: { sql: "channel", type: "string" },
    page: { sql: "page", type: "string" },
    visited_at: { sql: "visited_at", type: "time" },
  },
  pre_aggregations: {
    by_day: {
      measures: [CUBE.count, CUBE.partner_visits],
      dimensions: [CUBE.channel, riders.plan],
      time_dimension: CUBE.visited_at,
      granularity: "day",
    },
  },
});

cube("wallets", {
  sql_table: "public.wallets",
  measures: { balances: { sql: "balance", type: "sum" } },
  dimensions: {
    id: { sql: `${CUBE}.rider_id || ' ' || ${CUBE}.month_end`, type: "string", primary_key: true },
    month_end: { sql: "month_end", type: "time" },
  },
});

// A cube over a statement of its own: riders by what they did.
cube("habits", {
  sql: `SELECT rider_id, count(*) AS trips, sum(fare) AS spent, max(started_at) AS last FROM public.trips GROUP BY 1`,
  measures: {
    count: { type: "count" },
    average_trips: { sql: "trips", type: "avg" },
    spent: { sql: "spent", type: "sum" },
  },
  dimensions: {
    rider: { sql: "rider_id", type: "number", primary_key: true },
    trips: { sql: "trips", type: "number" },
    tier: { sql: `CASE WHEN ${CUBE}.spent > 500 THEN 'gold' ELSE 'plain' END`, type: "string" },
    last: { sql: "last", type: "time" },
  },
});

cube("booking", {
  extends: Funnels.eventFunnel({
    userId: { sql: () => "rider_id" },
    time: { sql: () => "visited_at" },
    steps: [
      { name: "visited", eventsTable: { sql: () => "public.visits" }, time: { sql: () => "visited_at" } },
      {
        name: "booked",
        eventsTable: { sql: () => "public.trips" },
        time: { sql: () => "started_at" },
        timeToConvert: "7 day",
      },
    ],
  }),
});

view("rides", {
  cubes: [
    { join_path: trips, includes: ["count", "fares", "payment", "started_at"] },
    { join_path: trips.zones, includes: ["borough"] },
    { join_path: trips.riders, includes: ["plan"], prefix: true },
  ],
});
