// Cube's driver, and the statement that Cube writes for a time dimension.
import { bound, CHECKED, database, ENCRYPTED, GROUPED, host, none, password, port, require, tell, user, WHERE } from "./told.mjs";

const { PostgresDriver } = require("@cubejs-backend/postgres-driver");
const connect = (ssl, more = {}) => new PostgresDriver({ host, port, user, password, database, ssl, ...more });
const driver = connect(ENCRYPTED);
const ask = (statement, values) => driver.query(statement, values);

async function tls() {
  const checked = connect(CHECKED, { enableChannelBinding: true });
  await checked.query(WHERE);
  await checked.release();
  return bound();
}

async function cursor() {
  const stream = await driver.stream(GROUPED, [], { highWaterMark: 2 });
  const rows = [];
  for await (const row of stream.rowStream) rows.push(Object.values(row));
  await stream.release();
  return rows;
}

async function timeout(code) {
  const hasty = connect(ENCRYPTED, { executionTimeout: 0.3 });
  return code(hasty.query(process.env.ASK_SLOW)).finally(() => hasty.release());
}

const schema = async () => (await driver.tablesSchema()).public;
await tell(ask, {
  TLS: tls,
  tables: async () => Object.keys(await schema()).sort(),
  columns: async () => (await schema()).trips.map((column) => column.name),
  cursor,
  cancel: none("has no call that cancels; its time limit is statement_timeout"),
  timeout,
});
for (const line of process.env.ASK_TIMES.split("\x1e")) {
  const [step, statement, plain] = line.split("\t");
  if (step.startsWith("Cube")) {
    const got = [await ask(statement, []).catch(String), await ask(plain, [])];
    console.log(JSON.stringify({ step, got: got.map((rows) => (Array.isArray(rows) ? rows.map(Object.values) : rows)) }));
  }
}
await driver.release();
