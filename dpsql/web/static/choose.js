// The page Choose: every number comes from the server, which uses the very formulas of `dpsql epsilon`.

import { Chart } from "./chart.js";
import { ask, blank, cells, complain, down, get, latest, percent, say, show, slide } from "./dom.js";

const ruleChart = new Chart(get("rule-chart"));
const studyChart = new Chart(get("study-chart"));
const probability = { low: 0, title: "probability", format: (value) => `${Number((100 * value).toPrecision(3))} %` };
const FIELDS = ["people", "naming", "membership", "value", "stay", "stay_unit", "period", "epsilon", "rows", "max_rows", "groups", "typical", "charts", "role", "protects"];
const FORMS = ["promises", "quality", "writing"];
const BELIEFS = [["named", "naming"], ["guess", "membership"], ["valued", "value"]];

const value = (id) => get(id).value;
const checked = (name) => [...document.querySelectorAll(`input[name=${name}]:checked`)].map((box) => box.value);
const NAMES = { naming: "re-identification", membership: "membership", value: "attribute" };
const named = (promise) => NAMES[promise] ?? promise;
const words = (names) => names.join(names.length > 2 ? ", " : " and ");

function curves(chart, answer, lines, marks, label, high = 1) {
  chart.draw({
    label,
    x: { low: 0, high: answer.x.at(-1), title: "ε" },
    y: { ...probability, high },
    lines: lines.map(([name, kind, key]) => ({ name, kind, x: answer.x, y: answer[key] })),
    marks: [...marks, { x: answer.epsilon, kind: "chosen", text: `ε = ${show(answer.epsilon)}` }],
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
  blank(["each", "named", "guess", "valued"], ["verdict", "each-note", "named-note", "guess-note", "valued-note", "yaml", "copied", "questions-of", "charts-of", "dashboard-verdict"]);
  get("verdict").className = "verdict";
  get("doubt").hidden = true;
  get("copy").disabled = true;
  ruleChart.clear("nothing is drawn until the fields make sense");
  get("dashboard-yaml").hidden = true;
  for (const id of ["milestones", "roles", "dashboard"]) get(id).tBodies[0].replaceChildren();
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
  ranked(answer.epsilon);
  get("plan_epsilon").placeholder = show(answer.epsilon);
  const often = answer.periods > 1;
  const period = get("period").value;
  say("each", answer.each);
  say("each-label", often ? `ε of the role’s budget, each ${period}` : "ε of the role’s budget");
  say("each-note", often ? `${show(answer.epsilon)} ÷ ${answer.periods}: a stay touches up to ${answer.periods} ${period}s` : "for good, it does not renew");
  for (const [id, promise] of BELIEFS) {
    say(id, percent(answer[id]));
    get(id).className = answer.epsilon <= answer.limits[promise] ? "good" : "bad";
    const binds = answer.binding.includes(promise) ? ", this one limits ε" : "";
    say(`${id}-note`, `promise ${percent(answer.needs[promise])}: ε ≤ ${down(answer.limits[promise])}${binds}`);
  }
  say("yaml", answer.yaml ?? "Nothing to copy: this ε breaks a promise.");
  get("copy").disabled = !answer.yaml;
  curves(ruleChart, answer,
    [["named", "private", "naming"], ["membership", "second", "membership"], ["value", "third", "value"]],
    Object.entries(answer.needs).map(([promise, y]) => ({ y, kind: "need", text: named(promise) })),
    `Risk by ε: at ε = ${show(answer.epsilon)} re-identification succeeds with ${percent(answer.named)}, membership inference with ${percent(answer.guess)}, attribute inference with ${percent(answer.valued)}`);
  milestones(answer, often, period);
  quality(answer, often, period);
  dashboard(answer.dashboard, often ? `, each ${period}` : ", ever");
  get("roles").tBodies[0].replaceChildren(...answer.roles.map(standing));
}

function judged(answer) {
  const stay = get("stay_unit").value === "good" ? "for good" : `for ${value("stay")} ${value("stay_unit")}`;
  const people = answer.binding.includes("naming") ? "" : `; re-identification alone would allow ε = ${down(answer.limits.naming)}`;
  get("verdict").className = `verdict ${answer.keeps ? "good" : "bad"}`;
  const broken = Object.keys(answer.limits).filter((promise) => answer.epsilon > answer.limits[promise]);
  say("verdict", answer.keeps
    ? `Keeps all three promises to somebody who is there ${stay}. Limited by ${words(answer.binding.map(named))}${people}.`
    : `Too much: it breaks the promise of ${words(broken.map(named))} for somebody who is there ${stay}. The largest that fits is ${down(answer.largest)}.`);
}

function milestones(answer, often, period) {
  get("milestones").tBodies[0].replaceChildren(...answer.milestones.map((row) => {
    const stay = !often ? "all of it" : row.periods === answer.periods ? `${row.periods} ${period}s: the stay` : row.periods > answer.periods ? `${row.periods}: twice the stay` : row.periods;
    const made = cells(get("milestones"), [stay, show(row.spent), percent(row.named), percent(row.guess), percent(row.valued)]);
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

/** The same questions where ε adds up, and where ρ is counted. */
function dashboard({ compared, in_groups: inGroups, verdict, yaml }, often) {
  const error = (part) => (part <= 1 ? `${show(100 * part)} %` : "only noise");
  say("charts-of", often);
  say("spread-of", `a person in ${inGroups > 1 ? inGroups.toLocaleString("en") : "many"} groups`);
  get("dashboard").tBodies[0].replaceChildren(...compared.map(({ name, pure, of_rho: ofRho, spread, nearer }) =>
    cells(get("dashboard"), [name.toUpperCase(), error(pure), error(ofRho), spread === null ? "the same" : error(spread), show(nearer)])));
  say("dashboard-verdict", verdict);
  get("dashboard-yaml").hidden = !yaml;
  say("dashboard-yaml", yaml);
}

function standing(role) {
  const often = role.by_dataset ? "the data set’s own budget" : role.periods === null ? "without end" : role.periods > 1 ? `${role.periods} renewals` : "once";
  const verdict = role.kept ? "kept" : "play" in get("roles").dataset ? "for play" : `broken: ${words(role.broken.map(named))}`;
  const row = cells(get("roles"), [role.name, role.budget, role.periods === null && !role.by_dataset ? `∞ (${often})` : `${show(role.spent)} (${often})`, percent(role.named), percent(role.guess), percent(role.valued), verdict]);
  row.lastChild.className = role.kept ? "good" : "play" in get("roles").dataset ? "" : "bad";
  return row;
}

const KINDS = ["private", "second", "third", "fourth"];
const STUDY = ["values", "query", "missing", "distance", "study_risk", "study_epsilon", "seen", "prior"];

const study = latest(async () => {
  try {
    const answer = await ask("/choose/study", Object.fromEntries(STUDY.map((id) => [id, value(id)])));
    complain(["study"], null);
    studied(answer);
  } catch (error) {
    complain(["study"], error);
    for (const id of ["study-legend", "beliefs"]) get(id).replaceChildren();
    get("bounds").tBodies[0].replaceChildren();
    studyChart.clear("nothing is drawn until the fields make sense");
  }
});

/** All groups of people in one figure: the same axes, a colour each, the upper bound dashed. */
function studied(answer) {
  get("bounds").tBodies[0].replaceChildren(...answer.universes.map((one) => {
    const made = cells(get("bounds"), [one.name, percent(one.tight_now), down(one.epsilon_tight), percent(one.upper_now), down(one.epsilon_upper), show(one.noise_sensitivity, 4), show(one.world_sensitivity, 4)]);
    made.className = one.tight_now <= answer.requirement ? "" : "bad";
    return made;
  }));
  const lines = answer.universes.flatMap((one, place) => [
    { name: `${one.name}, upper bound`, kind: `${KINDS[place]} upper`, x: answer.x, y: one.upper },
    { name: `${one.name}, tight bound`, kind: KINDS[place], x: answer.x, y: one.tight },
  ]);
  studyChart.draw({
    label: answer.universes.map((one) => `${one.name}: at ε = ${show(answer.epsilon)} at most ${percent(one.tight_now)}`).join("; "),
    x: { low: 0, high: answer.x.at(-1), title: "ε" },
    y: { ...probability, high: Math.min(1, 1.2 * Math.max(answer.requirement, ...answer.universes.flatMap((one) => one.upper))) },
    lines,
    marks: [{ y: answer.requirement, kind: "need", text: "requirement" }, { x: answer.epsilon, kind: "chosen", text: `ε = ${show(answer.epsilon)}` }],
  });
  get("study-legend").replaceChildren(...[...lines, { name: "requirement", kind: null }].map(({ name, kind }) => {
    const item = document.createElement("li");
    item.innerHTML = '<svg width="30" height="8" aria-hidden="true"><line x1="0" x2="30" y1="4" y2="4"/></svg>';
    item.querySelector("line").setAttribute("class", kind ? `line ${kind}` : "mark need");
    item.append(name);
    return item;
  }));
  get("beliefs").replaceChildren(...answer.universes.map(believed));
}

/** After the answer that was seen: a bar for each world, and a mark where the prior was. */
function believed(one) {
  const box = document.createElement("table");
  box.className = "beliefs";
  box.innerHTML = `<caption></caption><thead><tr><th scope="col">missing</th><th scope="col">answer</th><th scope="col">before</th><th scope="col">after</th><th scope="col" class="wide">probability</th></tr></thead><tbody></tbody>`;
  box.caption.textContent = `${one.name}: the answer ${show(one.seen, 6)} is seen. The likeliest world gets ${percent(one.risk)}; the largest gain over the prior is ${percent(one.confidence)}.${one.more ? ` ${one.more.toLocaleString("en")} less likely worlds are not shown.` : ""}`;
  box.tBodies[0].replaceChildren(...one.worlds.map((world) => {
    const row = document.createElement("tr");
    row.innerHTML = `<th scope="row"></th><td></td><td></td><td></td><td class="wide"><svg class="bar" aria-hidden="true"><rect class="track" width="100%" height="100%" rx="4"/><rect class="fill" height="100%" rx="4"/><rect class="before" width="2" height="100%"/></svg></td>`;
    [world.missing, show(world.answer, 5), percent(world.prior), percent(world.posterior)].forEach((text, at) => { row.cells[at].textContent = text; });
    row.querySelector(".fill").setAttribute("width", `${(100 * world.posterior).toFixed(2)}%`);
    row.querySelector(".before").setAttribute("x", `${(100 * world.prior).toFixed(2)}%`);
    return row;
  }));
  return box;
}

/** The chosen ε in its place among those that others have published. */
function ranked(epsilon) {
  const mine = get("mine");
  say("mine-epsilon", show(epsilon));
  const after = [...mine.parentNode.querySelectorAll("[data-epsilon]")].find((row) => Number(row.dataset.epsilon) >= epsilon);
  mine.parentNode.insertBefore(mine, after ?? null);
}

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

/** Explain the questions of a month; pressed, and not while one types, since each is sent to the server. */
async function planned() {
  try {
    const answer = await ask("/choose/plan", { questions: value("questions"), plan_epsilon: value("plan_epsilon") || value("epsilon"), people: value("people") }, { post: true });
    complain(["planning"], null);
    say("planned-risk", `All of them: membership inference succeeds with at most ${percent(answer.guess)}, attribute inference with ${percent(answer.valued)}, re-identification with ${percent(answer.named)}.`);
    get("planned").hidden = false;
    get("planned").tBodies[0].replaceChildren(...answer.questions.map((one) => {
      const made = cells(get("planned"), [one.statement, one.epsilon === null ? "none" : one.capped ? `${show(Number(one.epsilon))}; your role pays ${show(Number(one.capped))} at most` : show(Number(one.epsilon)), errs(one)]);
      made.className = one.refused ? "bad" : "";
      return made;
    }));
  } catch (error) {
    complain(["planning"], error);
    say("planned-risk", "");
    get("planned").hidden = true;
  }
  document.body.dataset.done = Number(document.body.dataset.done ?? 0) + 1;
}

function errs({ refused, hint, outputs, capped }) {
  if (refused) return hint ? `${refused}. ${hint}` : refused;
  if (!outputs) return "costs nothing, and has no error";
  const each = outputs.map(({ name, margins, unit, relative, given, rows }) => {
    if (margins === null) return `${name}: mostly NULL in groups of far fewer than ${rows.toLocaleString("en")} rows`;
    const share = relative === null ? "" : `, about ${show(100 * relative, 2)} %`;
    return `${name}: ± ${margins.map((margin) => show(margin)).join(" to ")}${unit && ` ${unit.replace(/,$/, "")}`}${share}${given && ` (for ${given})`}`;
  });
  return `${each.join("; ")}${capped ? `, at ε = ${show(Number(capped))}` : ""}`;
}

/** Fill in what was asked in the last month; a comment at a statement's end must not swallow the semicolon. */
async function lately() {
  try {
    const { questions, said } = await ask("/choose/lately", {});
    get("questions").value = questions.map((one) => `${one}${one.includes("--") ? "\n" : ""};`).join("\n");
    say("taken", said);
    complain(["planning"], null);
  } catch (error) {
    say("taken", "");
    complain(["planning"], error);
  }
}

const places = {};
for (const slider of document.querySelectorAll("input[data-for]")) {
  const box = get(slider.dataset.for);
  places[box.id] = slide(slider, box, { study, planning: () => {} }[box.form.id] ?? rule);
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
get("planning").addEventListener("submit", planned);
get("lately").addEventListener("click", lately);
get("copy").addEventListener("click", copy);
get("largest").addEventListener("click", () => {
  get("epsilon").value = "";
  rule();
});
staying();
rule();
study();
