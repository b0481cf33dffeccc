// Asks through node's two drivers what `asked.py` has, and prints each row as one line of JSON: what it is, then itself.
import { createRequire } from "node:module";

const [driver, url, all] = process.argv.slice(2);
const require = createRequire(`${process.env.CLIENTS}/`);

const TABLES = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1";
const COLUMNS =
  "SELECT table_name, column_name, ordinal_position, data_type, is_nullable FROM information_schema.columns" +
  " WHERE table_schema = 'public' ORDER BY 1, 3";
const GROUPED = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY payment_type";
const LONG = "SELECT count(*) AS n FROM trips WHERE fare > $1";
const ROWS = "SELECT trip_id, fare FROM trips";

function show(what, rows) {
  for (const row of rows) console.log(JSON.stringify([what, ...Object.values(row)]));
}

async function withPg() {
  const { Client } = require("pg");
  const client = new Client({ connectionString: url });
  await client.connect();
  const ask = async (statement) => (await client.query(statement)).rows;
  show("table", await ask(TABLES));
  show("column", await ask(COLUMNS));
  if (all) {
    show("grouped", await ask(GROUPED));
    for (let run = 0; run < 3; run++) show("parameter", await ask({ text: LONG, values: [20], name: "long" }));
    show("parameter", await ask({ text: LONG, values: [20] }));
    show("refused", await ask(ROWS).catch((failed) => [{ code: failed.code }]));
    await client.query("BEGIN");
    await client.query(`DECLARE steps CURSOR FOR ${GROUPED}`);
    show("fetched", await ask("FETCH 2 IN steps"));
    show("fetched", await ask("FETCH 2 IN steps"));
    await client.query("COMMIT");
  }
  await client.end();
}

async function withPostgres() {
  const sql = require("postgres")(url, { max: 1, onnotice: () => {} });
  show("table", await sql.unsafe(TABLES));
  show("column", await sql.unsafe(COLUMNS));
  if (all) {
    show("grouped", await sql.unsafe(GROUPED));
    for (let run = 0; run < 4; run++) show("parameter", await sql.unsafe(LONG, [20], { prepare: true }));
    show("refused", await sql.unsafe(ROWS).catch((failed) => [{ code: failed.code }]));
    await sql.unsafe(GROUPED).cursor(2, (rows) => show("fetched", rows));
  }
  await sql.end();
}

await (driver === "pg" ? withPg() : withPostgres());
