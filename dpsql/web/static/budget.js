// The page Budget: charges over time, one line a role, added up.

import { Chart } from "./chart.js";
import { ask, get, show } from "./dom.js";

const KINDS = ["private", "second", "third", "fourth", "fifth"];
const chart = new Chart(get("charges"));

function stamp(moment, span) {
  const text = new Date(moment).toISOString();
  return span > 3 * 86400e3 ? text.slice(5, 10) : text.slice(11, span < 300e3 ? 19 : 16);
}

function legend(lines) {
  get("legend").replaceChildren(...lines.map(({ name, kind }) => {
    const item = document.createElement("li");
    item.innerHTML = '<svg width="30" height="8" aria-hidden="true"><line x1="0" x2="30" y1="4" y2="4"/></svg>';
    item.querySelector("line").setAttribute("class", `line ${kind}`);
    item.append(name);
    return item;
  }));
}

const { roles } = await ask("/budget/charges", {});
const moments = roles.flatMap((role) => role.times.map((time) => Date.parse(time)));
// The ledger's clock is the server's: where this browser's is behind, the chart ends with the last charge.
const now = Math.max(Date.now(), ...moments);
const first = moments.length ? Math.min(...moments) : now - 3600e3;
const span = Math.max(now - first, 60e3);
const low = first - span * 0.03;
const lines = roles.map((role, place) => {
  const x = role.times.map((time) => Date.parse(time));
  return { name: role.name, kind: KINDS[place % KINDS.length], step: true, x: [low, ...x, now], y: [0, ...role.spent, role.spent.at(-1)] };
});
chart.draw({
  label: roles.map((role) => `${role.name} has spent ε = ${show(role.spent.at(-1))}`).join("; ") || "no charges yet",
  x: { low, high: now, title: "time (UTC)", format: (moment) => stamp(moment, span) },
  y: { low: 0, high: 1.08 * Math.max(1e-9, ...roles.flatMap((role) => role.spent), moments.length ? 0 : 1), title: "ε spent" },
  lines,
  empty: "nothing is charged yet",
});
legend(lines);
document.body.dataset.done = 1;
