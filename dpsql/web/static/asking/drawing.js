// Charts by Observable Plot, loaded with the first answer. Colours are those of our own style sheet; Plot's <style> is taken out
// before the chart comes into the page, whose content policy forbids it.

import { points, series, width } from "./shape.js";

const COLOURS = ["var(--raw)", "var(--private)", "var(--good)", "var(--second)", "var(--need)", "var(--soft)"];
const MOST_BARS = 80;
let library = null;

/** Return a chart of an answer as SVG, with `said`, which describes it, and what was left out. */
export async function draw(data, { kind, number, other, width: wide }) {
  library ??= import("../built/plot.js");
  const Plot = await library;
  const all = points(data, number, kind === "scatter" ? other : null);
  const drawn = kind === "bars" ? all.slice(0, MOST_BARS) : all;
  const marks = { bars, lines, histogram, scatter }[kind](Plot, drawn, { data, number, other });
  const svg = Plot.plot({
    width: wide,
    className: "plotted",
    color: { type: "identity" },
    marginRight: 34,
    marginBottom: 46,
    style: { background: "none", fontSize: "12px", fontFamily: "inherit" },
    ...marks,
  });
  for (const style of svg.querySelectorAll("style")) style.remove();
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${{ bars: "Bars", lines: "Lines", histogram: "Histogram", scatter: "Scatter" }[kind]} of ${number.name}: ${drawn.length} ${drawn.length === 1 ? "value" : "values"} with error bars; the table below has each`);
  for (const inside of svg.querySelectorAll("[aria-label]")) inside.removeAttribute("aria-label");
  return { svg, names: kind === "histogram" ? [] : series(drawn), colours: COLOURS, left: all.length - drawn.length, faint: drawn.some(({ faint }) => faint), margins: drawn.some(({ low }) => low !== null) };
}

const title = ({ name, y, low, high }) => `${name}: ${y.toLocaleString("en")}${low === null ? "" : ` (${low.toLocaleString("en")} to ${high.toLocaleString("en")})`}`;
const solid = (drawn) => drawn.filter(({ faint }) => !faint);
const faint = (drawn) => drawn.filter((point) => point.faint);
const sure = (drawn) => drawn.filter(({ low }) => low !== null);
const hollow = { fill: "var(--track)", fillOpacity: 0.5, stroke: "var(--soft)", strokeDasharray: "3 3" };
const error = { stroke: "var(--ink)", strokeWidth: 1.4 };
const short = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);

function colour(drawn) {
  const names = series(drawn);
  return { names, of: (point) => COLOURS[Math.max(0, names.indexOf(point.series))] };
}

function bars(Plot, drawn, { number }) {
  const { of } = colour(drawn);
  const place = { y: "name" };
  return {
    marginLeft: Math.min(190, 20 + 7 * Math.max(...drawn.map(({ name }) => short(name).length))),
    height: 76 + 26 * drawn.length,
    x: { label: number.name, labelOffset: 40, grid: true, nice: true },
    y: { label: null, domain: drawn.map(({ name }) => name), tickFormat: short },
    marks: [
      Plot.barX(solid(drawn), { ...place, x: "y", fill: of, fillOpacity: 0.75, title }),
      Plot.barX(faint(drawn), { ...place, x: "y", ...hollow, title }),
      Plot.ruleY(sure(drawn), { ...place, x1: "low", x2: "high", ...error }),
      Plot.ruleX([0], { stroke: "var(--line)" }),
    ],
  };
}

function lines(Plot, drawn, { data, number }) {
  const { names, of } = colour(drawn);
  const sorted = [...drawn].sort((a, b) => a.key - b.key);
  const groups = names.length ? names.map((name) => sorted.filter(({ series: each }) => each === name)) : [sorted];
  return {
    height: 320,
    marginLeft: 64,
    x: { label: data.keys[0].name, labelOffset: 40, type: data.keys[0].kind === "time" ? "utc" : "linear" },
    y: { label: number.name, grid: true, nice: true, zero: number.counts },
    marks: [
      ...groups.map((group) => Plot.areaY(sure(group), { x: "key", y1: "low", y2: "high", fill: of(group[0] ?? {}), fillOpacity: 0.18 })),
      ...groups.map((group) => Plot.lineY(group, { x: "key", y: "y", stroke: of(group[0] ?? {}), strokeWidth: 1.8 })),
      Plot.dot(solid(sorted), { x: "key", y: "y", r: sorted.length > 90 ? 1.5 : 3, fill: of, title }),
      Plot.dot(faint(sorted), { x: "key", y: "y", r: 3.5, ...hollow, title }),
    ],
  };
}

function histogram(Plot, drawn, { data, number }) {
  const step = width(drawn);
  const centred = data.keys[0].kind === "whole" && step === 1;
  const box = { x1: ({ key }) => key - (centred ? 0.5 : 0), x2: ({ key }) => key + (centred ? 0.5 : step), y1: 0, y2: "y", insetLeft: 0.5, insetRight: 0.5 };
  return {
    height: 320,
    marginLeft: 64,
    x: { label: data.keys[0].name, labelOffset: 40 },
    y: { label: number.name, grid: true, nice: true },
    marks: [
      Plot.rectY(solid(drawn), { ...box, fill: COLOURS[0], fillOpacity: 0.75, title }),
      Plot.rectY(faint(drawn), { ...box, ...hollow, title }),
      Plot.ruleX(sure(drawn), { x: ({ key }) => key + (centred ? 0 : step / 2), y1: "low", y2: "high", ...error }),
      Plot.ruleY([0], { stroke: "var(--line)" }),
    ],
  };
}

function scatter(Plot, drawn, { number, other }) {
  const { of } = colour(drawn);
  const cross = { strokeWidth: 1.1, strokeOpacity: 0.6 };
  return {
    height: 360,
    marginLeft: 64,
    x: { label: other.name, labelOffset: 40, grid: true, nice: true },
    y: { label: number.name, grid: true, nice: true },
    marks: [
      Plot.ruleX(sure(drawn), { x: "x", y1: "low", y2: "high", stroke: of, ...cross }),
      Plot.ruleY(drawn.filter(({ left }) => left !== null), { y: "y", x1: "left", x2: "right", stroke: of, ...cross }),
      Plot.dot(solid(drawn), { x: "x", y: "y", r: 4, fill: of, title }),
      Plot.dot(faint(drawn), { x: "x", y: "y", r: 4, ...hollow, title }),
      ...(drawn.length <= 12 ? [Plot.text(drawn, { x: "x", y: "y", text: ({ name }) => short(name), dy: -10, fill: "var(--ink)" })] : []),
    ],
  };
}
