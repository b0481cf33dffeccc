// What each step of the story shows: from the present choices to the layers of a picture and the words beside it.

import { percent, show } from "./dom.js";
import { apart, belief, deviation, kernel, noise, rightGuesses, smooth, typicalError } from "./noise.js";

const POINTS = 240;
/** Points of the two worlds' curves: both peaks are among them. */
const FINE = 210;
const GHOSTS = 20;
const MOST_DOTS = 2000;
const WORLDS = 10.5;
const kernels = new Map();

export const many = (count, one = "row") => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
/** A probability as so many of a hundred, which is never all of them. */
export const of100 = (share) => percent(share).replace(" %", "");

function weights(buckets, width) {
  const key = `${buckets} ${width}`;
  if (!kernels.has(key)) kernels.set(key, kernel(buckets, width, POINTS));
  return kernels.get(key);
}

/** A line through counts: with steps where nothing is smoothed. */
export function through(counts, width, total) {
  if (width) return { type: "line", values: smooth(weights(counts.length, width), counts, total) };
  const sum = counts.reduce((all, count) => all + Math.max(count, 0), 0);
  return { type: "steps", values: counts.map((count) => (sum ? (Math.max(count, 0) * total) / sum : 0)) };
}

/** The bucket of the one person: beyond it are about three of a hundred rows. */
function tail(counts) {
  const all = counts.reduce((sum, count) => sum + count, 0);
  let sum = 0;
  return counts.findIndex((count) => (sum += count) >= 0.97 * all);
}

/** All that follows from the choices: counts without and with the one person, what is released, and the scale of its noise. */
export function facts(state, data) {
  const sample = data.samples.find(({ name }) => name === state.sample);
  const size = Math.min(state.size, sample.sizes.length - 1);
  const base = sample.counts[size];
  const unit = data.units.find(({ name }) => name === state.unit);
  const marked = tail(sample.counts[sample.sizes.indexOf(data.size)]);
  const truth = base.map((count, bucket) => count + (bucket === marked && !state.without ? unit.rows : 0));
  const scale = unit.rows / state.epsilon;
  const answers = state.draws.map((dice) => truth.map((count, bucket) => count + noise(dice[bucket], scale)));
  const average = truth.map((_, bucket) => answers.reduce((all, answer) => all + answer[bucket], 0) / answers.length);
  const total = truth.reduce((all, count) => all + count, 0);
  return {
    state, data, sample, base, unit, marked, truth, scale, answers, total,
    told: state.average ? average : answers[0],
    dots: sample.counts[Math.min(size, sample.sizes.indexOf(MOST_DOTS))],
    top: 1.5 * Math.max(...base, base[marked] + unit.rows),
    trips: sample.axis !== "",
    real: sample.name.startsWith("real_"),
  };
}

const axes = (f, title = "rows in a bucket") => ({
  x: { low: f.sample.low, high: f.sample.high, title: f.sample.axis || "value" },
  y: { low: -0.2 * f.top, high: f.top, title, least: 0 },
  buckets: f.base.length,
  range: f.state.range,
});
const centre = (f, bucket) => f.sample.low + ((bucket + 0.5) / f.base.length) * (f.sample.high - f.sample.low);
const noted = (f) => ({ notes: [{ at: centre(f, f.marked), text: f.state.without ? `without this ${one(f)}` : `this ${one(f)}` }] });
const whose = (f) => ({ type: "upright", kind: "whose", x: centre(f, f.marked) });
/** A number between 0 and 1 that is always the same for the same dot. */
const scattered = (i) => (Math.sin(i * 12.9898 + 4.1) * 43758.5453) % 1;
const somewhere = (i) => Math.abs(scattered(i));

export const one = (f) => (f.trips ? { row: "trip", medallion: "cab" }[f.unit.name] ?? f.unit.name : "person");

function dots(f) {
  const points = f.dots.flatMap((count, bucket) => Array.from({ length: count }, (_, i) => [bucket, i]));
  const at = ([bucket, i]) => [centre(f, bucket + somewhere(bucket * 131 + i) - 0.5), f.top * (0.04 + 0.9 * somewhere(bucket * 977 + i * 7 + 3))];
  const theirs = f.state.without ? [] : Array.from({ length: f.unit.rows }, (_, i) => [centre(f, f.marked), f.top * (f.unit.rows === 1 ? 0.5 : 0.1 + (0.8 * i) / f.unit.rows)]);
  const whole = axes(f, "");
  return {
    ...whole,
    y: { ...whole.y, low: 0, bare: true },
    buckets: null,
    ...noted(f),
    label: `${f.sample.title}: each row a dot, and this ${one(f)} marked near ${show(centre(f, f.marked))}`,
    layers: [whose(f), { type: "dots", kind: "dots", points: points.map(at) }, { type: "dots", kind: "theirs", points: theirs }],
    legend: [["dots", "a row"], ["theirs", `this ${one(f)}`]],
  };
}

function buckets(f) {
  const [low, high] = [f.base[f.marked], f.base[f.marked] + f.unit.rows];
  return {
    ...axes(f),
    ...noted(f),
    label: `${f.sample.title}: ${many(f.base.length, "bucket")}, the highest with ${many(Math.max(...f.truth))}; the marked one has ${many(f.truth[f.marked])}`,
    layers: [
      whose(f),
      { type: "bars", kind: "bars rows", values: f.base },
      { type: "pieces", kind: f.state.without ? "gone" : "mine", points: [[f.marked, low, high, f.base.length]] },
    ],
    legend: [["bars rows", "rows"], [f.state.without ? "gone" : "mine", `this ${one(f)}: ${many(f.unit.rows)}${f.state.without ? ", removed" : ""}`]],
  };
}

function worlds(f) {
  const [lacking, rows] = [f.base[f.marked], f.unit.rows];
  const [low, high] = [lacking + rows / 2 - WORLDS * rows, lacking + rows / 2 + WORLDS * rows];
  const xs = Array.from({ length: FINE + 1 }, (_, i) => low + ((high - low) * i) / FINE);
  const curve = (middle) => xs.map((x) => Math.exp(-Math.abs(x - middle) / f.scale));
  const [ours, other] = [curve(lacking + rows), curve(lacking)];
  const seen = f.answers[0][f.marked];
  return {
    x: { low, high, title: "released count of the marked bucket" },
    y: { low: 0, high: 1.15, title: "how likely (1: the likeliest answer)" },
    key: `worlds ${low} ${high}`,
    notes: [],
    label: `Likely answers with this ${one(f)}, around ${lacking + rows}, and without, around ${lacking}; ${of100(rightGuesses(f.state.epsilon, rows))} of 100 guesses are right`,
    layers: [
      { type: "area", kind: "overlap", values: ours.map((y, i) => Math.min(y, other[i])) },
      { type: "line", kind: "line without", values: other },
      { type: "line", kind: "line with", values: ours },
      { type: "upright", kind: "seen", x: seen },
    ],
    legend: [["line with", `with this ${one(f)}`], ["line without", "without"], ["overlap", "overlap"], ["seen", `drawn: ${seen.toLocaleString("en")}${seen < low || seen > high ? ", outside" : ""}`]],
  };
}

const ghosts = (f, shape) => ({ type: "many", kind: "ghosts", values: f.answers.slice(1, GHOSTS + 1).map(shape) });
/** The least w so that at least 95 % of the noise is within ±w. */
export function within95(scale) {
  const ratio = Math.exp(-1 / scale);
  return Math.max(0, Math.ceil(scale * Math.log((2 * ratio) / (0.05 * (1 + ratio)))));
}

function noisy(f) {
  const half = within95(f.scale) / (f.state.average ? Math.sqrt(f.answers.length) : 1);
  return {
    ...axes(f),
    ...noted(f),
    label: `${f.sample.title}: ${f.state.average ? `the average of ${many(f.answers.length, "answer")}` : "what is released"}, usually ${show(typicalError(f.scale), 2)} rows off in each bucket`,
    layers: [
      whose(f),
      { type: "band", kind: "band", ends: [f.truth.map((count) => count - half), f.truth.map((count) => count + half)] },
      { type: "bars", kind: "bars told", values: f.told },
      ghosts(f, (answer) => ({ step: true, values: answer })),
      { type: "steps", kind: "line raw", values: f.truth },
    ],
    legend: [["bars told", f.state.average ? "average of all answers" : "released (noisy)"], ["line raw", "truth"], ["band", "95 of 100"], ...(f.answers.length > 1 ? [["ghosts", "earlier answers"]] : [])],
  };
}

function smoothed(f) {
  const width = f.data.smoothings[f.state.smoothing];
  const line = (counts) => through(counts, width, f.total);
  const [raw, told] = [line(f.truth), line(f.told)];
  return {
    ...axes(f),
    ...noted(f),
    distance: apart(raw.values, told.values),
    label: `${f.sample.title}: both lines smoothed, ${show(apart(raw.values, told.values), 2)} apart`,
    layers: [
      whose(f),
      { type: "bars", kind: "bars told faint", values: f.told },
      ghosts(f, (answer) => ({ step: !width, values: line(answer).values })),
      { ...raw, kind: "line raw" },
      { ...told, kind: "line private" },
    ],
    legend: [["line private", "smoothed"], ["line raw", "truth, smoothed"], ["bars told faint", "released (noisy)"], ...(f.answers.length > 1 ? [["ghosts", "earlier answers"]] : [])],
  };
}

const STEPS = { data: dots, buckets, worlds, noise: noisy, smoothing: smoothed, roles: smoothed };

/** The picture of a step. */
export function picture(f) {
  const { step, sample, size, unit, without } = f.state;
  const spec = STEPS[step](f);
  return { key: `${step === "data"} ${sample} ${size} ${unit} ${without}`, ...spec };
}

/** A small picture for each role, whose noise level and not the slider decides ε: C/(target · rows in a bucket). */
export function multiples(f) {
  const expected = f.sample.sizes[Math.min(f.state.size, f.sample.sizes.length - 1)] / f.base.length;
  return f.data.roles.map(({ name, level, target }) => {
    const epsilon = f.unit.rows / (target * expected);
    const told = f.truth.map((count, bucket) => count + noise(f.state.draws[0][bucket], f.unit.rows / epsilon));
    const spec = {
      ...axes(f),
      key: `${f.state.sample} ${f.state.size} ${f.state.unit}`,
      label: `${name}: ε = ${show(epsilon)}`,
      range: null,
      layers: [{ type: "bars", kind: "bars told faint", values: told }, { ...through(f.truth, 0.02, f.total), kind: "line raw" }, { ...through(told, 0.02, f.total), kind: "line private" }],
    };
    return { name, level, epsilon, error: 100 * target, guess: belief(epsilon), spec };
  });
}

/** What stands in the text, by `data-say`. */
export function words(f) {
  const { epsilon, draws } = f.state;
  const spent = epsilon * draws.length;
  const rows = f.unit.rows;
  return {
    rows: f.sample.sizes[Math.min(f.state.size, f.sample.sizes.length - 1)].toLocaleString("en"),
    kind: f.real ? "of real taxi trips, which New York has published" : "synthetic and drawn for this page",
    open: f.real ? "these trips were published" : "these rows are synthetic",
    drawn: f.sample.sizes[f.state.size] > MOST_DOTS ? `; the first ${MOST_DOTS.toLocaleString("en")} are drawn` : "",
    one: one(f),
    person: one(f),
    where: `${show(centre(f, f.marked))}${f.sample.axis && ` ${f.sample.axis}`}`,
    theirs: rows === 1 ? "" : `. All of their ${rows} rows lie in the same bucket: that is the worst case`,
    buckets: String(f.base.length),
    sensitivity: many(rows),
    with: String(f.base[f.marked] + rows),
    lacking: String(f.base[f.marked]),
    ratio: show(Math.exp(epsilon), 3),
    right: `of 100 such guesses ${of100(rightGuesses(epsilon, rows))} are right`,
    bound: of100(belief(epsilon)),
    valued: of100(belief(2 * epsilon)),
    typical: show(typicalError(f.scale), 2),
    draws: draws.length === 1 ? `1 answer costs ε = ${show(epsilon)}` : `${draws.length} answers cost ε = ${show(spent)} together`,
    spent: `of 100 guesses at most ${of100(belief(spent))} are right`,
  };
}

/** What a marked range holds. */
export function reading(f) {
  if (!f.state.range) return "";
  const [from, to] = [Math.min(...f.state.range), Math.max(...f.state.range)];
  const edge = (bucket) => show(f.sample.low + (bucket / f.base.length) * (f.sample.high - f.sample.low), 4);
  const sum = (counts) => counts.slice(from, to + 1).reduce((all, count) => all + count, 0);
  const [truth, told] = [sum(f.truth), sum(f.told)];
  const off = told - truth;
  const usual = deviation(f.scale, to - from + 1) / (f.state.average ? Math.sqrt(f.answers.length) : 1);
  const share = truth ? ` (${show((100 * Math.abs(off)) / truth, 2)} %)` : "";
  return `${edge(from)} to ${edge(to + 1)}: raw ${show(truth, 6)}, released ${show(told, 6)}, error ${off > 0 ? "+" : off < 0 ? "−" : ""}${show(Math.abs(off), 4)}${share}; at least two of three such errors are within ± ${show(usual, 2)}`;
}
