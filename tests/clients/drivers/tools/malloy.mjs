// Malloy over its PostgreSQL connection: twelve queries, one of them nested, and rows.
import { createRequire } from "node:module";
import { tried, where } from "./told.mjs";

const require = createRequire(`${process.env.TOOLS_NODE}/`);
const { PostgresConnection } = require("@malloydata/db-postgres");
const { SingleConnectionRuntime } = require("@malloydata/malloy");

const MODEL = `
source: zones is pg.table('public.zones') extend { primary_key: zone_id }
source: trips is pg.table('public.trips') extend {
  join_one: zones with pickup_zone
  measure: n is count()
  measure: mean is fare.avg()
}
`;
const QUERIES = {
  "count": "run: trips -> { aggregate: n }",
  "group_by": "run: trips -> { group_by: payment_type aggregate: n, mean order_by: payment_type }",
  "join": "run: trips -> { group_by: zones.borough aggregate: n order_by: borough }",
  "where": "run: trips -> { where: fare > 20 aggregate: n }",
  "filtered measure": "run: trips -> { aggregate: cash is n { where: payment_type = 'cash' }, n }",
  "having": "run: trips -> { group_by: pickup_zone aggregate: n having: n > 100 order_by: pickup_zone }",
  "limit": "run: trips -> { group_by: passenger_count aggregate: n order_by: passenger_count limit: 2 }",
  "day": "run: trips -> { group_by: at is pickup_ts.day aggregate: n order_by: at limit: 3 }",
  "pick": "run: trips -> { group_by: class is pick 'dear' when fare > 30 else 'cheap' aggregate: n order_by: class }",
  "pipeline": "run: trips -> { group_by: payment_type aggregate: n } -> { aggregate: largest is n.max() }",
  "share": "run: trips -> { group_by: payment_type aggregate: n, share is n / all(n) order_by: payment_type }",
  "nested": "run: trips -> { group_by: payment_type aggregate: n order_by: payment_type nest: by_zone is { group_by: pickup_zone aggregate: n order_by: pickup_zone } }",
};
const ROWS = { "select": "run: trips -> { select: * limit: 3 }", "index": "run: trips -> { index: * }" };

const connection = new PostgresConnection("pg", {}, async () => ({
  host: where.host, port: where.port, username: where.user, password: where.password, databaseName: where.database,
}));
const runtime = new SingleConnectionRuntime({ urlReader: { readURL: async () => "" }, connection });

async function asked(query) {
  const result = await runtime.loadQuery(MODEL + query).run();
  return result.data.toObject();
}

for (const [name, query] of Object.entries(QUERIES)) {
  await tried(name === "nested" ? "a nested query" : "queries", name, () => asked(query));
}
for (const [name, query] of Object.entries(ROWS)) {
  await tried("rows", name, () => asked(query).then((found) => found.length));
}
process.exit(0); // what failed in its pool keeps a connection
