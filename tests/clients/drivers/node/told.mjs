// What a script is told by the environment, the twelve steps as most drivers take them, and how it tells what it got.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

export const require = createRequire(`${process.env.CLIENTS}/`);
export const { ASK_HOST: host, ASK_USER: user, ASK_PASSWORD: password, ASK_DATABASE: database } = process.env;
export const port = Number(process.env.ASK_PORT);
export const ca = readFileSync(process.env.ASK_ROOT, "utf8");
export const CHECKED = { ca };
export const ENCRYPTED = { rejectUnauthorized: false };
const { ASK_TABLES, ASK_COLUMNS, ASK_ROWS, ASK_IN, ASK_ARRAY } = process.env;
export const GROUPED = process.env.ASK_GROUPED;
export const SLOW = process.env.ASK_SLOW;
export const WHERE = "SELECT current_user AS who, current_database() AS place";
const split = (lines) => lines.split("\n").map((line) => line.split("\t"));
const TYPES = split(process.env.ASK_TYPES);
const WORDS = Object.fromEntries(split(process.env.ASK_WORDS));
const VALUES = {
  boolean: true, smallint: 1, integer: 2, bigint: 100n, real: 20.5, "double precision": 20.5,
  timestamptz: new Date("2019-03-08T00:00:00Z"), bytea: Buffer.from([0, 1, 2, 255]), "integer[]": [1, 2],
};

// What pg chose for the last log-in: its own option asks for channel binding, and goes without if it is not offered.
let mechanism = null;
const connection = require("pg").Connection.prototype;
const respond = connection.sendSASLInitialResponseMessage;
connection.sendSASLInitialResponseMessage = function (chosen, response) {
  mechanism = chosen;
  return respond.call(this, chosen, response);
};
export const bound = () => (mechanism === "SCRAM-SHA-256-PLUS" ? "bound" : mechanism);

export class NoSuchThing extends Error {}
export class Partly {
  constructor(got, note) {
    Object.assign(this, { got, note });
  }
}
export const none = (reason) => async () => {
  throw new NoSuchThing(reason);
};

// `ask(statement, values)` gives rows as objects; a driver's own steps replace those that are here.
export async function tell(ask, { own = {}, codeOf = (failed) => failed.code, ...steps }) {
  const code = (asked) => asked.then(() => "answered", (failed) => codeOf(failed) ?? Promise.reject(failed));
  const values = (rows) => rows.map((row) => Object.values(row));
  const one = async (statement, given) => Object.values((await ask(statement, given))[0])[0];
  const every = {
    connect: async () => values(await ask(WHERE, []))[0],
    TLS: none("not tried"),
    tables: async () => (await ask(ASK_TABLES, [])).map((row) => row.table_name),
    columns: async () => (await ask(ASK_COLUMNS, [])).map((row) => row.column_name),
    grouped: async () => values(await ask(GROUPED, [])),
    lists: async () => [await one(ASK_IN, [1, 2]), await one(ASK_ARRAY, [own["integer[]"] ?? [1, 2]])],
    types: async () => {
      const got = {};
      for (const [name, statement, text] of TYPES) {
        const value = { ...VALUES, ...own }[name] ?? text;
        got[name] = [await one(statement, [value]), await one(statement, [null])];
      }
      return got;
    },
    refusal: async () => {
      const refused = await code(ask(ASK_ROWS, []));
      await ask(GROUPED, []);
      return refused;
    },
    cursor: none("has no cursors"),
    cancel: none("has no call that cancels"),
    timeout: async () => {
      await ask("SELECT set_config('statement_timeout', '300ms', false)", []);
      const stopped = await code(ask(SLOW, []));
      await ask("SELECT set_config('statement_timeout', '0', false)", []);
      return stopped;
    },
    encodings: async () => new Partly({ UTF8: await one(WORDS.UTF8, []) }, "speaks UTF-8 alone"),
    ...steps,
  };
  for (const [step, take] of Object.entries(every)) {
    let told;
    try {
      const got = await take(code);
      told = got instanceof Partly ? { ...got } : { got };
    } catch (failed) {
      told = failed instanceof NoSuchThing ? { none: failed.message } : { failed: String(failed.stack ?? failed) };
    }
    const plain = (_, value) => (typeof value === "bigint" ? String(value) : value);
    console.log(JSON.stringify({ step, ...told }, plain));
  }
}
