// TypeORM on pg: an entity of its own, its query runner for tables, columns and streams.
import { bound, CHECKED, database, ENCRYPTED, GROUPED, host, password, port, require, tell, user, WHERE } from "./told.mjs";

require("reflect-metadata");
const { DataSource, EntitySchema, In } = require("typeorm");
const Trip = new EntitySchema({
  name: "Trip",
  tableName: "trips",
  columns: {
    trip_id: { type: "bigint", primary: true }, pickup_zone: { type: "integer" },
    payment_type: { type: "text", nullable: true },
  },
});
const connect = (ssl, extra = {}) =>
  new DataSource({
    type: "postgres", host, port, username: user, password, database, ssl, entities: [Trip], installExtensions: false,
    extra: { max: 1, ...extra },
  }).initialize();
const source = await connect(ENCRYPTED);
const ask = (statement, values) => source.query(statement, values);

async function tls() {
  const checked = await connect(CHECKED, { enableChannelBinding: true });
  await checked.query(WHERE);
  await checked.destroy();
  return bound();
}

async function withRunner(take) {
  const runner = source.createQueryRunner();
  return take(runner).finally(() => runner.release());
}

async function grouped() {
  const trips = source.getRepository(Trip).createQueryBuilder("t").select("t.payment_type", "key");
  const rows = await trips.addSelect("count(*)", "n").groupBy("t.payment_type").orderBy("t.payment_type").getRawMany();
  return rows.map(Object.values);
}

async function lists() {
  const within = await source.getRepository(Trip).countBy({ pickup_zone: In([1, 2]) });
  return [within, (await ask(process.env.ASK_ARRAY, [[1, 2]]))[0].n];
}

async function cursor() {
  return withRunner(async (runner) => {
    const rows = [];
    for await (const row of await runner.stream(GROUPED)) rows.push(Object.values(row));
    return rows;
  });
}

await tell(ask, {
  TLS: tls,
  tables: () => withRunner(async (runner) => (await runner.getTables()).map((table) => table.name.split(".").pop())
    .filter((name) => ["endless", "trips", "zones"].includes(name)).sort()),
  columns: () => withRunner(async (runner) => (await runner.getTable("trips")).columns.map((column) => column.name)),
  grouped,
  lists,
  cursor,
});
await source.destroy();
