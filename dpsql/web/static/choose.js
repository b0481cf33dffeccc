// The page Choose: every number comes from the server, which uses the very formulas of `dpsql epsilon`.

import { Chart } from "./chart.js";
import { ask, blank, cells, complain, get, latest, percent, say, show, slide } from "./dom.js";

const ruleChart = new Chart(get("rule-chart"));
const studyChart = new Chart(get("study-chart"));
const probability = { low: 0, title: "probability", format: (value) => `${Number((100 * value).toPrecision(3))} %` };
const FIELDS = ["people", "naming", "membership", "value", "stay", "stay_unit", "period", "epsilon", "rows", "max_rows", "groups", "typical", "role", "protects"];
const FORMS = ["promises", "quality", "writing"];
const BELIEFS = [["named", "naming"], ["guess", "membership"], ["valued", "value"]];

const value = (id) => get(id).value;
const checked = (name) => [...document.querySelectorAll(`input[name=${name}]:checked`)].map((box) => box.value);
const words = (names) => names.join(names.length > 2 ? ", " : " and ");

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
  const fields = Object.fromEntries(FIELDS.map((id) => [id, value(id)]));
  try {
    const answer = await ask("/choose/rule", { ...fields, noise: checked("noise")[0], statistics: checked("statistic").join() });
    complain(FORMS, null);
    if (fields.epsilon === "") largest(answer.epsilon);
    ruled(answer);
  } catch (error) {
    complain(FORMS, error);
    unruled();
  }
});

/** Nothing that was true of other fields stays beside a complaint. */
function unruled() {
  blank(["each", "named", "guess", "valued"], ["verdict", "each-note", "named-note", "guess-note", "valued-note", "yaml", "copied", "questions-of"]);
  get("verdict").className = "verdict";
  get("doubt").hidden = true;
  get("copy").disabled = true;
  ruleChart.clear("nothing is drawn until the fields make sense");
  for (const id of ["milestones", "roles"]) get(id).tBodies[0].replaceChildren();
  for (const cell of document.querySelectorAll("#statistics td")) cell.textContent = "–";
}

/** Write the ε that was reckoned with where none was given, unless somebody is about to type one. */
function largest(epsilon) {
  get("epsilon").placeholder = epsilon;
  if (value("epsilon") !== "" || document.activeElement === get("epsilon")) return;
  get("epsilon").value = epsilon;
  places.epsilon();
}

function ruled(answer) {
  judged(answer);
  const often = answer.periods > 1;
  const period = get("period").value;
  say("each", answer.each);
  say("each-label", often ? `ε of the role’s budget, each ${period}` : "ε of the role’s budget");
  say("each-note", often ? `${show(answer.epsilon, 5)} ÷ ${answer.periods}: a stay touches up to ${answer.periods} ${period}s` : "for good, it does not renew");
  for (const [id, promise] of BELIEFS) {
    say(id, percent(answer[id]));
    get(id).className = answer.epsilon <= answer.limits[promise] ? "good" : "bad";
    const binds = answer.binding.includes(promise) ? ", this one binds" : "";
    say(`${id}-note`, `promise ${percent(answer.needs[promise])}: ε ≤ ${show(answer.limits[promise], 5)}${binds}`);
  }
  say("yaml", answer.yaml ?? "Nothing to copy: this ε breaks a promise.");
  get("copy").disabled = !answer.yaml;
  curves(ruleChart, answer,
    [["named", "private", "naming"], ["membership", "second", "membership"], ["value", "third", "value"]],
    Object.entries(answer.needs).map(([text, y]) => ({ y, kind: "need", text })),
    `Risk by ε: at ε = ${show(answer.epsilon, 4)} one person is named with ${percent(answer.named)}, a guess of membership becomes ${percent(answer.guess)}, of a value ${percent(answer.valued)}`);
  milestones(answer, often, period);
  quality(answer, often, period);
  get("roles").tBodies[0].replaceChildren(...answer.roles.map(standing));
}

function judged(answer) {
  const stay = get("stay_unit").value === "good" ? "for good" : `for ${value("stay")} ${value("stay_unit")}`;
  const people = answer.binding.includes("naming") ? "" : ` People do not decide here: naming alone would allow ε = ${show(answer.limits.naming, 5)}.`;
  get("verdict").className = `verdict ${answer.keeps ? "good" : "bad"}`;
  const broken = Object.keys(answer.limits).filter((promise) => answer.epsilon > answer.limits[promise]);
  say("verdict", answer.keeps
    ? `Keeps all three promises to somebody who is there ${stay}. What binds: ${words(answer.binding)}.${people}`
    : `Too much: it breaks ${words(broken)} for somebody who is there ${stay}. The largest that fits is ${show(answer.largest, 5)}.`);
}

function milestones(answer, often, period) {
  get("milestones").tBodies[0].replaceChildren(...answer.milestones.map((row) => {
    const stay = !often ? "all of it" : row.periods === answer.periods ? `${row.periods} ${period}s: the stay` : row.periods > answer.periods ? `${row.periods}: twice the stay` : row.periods;
    const made = cells(get("milestones"), [stay, show(row.spent, 5), percent(row.named), percent(row.guess), percent(row.valued)]);
    made.className = row.kept ? "" : "bad";
    return made;
  }));
}

function quality(answer, often, period) {
  get("doubt").hidden = !answer.doubt;
  say("doubt", answer.doubt ? `Is this right? ${answer.doubt}.` : "");
  say("questions-of", often ? `, each ${period}` : ", ever");
  for (const [level, target] of Object.entries(answer.targets)) document.querySelector(`[data-target=${level}]`).textContent = percent(target);
  for (const { name, epsilon, error, of, answered, questions, above_level: above } of answer.statistics) {
    const none = name === "median" ? "mostly NULL: too few rows, tick it for more ε" : "only noise";
    const texts = {
      epsilon: show(epsilon),
      error: answered ? `${show(100 * error)} % ${of}${above ? `; by SET dpsql.epsilon = '${epsilon}'` : ""}` : none,
      questions: answered ? questions.toLocaleString("en") : "–",
    };
    for (const [cell, text] of Object.entries(texts)) document.querySelector(`[data-output=${name}] [data-cell=${cell}]`).textContent = text;
  }
}

function standing(role) {
  const often = role.by_dataset ? "the data set’s own budget" : role.periods === null ? "without end" : role.periods > 1 ? `${role.periods} renewals` : "once";
  const verdict = role.kept ? "kept" : `broken: ${words(role.broken)}`;
  const row = cells(get("roles"), [role.name, role.budget, role.periods === null && !role.by_dataset ? `∞ (${often})` : `${show(role.spent, 5)} (${often})`, percent(role.named), percent(role.guess), percent(role.valued), verdict]);
  row.lastChild.className = role.kept ? "good" : "bad";
  return row;
}

const study = latest(async () => {
  const fields = Object.fromEntries(["values", "query", "study_risk", "study_epsilon"].map((id) => [id, value(id)]));
  try {
    const answer = await ask("/choose/study", fields);
    complain(["study"], null);
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
    complain(["study"], error);
    blank(["tight", "upper", "deltas"], ["tight-note", "upper-note"]);
    studyChart.clear("nothing is drawn until the fields make sense");
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
function staying() {
  get("stay").hidden = value("stay_unit") === "good";
}
get("stay_unit").addEventListener("change", staying);
for (const form of FORMS) get(form).addEventListener("input", () => {
  say("copied", "");
  rule();
});
get("study").addEventListener("input", study);
for (const form of document.querySelectorAll("main form")) form.addEventListener("submit", (event) => event.preventDefault());
get("copy").addEventListener("click", copy);
get("largest").addEventListener("click", () => {
  get("epsilon").value = "";
  rule();
});
staying();
rule();
study();
