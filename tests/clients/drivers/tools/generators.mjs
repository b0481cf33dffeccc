// Programs that write code from a database's catalogue: kanel, and drizzle-kit.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { tried, where } from "./told.mjs";

const node = process.env.TOOLS_NODE;
const require = createRequire(`${node}/`);
const home = process.env.HOME;
const url = `postgresql://${where.user}:${encodeURIComponent(where.password)}@${where.host}:${where.port}/${where.database}?sslmode=disable`;
const wanted = process.argv[2];

function files(place) {
  return Object.fromEntries(readdirSync(place, { recursive: true }).map(String).sort()
    .filter((name) => name.endsWith(".ts")).map((name) => [name, readFileSync(join(place, name), "utf-8")]));
}

async function kanel() {
  const { processDatabase } = require("kanel");
  const outputPath = join(home, "kanel");
  await processDatabase({ connection: url, schemas: ["public"], outputPath, preDeleteOutputFolder: false });
  return files(outputPath);
}

function drizzle() {
  const place = join(home, "drizzle");
  mkdirSync(place, { recursive: true });
  const config = { dialect: "postgresql", out: place, dbCredentials: { url }, schemaFilter: ["public"] };
  writeFileSync(join(home, "drizzle.config.json"), JSON.stringify(config));
  const program = join(node, "node_modules", ".bin", "drizzle-kit");
  execFileSync(program, ["pull", "--config", join(home, "drizzle.config.json")], { cwd: node, stdio: ["ignore", "pipe", "pipe"] });
  return files(place)["schema.ts"];
}

if (wanted === "kanel") await tried("types", "processDatabase", kanel);
if (wanted === "drizzle") await tried("schema", "pull", drizzle);
