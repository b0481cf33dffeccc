// The page Choose: every number comes from the server, which uses the very formulas of `dpsql epsilon`.

import { Chart } from "./chart.js";
import { ask, complain, get, latest, percent, say, show, slide } from "./dom.js";

const ruleChart = new Chart(get("rule-chart"));
const studyChart = new Chart(get("study-chart"));
const probability = { low: 0, title: "probability", format: (value) => `${Number((100 * value).toPrecision(3))} %` };
let largest = null;

const value = (id) => get(id).value;
const share = (id) => String(Number((Number(value(id)) / 100).toPrecision(12)));
const noise = () => document.querySelector("input[name=noise]:checked").value;

function curves(chart, answer, lines, marks, label, high = 1) {
  chart.draw({
    label,
    x: { low: 0, high: answer.x.at(-1), title: "ε" },
    y: { ...probability, high },
    lines: lines.map(([name, kind, key]) => ({ name, kind, x: answer.x, y: answer[key] })),
    marks: [...marks, { x: answer.epsilon, kind: "chosen", text: `ε = ${show(answer.epsilon, 4)}` }],
  });
}

const rule = latest(async () => {
  const fields = {
    people: Math.round(Number(value("people"))), risk: share("risk"), membership: share("membership"), epsilon: value("epsilon"),
    rows: value("rows"), max_rows: value("max_rows"), groups: value("groups"), noise: noise(),
    role: value("role"), protects: value("protects"), period: value("period"),
  };
  try {
    const answer = await ask("/choose/rule", fields);
    complain("error", null);
    ruled(answer);
  } catch (error) {
    complain("error", error);
  }
});

function ruled(answer) {
  largest = answer.largest;
  if (value("epsilon") === "") {
    get("epsilon").value = answer.epsilon;
    places.epsilon();
  }
  const fits = answer.epsilon <= answer.largest;
  say("chosen", show(answer.epsilon, 5));
  say("verdict", fits ? "within both limits" : `too much: the largest that fits is ${show(answer.largest, 5)}`);
  get("verdict").className = fits ? "good" : "bad";
  say("named", percent(answer.named));
  say("named-note", `limit ${value("risk")} %: ε ≤ ${show(answer.naming_epsilon, 5)}`);
  say("guess", percent(answer.guess));
  say("guess-note", `limit ${value("membership")} %: ε ≤ ${show(answer.membership_epsilon, 5)}`);
  say("yaml", answer.yaml);
  curves(ruleChart, answer,
    [["named", "private", "naming"], ["guess", "second", "membership"]],
    [{ y: Number(share("risk")), kind: "need", text: "naming" }, { y: Number(share("membership")), kind: "need", text: "membership" }],
    `Risk by ε: at ε = ${show(answer.epsilon, 4)} one person is named with ${percent(answer.named)}, a 50/50 guess becomes ${percent(answer.guess)}`);
  for (const level of answer.levels) fill(level);
  get("renewals").replaceChildren(...answer.renewals.map(({ periods, epsilon, named, guess }) => {
    const row = document.createElement("tr");
    for (const text of [periods, show(epsilon, 5), percent(named), percent(guess)]) row.insertCell().textContent = text;
    return row;
  }));
}

function fill(level) {
  const cells = {
    target: percent(level.target),
    epsilon: show(level.epsilon),
    error: level.error > 1 ? "more than the count itself" : percent(level.error),
    questions: level.questions.toLocaleString("en"),
  };
  for (const [name, text] of Object.entries(cells)) {
    document.querySelector(`[data-level=${level.name}] [data-cell=${name}]`).textContent = text;
  }
}

const study = latest(async () => {
  const fields = { values: value("values"), query: value("query"), risk: share("study-risk"), epsilon: value("study-epsilon") };
  try {
    const answer = await ask("/choose/study", fields);
    complain("study-error", null);
    say("tight", percent(answer.tight_now));
    say("tight-note", `requirement met for ε ≤ ${show(answer.epsilon_tight, 6)}`);
    say("upper", percent(answer.upper_now));
    say("upper-note", `requirement met for ε ≤ ${show(answer.epsilon_upper, 6)}`);
    say("deltas", `${show(answer.noise_sensitivity, 4)}, ${show(answer.world_sensitivity, 4)}`);
    get("tight").className = answer.tight_now <= answer.requirement ? "good" : "bad";
    curves(studyChart, answer,
      [["upper", "second", "upper"], ["tight", "private", "tight"]],
      [{ y: answer.requirement, kind: "need", text: "requirement" }],
      `Disclosure risk by ε: at ε = ${show(answer.epsilon)} at most ${percent(answer.tight_now)}`,
      Math.min(1, 1.2 * Math.max(answer.requirement, ...answer.upper)));
  } catch (error) {
    complain("study-error", error);
  }
});

async function copy() {
  const text = get("yaml").textContent;
  try {
    await navigator.clipboard.writeText(text);
    say("copied", "Copied.");
  } catch {
    getSelection().selectAllChildren(get("yaml"));
    say("copied", "Selected: press Ctrl-C to copy.");
  }
}

const places = {};
for (const slider of document.querySelectorAll("input[data-for]")) {
  const box = get(slider.dataset.for);
  places[box.id] = slide(slider, box, box.form.id === "study" ? study : rule);
}
for (const form of ["rule", "quality", "writing"]) get(form).addEventListener("input", rule);
get("study").addEventListener("input", study);
for (const form of document.querySelectorAll("main form")) form.addEventListener("submit", (event) => event.preventDefault());
get("copy").addEventListener("click", copy);
get("largest").addEventListener("click", () => {
  get("epsilon").value = largest;
  places.epsilon();
  rule();
});
rule();
study();
