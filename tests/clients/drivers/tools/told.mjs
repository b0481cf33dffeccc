// What the scripts of tools in Node share: where to go, and a line of JSON for each thing that was tried.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.TOOLS_NODE}/`);
const { Client } = require("pg");

export const where = {
  host: process.env.ASK_HOST, port: Number(process.env.ASK_PORT), user: process.env.ASK_USER,
  password: process.env.ASK_PASSWORD, database: process.env.ASK_DATABASE,
};

export async function paid() {
  const client = new Client(where);
  await client.connect();
  try {
    const there = await client.query("SELECT to_regclass('dpsql.budget') AS t");
    if (there.rows[0].t === null) return 0;
    const found = await client.query("SELECT epsilon_spent / per_query_epsilon AS paid FROM dpsql.budget");
    return Number(found.rows[0].paid);
  } finally {
    await client.end();
  }
}

export async function tried(part, name, work) {
  const before = await paid();
  let told;
  try {
    told = { got: await work() };
  } catch (failed) {
    const said = failed?.detail ?? failed?.meta?.driverAdapterError?.cause?.detail;
    const detail = said ? `\nDETAIL:  ${said}` : "";
    told = { failed: `${failed?.message ?? failed}${detail}`.slice(0, 2000) };
  }
  console.log(JSON.stringify({ part, name, ...told, paid: Math.round(((await paid()) - before) * 1000) / 1000 }));
}
