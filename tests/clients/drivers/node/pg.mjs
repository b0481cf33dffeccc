// pg (node-postgres): unnamed extended statements.
import { bound, CHECKED, database, ENCRYPTED, GROUPED, host, password, port, require, SLOW, tell, user, WHERE } from "./told.mjs";

const { Client, Query } = require("pg");
const where = { host, port, user, password, database };
const client = new Client({ ...where, ssl: ENCRYPTED });
await client.connect();

async function tls() {
  const checked = new Client({ ...where, ssl: CHECKED, enableChannelBinding: true });
  await checked.connect();
  await checked.query(WHERE);
  await checked.end();
  return bound();
}

async function cursor() {
  await client.query("BEGIN");
  await client.query(`DECLARE steps CURSOR FOR ${GROUPED}`);
  const rows = [];
  for (let n = 0; n < 2; n++) rows.push(...(await client.query("FETCH 2 FROM steps")).rows.map(Object.values));
  await client.query("COMMIT");
  return rows;
}

async function cancel(code) {
  const slow = new Query(SLOW);
  const ended = new Promise((resolve, reject) => slow.on("error", reject).on("end", resolve));
  client.query(slow);
  const again = setInterval(() => new Client({ host, port }).cancel(client, slow), 200);
  return code(ended).finally(() => clearInterval(again));
}

await tell(async (statement, values) => (await client.query(statement, values)).rows, { TLS: tls, cursor, cancel });
await client.end();
