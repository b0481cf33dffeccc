// The page Explore: a story in steps, beside a picture that follows the scrolling and every control. The address has all choices.

import { ask, get, say, show, slide } from "./dom.js";
import { rightGuesses, typicalError, uniforms } from "./noise.js";
import { Picture } from "./picture.js";
import { facts, multiples, of100, picture, reading, words } from "./story.js";
import { Yours } from "./yours.js";

const inline = get("story");
const data = inline ? JSON.parse(inline.textContent) : await ask("/explore/story", {});
const sections = [...document.querySelectorAll(".step")];
const buttons = [...document.querySelectorAll("[data-go]")];
const MOST_DRAWS = 500;
const FIRST = { step: "data", sample: "normal", size: 3, unit: "row", epsilon: data.epsilon.first, smoothing: "light", without: false, average: false };
const state = { ...FIRST, draws: [uniforms(data.buckets)], range: null };

// The address: what is not as at first stands after the #.
const given = new URLSearchParams(location.hash.slice(1));
const among = (name, allowed) => (allowed.includes(given.get(name)) ? given.get(name) : FIRST[name]);
state.step = among("step", sections.map(({ id }) => id));
state.sample = among("sample", data.samples.map(({ name }) => name));
state.unit = among("unit", data.units.map(({ name }) => name));
state.smoothing = among("smoothing", Object.keys(data.smoothings));
state.size = Math.min(Math.max(Math.round(Number(given.get("size") ?? FIRST.size)) || 0, 0), 7);
state.without = given.get("without") === "true";
const inside = (epsilon) => epsilon >= data.epsilon.low && epsilon <= data.epsilon.high;
if (inside(Number(given.get("epsilon")))) state.epsilon = Number(given.get("epsilon"));

let later = null;
function remember() {
  clearTimeout(later);
  later = setTimeout(() => {
    const kept = Object.keys(FIRST).filter((name) => name !== "average" && state[name] !== FIRST[name]).map((name) => [name, state[name]]);
    if (yours?.column) kept.push(["column", yours.column]);
    const text = new URLSearchParams(kept).toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname);
  }, 250);
}

const stage = new Picture(get("chart"), { picked: (range) => change({ range }) });
const panels = data.roles.map(({ name, level }) => {
  const box = document.createElement("figure");
  box.innerHTML = '<div><h3></h3><figcaption></figcaption></div><div class="chart small"></div>';
  box.querySelector("h3").textContent = `${name[0].toUpperCase()}${name.slice(1)}, ${level} noise`;
  get("multiples").append(box);
  return { picture: new Picture(box.querySelector(".chart"), { small: true }), text: box.querySelector("figcaption") };
});

function legend(entries) {
  const text = JSON.stringify(entries);
  if (legend.shown === text) return;
  legend.shown = text;
  get("legend").replaceChildren(...entries.map(([kind, name]) => {
    const item = document.createElement("li");
    item.innerHTML = '<svg width="26" height="12" aria-hidden="true"><path/></svg>';
    const line = /line|ghosts|seen/.test(kind);
    const dot = /dots|theirs/.test(kind);
    item.querySelector("path").setAttribute("d", line ? "M1,6H25" : dot ? "M13,6h0" : "M3,1H23V11H3Z");
    item.querySelector("path").setAttribute("class", kind);
    item.append(name);
    return item;
  }));
}

function draw() {
  const f = facts(state, data);
  const spec = state.step === "yours" && yours ? yours.picture(data, state) : picture(f);
  stage.draw(spec);
  legend(spec.legend);
  const said = words(f);
  for (const place of document.querySelectorAll("[data-say]")) if (place.textContent !== said[place.dataset.say]) place.textContent = said[place.dataset.say];
  const scales = state.step === "yours" && yours ? yours.counted.map((rows) => rows / state.epsilon) : [f.scale];
  say("typical", `± ${scales.map((scale) => show(typicalError(scale), 2)).join(" to ")}`);
  say("guess", of100(rightGuesses(state.epsilon, state.step === "yours" && yours ? yours.rows : f.unit.rows)));
  say("read", state.step === "yours" && yours ? yours.reading(state) : spec.buckets ? reading(f) : "");
  const distance = spec.distance ?? (draw.first ? picture({ ...f, state: { ...state, step: "smoothing" } }).distance : undefined);
  if (distance !== undefined) say("distance", show(distance, 2));
  say("rows-said", said.rows);
  get("rows").setAttribute("aria-valuetext", `${said.rows} rows`);
  say("unit-note", `One of them changes the counts by at most ${said.sensitivity}${f.real ? "; who rode is not published, so that is what an owner would declare" : ""}.`);
  for (const label of document.querySelectorAll("#units span[data-plain]")) label.textContent = f.trips ? label.dataset.trip : label.dataset.plain;
  if (state.step === "roles" || draw.first) {
    multiples(f).forEach(({ epsilon, error, guess, spec: small }, at) => {
      panels[at].picture.draw(small);
      panels[at].text.textContent = `ε = ${show(epsilon)}: errs by ${show(error)} % of a usual bucket. Of 100 guesses at most ${of100(guess)} are right.`;
      panels[at].text.className = guess > 0.95 ? "bad" : "";
    });
  }
  draw.first = false;
}

draw.first = true;

let due = 0;
let quiet = null;
/** Draw once a frame, however many changes there were; tell a screen reader when they have come to rest. */
function change(what = {}) {
  Object.assign(state, what);
  if (!due) due = requestAnimationFrame(() => {
    due = 0;
    draw();
    document.body.dataset.done = Number(document.body.dataset.done ?? 0) + 1;
  });
  remember();
  clearTimeout(quiet);
  quiet = setTimeout(() => say("told", `ε = ${show(state.epsilon)}: noise of ${get("typical").textContent} rows; ${get("guess").textContent} of 100 guesses are right.`), 600);
}

const yours = get("asking") ? new Yours(change, given.get("column")) : null;

// Controls: each changes one choice.
get("choice").value = state.sample;
get("choice").addEventListener("input", () => change({ sample: get("choice").value, range: null }));
get("rows").value = state.size;
get("rows").addEventListener("input", () => change({ size: Number(get("rows").value) }));
get("smoothing-width").value = state.smoothing;
get("smoothing-width").addEventListener("input", () => change({ smoothing: get("smoothing-width").value }));
for (const box of document.querySelectorAll("input[name=unit]")) {
  box.checked = box.value === state.unit;
  box.addEventListener("input", () => change({ unit: box.value }));
}
for (const name of ["without", "average"]) {
  get(name).checked = state[name];
  get(name).addEventListener("input", () => change({ [name]: get(name).checked }));
}
const again = (count) => change({ draws: [...Array.from({ length: count }, () => uniforms(data.buckets)), ...state.draws].slice(0, MOST_DRAWS) });
get("again").addEventListener("click", () => again(1));
get("more").addEventListener("click", () => again(20));

const box = get("epsilon");
const slider = get("slider");
function priced() {
  const epsilon = Number(box.value.replace(",", "."));
  const high = state.step === "yours" && yours ? Math.min(Number(slider.dataset.cap), data.epsilon.high) : data.epsilon.high;
  const wrong = !(epsilon >= data.epsilon.low && epsilon <= high);
  get("dial-error").hidden = !wrong;
  say("dial-error", wrong ? `ε must be a number from ${data.epsilon.low} to ${show(high, 6)}${high < data.epsilon.high ? ", the most that one question of your role may cost" : ""}.` : "");
  box.toggleAttribute("aria-invalid", wrong);
  if (wrong) return;
  // What was averaged at another ε is another price.
  change({ epsilon });
  yours?.changed(state);
}
const moved = slide(slider, box, priced);
function set(epsilon) {
  box.value = String(Number(epsilon.toPrecision(3)));
  moved();
  priced();
}
for (const button of document.querySelectorAll("[data-epsilon]")) button.addEventListener("click", () => set(Number(button.dataset.epsilon)));
for (const form of document.querySelectorAll("main form")) form.addEventListener("submit", (event) => event.preventDefault());

// Steps: what crosses the middle of the window is told; keys and buttons scroll there.
function enter(id) {
  if (state.step === id && enter.done) return;
  enter.done = true;
  for (const button of buttons) {
    if (button.dataset.go === id) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
  for (const section of sections) section.classList.toggle("now", section.id === id);
  change({ step: id, range: null });
  if (id === "yours" && yours) {
    if (state.epsilon > Number(slider.dataset.cap)) set(Number(slider.dataset.cap));
    yours.changed(state);
  }
}
function go(id, focus = true) {
  enter(id);
  get(id).scrollIntoView({ block: "start", behavior: "instant" });
  if (focus) get(`${id}-title`).focus({ preventScroll: true });
}
for (const button of buttons) button.addEventListener("click", () => go(button.dataset.go));
document.addEventListener("keydown", (event) => {
  const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!move || event.target.closest("input, select, textarea, pre, .chart, [contenteditable]") || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const next = sections[sections.findIndex(({ id }) => id === state.step) + move];
  if (!next) return;
  event.preventDefault();
  go(next.id);
});
const low = matchMedia("(max-width: 56rem)");
// Where the picture is above the text, headings stop below it.
const figure = document.querySelector(".stage");
new ResizeObserver(() => document.documentElement.style.setProperty("--stage", `${figure.offsetHeight}px`)).observe(figure);
let watch = null;
function follow() {
  watch?.disconnect();
  watch = new IntersectionObserver((seen) => {
    const now = seen.filter(({ isIntersecting }) => isIntersecting).at(-1);
    if (now) enter(now.target.id);
  }, { rootMargin: low.matches ? "-72% 0px -27% 0px" : "-45% 0px -54% 0px" });
  for (const section of sections) watch.observe(section);
}
set(state.epsilon);
if (given.get("step")) go(state.step, false);
else enter(state.step);
low.addEventListener("change", follow);
requestAnimationFrame(follow);
