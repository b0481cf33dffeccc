// knex on pg: its builder, streams, and its own cancel, which calls pg_cancel_backend beside.
import { bound, CHECKED, database, ENCRYPTED, GROUPED, host, password, port, require, SLOW, tell, user, WHERE } from "./told.mjs";

const connect = (ssl, more = {}) =>
  require("knex")({ client: "pg", connection: { host, port, user, password, database, ssl, ...more }, pool: { max: 2 } });
const knex = connect(ENCRYPTED);
const ask = async (statement, values) => (await knex.raw(statement, values)).rows;

async function tls() {
  const checked = connect(CHECKED, { enableChannelBinding: true });
  await checked.raw(WHERE);
  await checked.destroy();
  return bound();
}

async function grouped() {
  const rows = await knex("trips").select("payment_type").count("* as n").groupBy("payment_type").orderBy("payment_type");
  return rows.map(Object.values);
}

async function cursor() {
  const rows = [];
  for await (const row of knex.raw(GROUPED).stream({ batchSize: 2 })) rows.push(Object.values(row));
  return rows;
}

async function cancel() {
  const failed = await knex.raw(SLOW).timeout(400, { cancel: true }).catch((raised) => raised);
  await ask(WHERE, []);
  return failed.name === "KnexTimeoutError" ? "stopped" : String(failed);
}

async function timeout(code) {
  return knex.transaction(async (session) => {
    await session.raw("SET statement_timeout = '300ms'");
    return code(session.raw(SLOW));
  }).catch((failed) => failed.code);
}

async function columns() {
  return Object.keys(await knex("trips").columnInfo());
}

await tell(ask, { TLS: tls, grouped, columns, cursor, cancel, timeout });
await knex.destroy();
