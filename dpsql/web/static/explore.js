// The page Explore: a built-in sample is redrawn at once; a real table is asked only when the button is pressed.

import { Chart } from "./chart.js";
import { ask, blank, complain, get, latest, percent, say, show, slide } from "./dom.js";

const chart = new Chart(get("chart"));
const choice = get("choice");
const box = get("epsilon");
const slider = get("slider");
const cap = Number(slider.dataset.cap);
const smoothing = get("smoothing");
let redraws = 0;
let together = 0;
let shown = null;

const real = () => choice.selectedOptions[0].dataset.real !== undefined;
const trip = () => choice.selectedOptions[0].dataset.unit !== undefined;
const unit = () => document.querySelector("input[name=unit]:checked").value;

/** Draw an answer with the smoothing that is chosen; both lines have the same, so what differs is noise. */
function draw(answer) {
  shown = answer;
  const [raw, line] = [answer.raw?.[smoothing.value], answer.private?.[smoothing.value]];
  const lines = [];
  if (raw) lines.push({ name: "raw", kind: "raw", ...raw });
  if (line) lines.push({ name: "private", kind: "private", ...line });
  // The raw line stays where it is when the noise is drawn again, unless the noise rises far above it.
  const peak = Math.max(1e-9, ...(line?.y ?? []), 1.2 * Math.max(0, ...(raw?.y ?? [])));
  chart.draw({
    label: `${answer.title}: ${lines.map((one) => one.name).join(" and ") || "no"} density, ε = ${answer.epsilon}`,
    x: { low: answer.low, high: answer.high, title: answer.axis || "value" },
    y: { low: 0, high: 1.05 * peak, title: "density" },
    lines,
    empty: "nothing is asked yet",
  });
  if (answer.distance) say("distance", `Distance of the lines: ${show(answer.distance[smoothing.value], 2)} (0 equal, 2 nothing in common)`);
}

function numbers(answer, spent, note) {
  say("scale", show(answer.scale));
  say("typical", `± ${show(answer.typical)}`);
  say("guess", percent(answer.guess));
  say("valued", ` “which of two values have they?” ${percent(answer.valued)}`);
  say("spent", spent);
  say("spent-note", note);
}

async function sample() {
  const fields = { sample: choice.value, unit: unit(), epsilon: box.value };
  const answer = await ask("/explore/sample", fields);
  redraws += 1;
  together += answer.epsilon;
  draw(answer);
  numbers(answer, show(answer.epsilon), redraws > 1 ? `${redraws} answers together: ${show(together)}` : "for this answer");
  const rows = answer.sensitivity === 1 ? "row" : "rows";
  say("sensitivity", `Sensitivity: one of them changes the counts by at most ${answer.sensitivity} ${rows}.`);
  say("about", "2,000 made-up values in 100 equal buckets over the declared range; the noise is drawn by the server, with the very mechanism that answers get.");
}

async function price() {
  const answer = await ask("/explore/price", { column: choice.value, epsilon: box.value });
  draw(answer);
  numbers(answer, "0", "nothing is asked yet");
  say("sensitivity", `Your role protects each ${get("units").dataset.protects}: at most ${answer.sensitivity} rows of one count.`);
  const price = `ε = ${show(answer.epsilon, 4)}`;
  say("before", answer.enough
    ? `Asking charges role ${answer.role} ${price}; ${answer.left} is left. The same question within an epoch is free, and has the same noise.`
    : `${price} is more than what role ${answer.role} has left, ${answer.left}. It is answered only if it was answered before in this epoch; then it is free.`);
  get("before").classList.toggle("bad", !answer.enough);
  say("statement", answer.statement);
  say("refresh", answer.enough ? `Ask, for ${price}` : "Ask again, if it was answered before");
  say("about", "The real records stay where they are: only the noisy counts of this statement reach this page, so there is no raw line.");
}

async function buy() {
  const asked = { column: choice.value, epsilon: box.value };
  say("after", "Asking: the records are being counted …");
  get("after").classList.remove("paid");
  const answer = await ask("/explore/ask", asked, { post: true });
  const free = Number(answer.charged) === 0;
  if (choice.value === asked.column && box.value === asked.epsilon) {
    draw(answer);
    numbers(answer, answer.charged, `${answer.left} left of role ${answer.role}`);
  }
  get("after").classList.add("paid");
  say("after", free
    ? `Charged nothing: this was answered before, and the noise is the same. ${answer.left} is left.`
    : `Charged ε = ${answer.charged} to role ${answer.role}; ${answer.left} is left.`);
}

/** Nothing that was true of another ε or another choice stays beside a complaint. */
function failed(error) {
  complain(["controls"], error);
  blank(["scale", "typical", "spent", "guess"], ["spent-note", "valued", "sensitivity", "distance", "before", "statement", "about"]);
  chart.clear("nothing is drawn until the fields make sense");
}

const update = latest(async () => {
  try {
    await (real() ? price() : sample());
    complain(["controls"], null);
  } catch (error) {
    failed(error);
  }
});

function chosen() {
  const asks = real();
  get("real").hidden = !asks;
  get("legend-raw").hidden = asks;
  get("segments").hidden = asks;
  get("distance").hidden = asks;
  for (const label of document.querySelectorAll("#segments span")) label.textContent = trip() ? label.dataset.trip : label.dataset.plain;
  say("refresh", asks ? "Ask" : "Refresh noise");
  say("after", "");
  slider.dataset.high = box.max = asks ? Math.min(cap, 10) : 10;
  if (Number(box.value) > Number(box.max)) box.value = box.max;
  place();
  [redraws, together] = [0, 0];
  update();
}

const place = slide(slider, box, update);
choice.addEventListener("change", chosen);
smoothing.addEventListener("change", () => shown && draw(shown));
get("units").addEventListener("change", update);

function busy(now) {
  get("refresh").disabled = now;
  get("refresh").classList.toggle("busy", now);
  get("controls").setAttribute("aria-busy", now);
}
get("controls").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!real()) {
    update();
    return;
  }
  busy(true);
  try {
    await buy();
    complain(["controls"], null);
  } catch (error) {
    say("after", "");
    complain(["controls"], error);
  }
  busy(false);
});
chosen();
