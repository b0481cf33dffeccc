// postgres.js: prepares everything, and asks for the parameters' types first.
import { CHECKED, ENCRYPTED, GROUPED, host, password, port, require, SLOW, tell, user, database, Partly, WHERE } from "./told.mjs";

const postgres = require("postgres");
const where = { host, port, user, password, database, max: 1, onnotice: () => {} };
const sql = postgres({ ...where, ssl: ENCRYPTED });

async function tls() {
  const bound = postgres({ ...where, ssl: CHECKED });
  await bound.unsafe(WHERE);
  await bound.end();
  return new Partly("bound", "knows no channel binding; checks certificate and name");
}

async function cursor() {
  const rows = [];
  await sql.unsafe(GROUPED).cursor(2, (some) => void rows.push(...some.map(Object.values)));
  return rows;
}

async function cancel(code) {
  const slow = sql.unsafe(SLOW);
  slow.execute();
  const once = setTimeout(() => slow.cancel(), 400);
  return code(slow).finally(() => clearTimeout(once));
}

// It writes dates, times and JSON itself, and takes numbers beyond 2^53 as text.
const own = {
  bigint: "100", date: new Date("2019-03-08"), timestamp: new Date("2019-03-08"), jsonb: { a: [1, null] },
};
await tell((statement, values) => sql.unsafe(statement, values, { prepare: true }), { TLS: tls, cursor, cancel, own });
await sql.end();
