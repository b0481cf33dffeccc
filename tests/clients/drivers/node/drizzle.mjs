// Drizzle on pg; drizzle-kit's introspection tells tables and columns.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bound, CHECKED, database, ENCRYPTED, host, password, port, require, tell, user, WHERE } from "./told.mjs";

const { drizzle } = require("drizzle-orm/node-postgres");
const { count, inArray, sql } = require("drizzle-orm");
const { bigint, integer, pgTable, text } = require("drizzle-orm/pg-core");
const { Client } = require("pg");
const where = { host, port, user, password, database };
const client = new Client({ ...where, ssl: ENCRYPTED });
await client.connect();
const db = drizzle(client);
const trips = pgTable("trips", {
  tripId: bigint("trip_id", { mode: "bigint" }), pickupZone: integer("pickup_zone"), paymentType: text("payment_type"),
});

// Its own way to write a parameter is a piece of the template.
function ask(statement, values) {
  const parts = statement.split(/\$\d/);
  const pieces = parts.flatMap((part, n) => [sql.raw(part), ...(n < values.length ? [sql`${sql.param(values[n])}`] : [])]);
  return db.execute(sql.join(pieces)).then((got) => got.rows);
}

async function tls() {
  const checked = new Client({ ...where, ssl: CHECKED, enableChannelBinding: true });
  await checked.connect();
  await drizzle(checked).execute(WHERE);
  await checked.end();
  return bound();
}

let schema = null;
function introspected() {
  if (schema === null) {
    const home = mkdtempSync(join(tmpdir(), "dpsql-drizzle-"));
    const url = `postgresql://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}?sslmode=no-verify`;
    const kit = join(process.env.CLIENTS, "node_modules", "drizzle-kit", "bin.cjs");
    execFileSync("node", [kit, "introspect", "--dialect", "postgresql", "--url", url, "--out", home], { cwd: home });
    schema = readFileSync(join(home, "schema.ts"), "utf8");
    rmSync(home, { recursive: true });
  }
  return schema;
}

async function tables() {
  return [...introspected().matchAll(/pgTable\("(\w+)"/g)].map((found) => found[1]).sort();
}

async function columns() {
  const table = introspected().split('pgTable("trips"')[1].split(/^}/m)[0];
  const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return [...table.matchAll(/^\t(\w+): /gm)].map((found) => snake(found[1]));
}

async function grouped() {
  const rows = await db.select({ key: trips.paymentType, n: count() }).from(trips).groupBy(trips.paymentType)
    .orderBy(trips.paymentType);
  return rows.map(Object.values);
}

async function lists() {
  const [within] = await db.select({ n: count() }).from(trips).where(inArray(trips.pickupZone, [1, 2]));
  return [within.n, (await ask(process.env.ASK_ARRAY, [[1, 2]]))[0].n];
}

await tell(ask, { TLS: tls, tables, columns, grouped, lists, codeOf: (failed) => (failed.cause ?? failed).code });
await client.end();
