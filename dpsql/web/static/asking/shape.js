// Which charts fit an answer, and what stands where in them. Nothing is drawn here.

const SERIES = 6; // lines or colours that can still be told apart

/** An answer as charts need it: rows of values with `low` and `high` for each number that has a margin. */
export function read(answer) {
  const columns = answer.columns.map((column, at) => ({ ...column, at }));
  const numbers = columns.filter(({ role }) => role === "number").map((column) => ({ ...column, margin: columns.find(({ role, of }) => role === "margin" && of === column.at)?.at ?? null }));
  const keys = columns.filter(({ role }) => role === "key");
  return { keys, numbers, rows: answer.rows, columns };
}

export const value = (row, { at, kind }) => {
  const text = row[at];
  if (text === null) return null;
  if (kind === "whole" || kind === "number") return Number(text);
  if (kind === "time") return new Date(/\d{2}:\d{2}/.test(text) ? `${text.replace(" ", "T").replace(/([+-]\d{2})$/, "$1:00")}${/[+-]\d{2}(:\d{2})?$/.test(text) ? "" : "Z"}` : `${text}T00:00Z`);
  return text;
};

/** The kinds of charts that an answer can be drawn as, the best first; empty where there is nothing to compare. */
export function kinds({ keys, numbers, rows }) {
  if (!numbers.length || !rows.length || (rows.length < 2 && !keys.length)) return [];
  const [key] = keys;
  const of = [];
  if (key?.kind === "time") of.push("lines", "bars");
  else if (isNumber(key) && keys.length === 1) of.push("histogram", "lines", "bars");
  else of.push("bars");
  if (key && isNumber(key) && keys.length > 1) of.push("lines");
  if (numbers.length > 1) of.push("scatter");
  return of;
}

export const isNumber = (column) => column?.kind === "whole" || column?.kind === "number";

/** Each row as a point of a chart: its key, its series, the number, and how far that may be off. */
export function points({ keys, rows }, number, other = null) {
  const [first, second] = keys;
  return rows.map((row) => {
    const y = value(row, number);
    const margin = number.margin === null || row[number.margin] === null ? null : Number(row[number.margin]);
    const point = {
      key: first ? value(row, first) : "all",
      name: keys.length ? keys.map(({ at }) => row[at] ?? "NULL").join(" · ") : "all",
      series: second ? row[second.at] ?? "NULL" : null,
      y,
      low: margin === null ? null : y - margin,
      high: margin === null ? null : y + margin,
      faint: y !== null && margin !== null && number.counts && Math.abs(y) <= margin,
    };
    if (!other) return point;
    const wide = other.margin === null || row[other.margin] === null ? null : Number(row[other.margin]);
    const x = value(row, other);
    return { ...point, x, left: wide === null ? null : x - wide, right: wide === null ? null : x + wide };
  }).filter(({ y, x }) => Number.isFinite(y) && (x === undefined || Number.isFinite(x)));
}

/** The series of a chart, and whether there are few enough to draw. */
export function series(drawn) {
  const names = [...new Set(drawn.map((point) => point.series).filter((name) => name !== null))];
  return names.length > 1 && names.length <= SERIES ? names : [];
}

/** The width of a bucket: the least distance of two keys. */
export function width(drawn) {
  const keys = [...new Set(drawn.map(({ key }) => Number(key)))].sort((a, b) => a - b);
  const steps = keys.slice(1).map((key, at) => key - keys[at]).filter((step) => step > 0);
  return steps.length ? Number(Math.min(...steps).toPrecision(9)) : 1;
}
