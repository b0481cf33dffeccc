// Evidence: its PostgreSQL connector, which streams a source's query with its columns' types, and a site with one page.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
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

// Later versions' DuckDB fetches what reads Parquet from elsewhere while a site is built.
const place = join(process.env.TOOLS_NODE, "..", "evidence");
const PAGE = "```sql paid\nselect * from taxi.paid\n```\nThere are <Value data={paid} column=n/> by <Value data={paid} column=payment_type/>.\n";
const PLUGINS = 'components:\n  "@evidence-dev/core-components": {}\ndatasources:\n  "@evidence-dev/postgres": {}\n';

function built() {
  for (const old of ["sources", "pages", "build", ".evidence"]) rmSync(join(place, old), { recursive: true, force: true });
  const source = join(place, "sources", "taxi");
  for (const directory of [source, join(place, "pages")]) mkdirSync(directory, { recursive: true });
  const { password, ...shown } = { ...where, ssl: false, schema: "public" };
  writeFileSync(join(source, "connection.yaml"), JSON.stringify({ name: "taxi", type: "postgres", options: shown }));
  const hidden = Buffer.from(password).toString("base64");
  writeFileSync(join(source, "connection.options.yaml"), JSON.stringify({ password: hidden }));
  writeFileSync(join(source, "paid.sql"), STATEMENTS.grouped);
  writeFileSync(join(place, "pages", "index.md"), PAGE);
  writeFileSync(join(place, "evidence.plugins.yaml"), PLUGINS);
  const programs = join(place, "node_modules", ".bin");
  const env = { ...process.env, DO_NOT_TRACK: "1", PATH: programs + delimiter + process.env.PATH };
  for (const step of ["sources", "build"]) {
    execFileSync(join(programs, "evidence"), [step], { cwd: place, env, stdio: ["ignore", "pipe", "pipe"] });
  }
  const page = readFileSync(join(place, "build", "index.html"), "utf-8").replace(/<script.*?<\/script>/gs, " ").replace(/<[^>]*>/g, " ");
  return page.replace(/\s+/g, " ").match(/There are .*? by [^.]*/)[0];
}

await tried("a page", "evidence build", built);
