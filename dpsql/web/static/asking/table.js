// The rows of an answer: a number and its margin in one cell, with the digits that mean something. All of it is text.

import { around, few, plain, step } from "./digits.js";
import { isNumber, read } from "./shape.js";
import { element } from "./tables.js";

const MOST = 500;
const MIDNIGHT = " 00:00:00";
const numeric = (column) => isNumber(column) || column.kind === "time";

/** Show the rows; `notes` has footnotes by the place of a column. */
export function showRows(place, answer, notes) {
  const { keys, numbers, columns } = read(answer);
  const alone = columns.filter(({ role, of }) => role === "margin" && of === null);
  const shown = columns.filter(({ role, at }) => role !== "margin" || alone.some((each) => each.at === at));
  const margins = new Map(numbers.map(({ at, margin }) => [at, margin]));
  const head = element("tr", shown.map(({ name, at }) => {
    const cell = element("th", name, { scope: "col", class: numeric(shown.find((column) => column.at === at)) ? "number" : "" });
    for (const [number] of notes.filter(([, about]) => about === at)) cell.append(" ", element("sup", String(number)));
    if (margins.get(at) != null) cell.append(" ", element("small", "± 95 %"));
    return cell;
  }));
  const days = new Set(shown.filter(({ kind, at }) => kind === "time" && answer.rows.every((row) => row[at] === null || row[at].endsWith(MIDNIGHT))).map(({ at }) => at));
  const body = answer.rows.slice(0, MOST).map((row) => element("tr", shown.map((column, first) => {
    const cell = written(row, column, margins.get(column.at) ?? null, days.has(column.at));
    if (!first && keys.length) {
      const name = element("th", [...cell.childNodes], { scope: "row" });
      if (numeric(column)) name.className = "number";
      return name;
    }
    return cell;
  })));
  const table = element("table", [element("thead", head), element("tbody", body)], { class: "rows" });
  const more = answer.rows.length - MOST;
  place.replaceChildren(table);
  if (!answer.rows.length) place.append(element("p", "The answer has no rows.", { class: "empty" }));
  if (more > 0) place.append(element("p", `${more.toLocaleString("en")} further rows are in the CSV.`, { class: "hint" }));
  if (answer.cut) place.append(element("p", `Only the first ${answer.rows.length.toLocaleString("en")} rows are here: write a LIMIT, or coarser groups.`, { class: "hint" }));
}

function written(row, column, margin, day) {
  const text = row[column.at];
  if (text === null) return element("td", element("span", "NULL", { class: "none" }));
  if (!isNumber(column)) return element("td", day ? text.slice(0, -MIDNIGHT.length) : text, { class: numeric(column) ? "number" : "" });
  const wide = margin === null || row[margin] === null ? null : Number(row[margin]);
  const value = Number(text);
  if (wide === null || !Number.isFinite(value)) return element("td", column.role === "key" ? text : few(value), { class: "number" });
  const cell = element("td", [plain(value, column.kind === "whole" ? Math.max(1, step(wide) ?? 1) : step(wide)), " ", element("small", `± ${around(wide)}`)], { class: "number", title: `released: ${text} ± ${row[margin]}` });
  if (column.counts && Math.abs(value) <= wide) {
    cell.classList.add("faint");
    cell.append(element("span", ", not distinguishable from zero", { class: "unseen" }));
  }
  return cell;
}
