// Prints the statements that Cube writes for PostgreSQL; runs where Cube's compiler is installed, and asks no server.
// It is the compiler in JavaScript: the one in Rust is in no package of npm.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PLACE}/`);
const { prepareCompiler, PostgresQuery } = require("@cubejs-backend/schema-compiler");
const YAML = require("yaml");
const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");

const files = [{ fileName: "model.js", content: read("model.js") }];
const repository = { localPath: () => "", dataSchemaFiles: async () => files };
const nativeInstance = { newJinjaEngine: () => null }; // for templates in YAML, of which there are none
const compilers = prepareCompiler(repository, { standalone: true, nativeInstance });
await compilers.compiler.compile();

const literal = (value) => `'${String(value).replaceAll("'", "''")}'`;
const written = ([sql, values]) => sql.replace(/\$(\d+)/g, (_, place) => literal(values[place - 1]));

const of = (query) => new PostgresQuery(compilers, { timezone: "UTC", useNativeSqlPlanner: false, ...query });

function statements({ title, kind, limit = 10000, ...query }) {
  switch (kind) {
    case "refresh keys":
      return of(query).cacheKeyQueries();
    case "pre-aggregation":
      return of(query).preAggregations.preAggregationsDescription().map(({ sql }) => sql);
    case "total":
      return [of({ ...query, totalQuery: true, order: [] }).buildSqlAndParams()];
    default:
      return [of({ ...query, rowLimit: limit }).buildSqlAndParams()];
  }
}

console.log("-- What Cube writes for tests/lists/cube: `python -m tests.lists.layers`.");
let number = 0;
for (const query of YAML.parse(read("queries.yaml"))) {
  for (const each of statements(query)) {
    number += 1;
    console.log(`\n-- [${number}] ${query.title}\n${written(each).trim()};`);
  }
}
