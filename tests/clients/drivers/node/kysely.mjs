// Kysely on pg: its introspection, its builder, streams by pg-cursor.
import { bound, CHECKED, database, ENCRYPTED, host, password, port, require, tell, user, WHERE } from "./told.mjs";

const { CompiledQuery, Kysely, PostgresDialect } = require("kysely");
const { Pool } = require("pg");
const connect = (ssl, more = {}) => {
  const pool = new Pool({ host, port, user, password, database, ssl, max: 1, ...more });
  return new Kysely({ dialect: new PostgresDialect({ pool, cursor: require("pg-cursor") }) });
};
const db = connect(ENCRYPTED);
const ask = async (statement, values) => (await db.executeQuery(CompiledQuery.raw(statement, values))).rows;
const counts = () => {
  const n = (build) => build.fn.countAll().as("n");
  return db.selectFrom("trips").select(["payment_type", n]).groupBy("payment_type").orderBy("payment_type");
};

async function tls() {
  const checked = connect(CHECKED, { enableChannelBinding: true });
  await checked.executeQuery(CompiledQuery.raw(WHERE));
  await checked.destroy();
  return bound();
}

async function tables() {
  return db.introspection.getTables().then((found) => found.filter((table) => table.schema === "public"));
}

async function lists() {
  const trips = db.selectFrom("trips").select((build) => build.fn.countAll().as("n"));
  const within = await trips.where("pickup_zone", "in", [1, 2]).executeTakeFirst();
  return [within.n, (await ask(process.env.ASK_ARRAY, [[1, 2]]))[0].n];
}

async function cursor() {
  const rows = [];
  for await (const row of counts().stream(2)) rows.push(Object.values(row));
  return rows;
}

await tell(ask, {
  TLS: tls,
  tables: async () => (await tables()).map((table) => table.name).sort(),
  columns: async () => (await tables()).find((table) => table.name === "trips").columns.map((column) => column.name),
  grouped: async () => (await counts().execute()).map(Object.values),
  lists,
  cursor,
});
await db.destroy();
