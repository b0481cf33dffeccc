// Evidence's PostgreSQL connector, as `evidence sources` runs it: streams a source's query, with its columns' types.
import { createRequire } from "node:module";
import { tried, where } from "./told.mjs";

const require = createRequire(`${process.env.TOOLS_NODE}/`);
const runQuery = require("@evidence-dev/postgres");
const options = { ...where, ssl: false };

async function read(statement) {
  const found = await runQuery(statement, options, 100);
  const rows = [];
  const batches = typeof found.rows === "function" ? found.rows() : found.rows;
  for await (const batch of batches) rows.push(...(Array.isArray(batch) ? batch : [batch]));
  return { columns: found.columnTypes.map((one) => [one.name, one.evidenceType]), rows };
}

await tried("connection", "testConnection", () => runQuery.testConnection(options));
const STATEMENTS = {
  "grouped": "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY 1",
  "by day": "SELECT pickup_ts::date AS day, count(*) AS n FROM trips GROUP BY 1 ORDER BY 1 LIMIT 3",
  "joined": "SELECT borough, avg(fare) AS mean FROM trips JOIN zones ON zone_id = pickup_zone GROUP BY 1 ORDER BY 1;",
  "public": "SELECT * FROM zones ORDER BY zone_id",
  "a CTE with comments": "-- trips\nWITH a AS (SELECT pickup_zone, count(*) AS n FROM trips GROUP BY 1) SELECT max(n) AS n FROM a",
};
for (const [name, statement] of Object.entries(STATEMENTS)) await tried("sources", name, () => read(statement));
await tried("rows", "SELECT *", () => read("SELECT * FROM trips").then((found) => found.rows.length));
