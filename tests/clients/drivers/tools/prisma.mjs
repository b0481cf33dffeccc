// Prisma's client over its adapter for pg. Its generator writes it from a schema, and needs no engine for that: the program of
// that name that it looks for is one that does nothing.
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { tried, where } from "./told.mjs";

const place = join(process.env.TOOLS_NODE, "..", "prisma");
const home = join(process.env.HOME, "project");
mkdirSync(home);
symlinkSync(join(place, "node_modules"), join(home, "node_modules"));
writeFileSync(join(home, "schema.prisma"), `
generator client {
  provider = "prisma-client-js"
  output   = "./generated"
}
datasource db {
  provider = "postgresql"
}
model zones {
  zone_id Int    @id
  zone    String
  borough String
  trips   trips[]
}
model trips {
  trip_id         BigInt   @id
  passenger_id    Int
  pickup_ts       DateTime @db.Timestamp(6)
  pickup_zone     Int
  payment_type    String?
  passenger_count Int
  fare            Float
  tip             Float
  where           zones    @relation(fields: [pickup_zone], references: [zone_id])
}
`);
writeFileSync(join(home, "prisma.config.mjs"), 'export default { schema: "schema.prisma", datasource: { url: "postgresql://here" } };\n');
execFileSync(join(place, "node_modules", ".bin", "prisma"), ["generate"], {
  cwd: home, stdio: "pipe",
  env: { ...process.env, CHECKPOINT_DISABLE: "1", PRISMA_HIDE_UPDATE_MESSAGE: "1", PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" },
});
const require = createRequire(`${home}/`);
const { PrismaClient } = require("./generated");
const { PrismaPg } = require("@prisma/adapter-pg");
const client = new PrismaClient({ adapter: new PrismaPg(where) });
const { trips, zones } = client;

const flat = (found) => JSON.parse(JSON.stringify(found, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
const rounded = (found) => flat(found).map((row) => ({ ...row, _avg: { fare: Math.round(row._avg.fare * 10) / 10 } }));
const sorted = (found) => flat(found).map((row) => JSON.stringify(row)).sort().map((row) => JSON.parse(row));
const dear = { fare: { gt: 20 } };

const AGGREGATES = {
  count: () => trips.count(),
  "count, where": () => trips.count({ where: dear }),
  "count, select": () => trips.count({ select: { _all: true, payment_type: true } }),
  "count, AND, OR, NOT": () => trips.count({ where: { AND: [dear, { OR: [{ payment_type: "cash" }, { NOT: { tip: { lt: 3 } } }] }] } }),
  "count, in": () => trips.count({ where: { payment_type: { in: ["cash", "credit card"] } } }),
  "count, null": () => trips.count({ where: { payment_type: null } }),
  "count, contains": () => trips.count({ where: { payment_type: { contains: "CA", mode: "insensitive" } } }),
  "count, startsWith": () => trips.count({ where: { payment_type: { startsWith: "ca" } } }),
  "count, dates": () => trips.count({ where: { pickup_ts: { gte: new Date("2019-03-02"), lt: new Date("2019-03-03") } } }),
  "count across a relation": () => trips.count({ where: { where: { borough: "Queens" } } }),
  "count across a relation, isNot": () => trips.count({ where: { where: { isNot: { borough: "Queens" } } } }),
  aggregate: () => trips.aggregate({ _count: true, _avg: { fare: true }, _sum: { tip: true } }).then(flat),
  "aggregate, min and max": () => trips.aggregate({ _min: { fare: true }, _max: { fare: true } }).then((f) => Math.abs(f._max.fare - 52) < 2),
  "aggregate, where": () => trips.aggregate({ where: dear, _avg: { tip: true } }).then(flat),
  groupBy: () => trips.groupBy({ by: ["payment_type"], _count: true }).then(sorted),
  "groupBy two": () => trips.groupBy({ by: ["payment_type", "passenger_count"], _count: { _all: true } }).then(sorted),
  "groupBy, avg": () => trips.groupBy({ by: ["payment_type"], _count: { _all: true }, _avg: { fare: true } }).then(rounded).then(sorted),
  "groupBy, having": () => trips.groupBy({ by: ["pickup_zone"], _count: { _all: true }, having: { fare: { _avg: { gt: 1 } } } }).then(sorted),
  "groupBy, orderBy, take": () =>
    trips.groupBy({ by: ["payment_type"], _count: { _all: true }, orderBy: { payment_type: "asc" }, take: 2 }).then(flat),
};
const EXISTENCE = {
  "public rows, some": () => zones.findMany({ where: { trips: { some: dear } }, select: { zone_id: true } }).then(sorted),
  "public rows, none": () => zones.findMany({ where: { trips: { none: { fare: { lt: 0 } } } }, select: { zone_id: true } }).then(sorted),
  "public rows, every": () => zones.findMany({ where: { trips: { every: { fare: { gt: 0 } } } }, select: { zone_id: true } }).then(sorted),
  "public rows with _count": () => zones.findMany({ select: { zone_id: true, _count: { select: { trips: true } } } }).then(sorted),
  "public rows by _count": () => zones.findMany({ orderBy: { trips: { _count: "desc" } }, select: { zone_id: true } }).then(sorted),
  "$queryRaw, EXISTS": () => client.$queryRaw`SELECT EXISTS (SELECT 1 FROM trips WHERE fare > ${50}) AS there`.then(flat),
  "$queryRaw, SELECT 1": () => client.$queryRaw`SELECT 1 AS one FROM trips WHERE fare > ${20} LIMIT 1`.then(flat),
};
await tried("connection", "$connect", () => client.$connect().then(() => true));
await tried("connection", "$queryRaw", () => client.$queryRaw`SELECT 1 AS one`.then(flat));
for (const [part, works] of Object.entries({ aggregates: AGGREGATES, existence: EXISTENCE })) {
  for (const [name, work] of Object.entries(works)) await tried(part, name, work);
}
await tried("transactions", "$transaction of a list", () => client.$transaction([trips.count(), zones.count()]).then(flat));
await tried("transactions", "$transaction of a function", () =>
  client.$transaction(async (held) => [await held.trips.count(), await held.zones.count()], { isolationLevel: "RepeatableRead" }).then(flat));
await tried("rows", "findMany, take", () => trips.findMany({ take: 3 }).then((found) => found.length));
await tried("rows", "findFirst", () => trips.findFirst({ where: dear }).then((found) => found !== null));
await tried("rows", "findUnique", () => trips.findUnique({ where: { trip_id: 7 } }).then((found) => Number(found.trip_id)));
await tried("rows", "findMany, distinct", () => trips.findMany({ distinct: ["payment_type"], select: { payment_type: true } }).then(sorted));
await tried("rows", "of a public table", () => zones.findMany().then(sorted));
process.exit(0);
