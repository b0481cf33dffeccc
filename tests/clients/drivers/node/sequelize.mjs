// Sequelize on pg: its description of tables, its models' aggregates, replacements that it binds.
import { CHECKED, database, ENCRYPTED, host, none, Partly, password, port, require, tell, user, WHERE } from "./told.mjs";

const { DataTypes, Op, QueryTypes, Sequelize } = require("sequelize");
const connect = (ssl) =>
  new Sequelize(database, user, password, {
    host, port, dialect: "postgres", logging: false, pool: { max: 1 }, dialectOptions: { ssl },
  });
const sequelize = connect(ENCRYPTED);
const ask = (statement, bind) => sequelize.query(statement, { bind, type: QueryTypes.SELECT });
const Trip = sequelize.define(
  "Trip",
  { trip_id: { type: DataTypes.BIGINT, primaryKey: true }, pickup_zone: DataTypes.INTEGER, payment_type: DataTypes.TEXT },
  { tableName: "trips", timestamps: false },
);

async function tls() {
  const checked = connect(CHECKED);
  await checked.query(WHERE);
  await checked.close();
  return new Partly("bound", "hands pg no wish for channel binding; checks certificate and name");
}

async function grouped() {
  const n = [sequelize.fn("count", sequelize.col("trip_id")), "n"];
  const rows = await Trip.findAll({ attributes: ["payment_type", n], group: "payment_type", order: ["payment_type"], raw: true });
  return rows.map(Object.values);
}

async function lists() {
  const within = await Trip.count({ where: { pickup_zone: { [Op.in]: [1, 2] } } });
  return [within, (await ask(process.env.ASK_ARRAY, [[1, 2]]))[0].n];
}

await tell(ask, {
  TLS: tls,
  tables: async () => (await sequelize.getQueryInterface().showAllTables()).map((table) => table.tableName ?? table).sort(),
  columns: async () => Object.keys(await sequelize.getQueryInterface().describeTable("trips")),
  grouped,
  lists,
  cursor: none("reads the whole"),
  codeOf: (failed) => failed.original?.code,
});
await sequelize.close();
