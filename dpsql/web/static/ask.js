// The page Ask: an editor, the price of what is in it, the answer, and what was asked before.

import { Answer, copy } from "./asking/answer.js";
import { Editor } from "./asking/editor.js";
import { showBudget, showHistory } from "./asking/history.js";
import { Price, refusal } from "./asking/price.js";
import { element, showTables } from "./asking/tables.js";
import { call, Lost, Refused, renew } from "./asking/talk.js";

const get = (id) => document.getElementById(id);
const fields = () => ({ statement: editor.text, epsilon: get("epsilon").value.trim() });

const editor = new Editor(get("editor"), { changed: () => price.changed(), submit: () => ask() });
const price = new Price(get("price"), fields, priced);
const answer = new Answer();
price.write = write;

function write(statement) {
  editor.text = statement;
  editor.focus();
  get("editor").scrollIntoView({ block: "nearest" });
}

/** Say the price on the button, and the mistake at its place. */
function priced(told) {
  const refused = told?.state === "refused";
  editor.mark(refused && told.field !== "epsilon" ? told.place ?? null : null, told?.message);
  wrong("epsilon", refused && told.field === "epsilon" ? told.message : null);
  lost(told?.state === "lost" ? told.message : null);
  if (refused && told.field === "epsilon") get("price").replaceChildren();
  const free = told?.state === "public" || (told?.state === "priced" && told.left === "0");
  get("ask").textContent = free ? "Ask, free" : told?.state === "priced" ? `Ask, for ε = ${told.left}` : "Ask";
}

function wrong(id, message) {
  get(`${id}-error`).hidden = !message;
  get(`${id}-error`).textContent = message ?? "";
  get(id).toggleAttribute("aria-invalid", Boolean(message));
  if (message) get(id).setAttribute("aria-invalid", "true");
}

function lost(message, asked = false) {
  get("lost").hidden = !message;
  if (!message) return;
  const link = element("a", "Log in in another tab", { href: "/login", target: "_blank", rel: "noopener" });
  get("lost").replaceChildren(`${message} `, link, ", and go on here: what you wrote stays.", asked ? " If the question was charged, asking it again is free." : "");
}

let asking = false;

async function ask() {
  if (asking || !editor.text.trim()) return;
  const asked = fields();
  busy(true);
  try {
    const told = await call("answer", asked);
    lost(null);
    known(told.budget);
    await answer.show(told, asked);
    get("answer-title").focus({ preventScroll: true });
    get("answered").scrollIntoView({ block: "start" });
    price.changed(0);
  } catch (error) {
    failed(error);
  }
  busy(false);
  if (get("lost").hidden) await remembered();
  document.body.dataset.answered = Number(document.body.dataset.answered ?? 0) + 1;
}

function failed(error) {
  if (error instanceof Lost) {
    lost(error.message, true);
  } else if (error instanceof Refused) {
    const { told } = error;
    if (told.field === "epsilon") wrong("epsilon", told.message);
    else {
      get("price").replaceChildren(...refusal(told, write));
      editor.mark(told.place ?? null, told.message);
    }
  } else {
    throw error;
  }
}

function busy(now) {
  asking = now;
  get("ask").disabled = now;
  get("ask").classList.toggle("busy", now);
  get("stop").hidden = !now;
  get("answered").setAttribute("aria-busy", now);
}

function known(budget) {
  price.budget = budget;
  showBudget(budget);
}

async function remembered() {
  try {
    const told = await call("history");
    known(told.budget);
    showHistory(get("history"), told, write);
  } catch (error) {
    failed(error);
  }
}

/** An address has the name of a statement behind #, which no server is sent; it is written here, and never asked by itself. */
async function shared() {
  const name = location.hash.slice(1);
  if (!/^[0-9a-f]{32}$/.test(name)) return;
  try {
    write((await call("shared", { name })).statement);
  } catch (error) {
    failed(error instanceof Refused ? new Refused({ message: error.told.message, hint: error.told.hint }) : error);
  }
}

if (location.search) history.replaceState(null, "", location.pathname + location.hash);

async function share() {
  try {
    const { name } = await call("share", { statement: editor.text });
    history.replaceState(null, "", `#${name}`);
    await copy(get("link"), location.href);
  } catch (error) {
    failed(error);
  }
}

get("pay").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
get("epsilon").addEventListener("input", () => price.changed());
get("stop").addEventListener("click", () => call("stop").catch(failed));
get("link").addEventListener("click", share);
addEventListener("hashchange", shared);
document.addEventListener("visibilitychange", () => document.hidden || renew().then(() => lost(null)).catch(failed));
get("tables-box").open = matchMedia("(min-width: 56rem)").matches;

try {
  const told = await call("tables");
  known(told.budget);
  editor.know(told);
  showTables(get("tables"), told.tables, (name) => editor.insert(name));
  get("begin").replaceChildren(...told.questions.map(({ title, statement }) => {
    const button = element("button", title, { type: "button" });
    button.addEventListener("click", () => write(statement));
    return button;
  }));
  await shared();
  await remembered();
} catch (error) {
  failed(error);
}
document.body.dataset.done = 1;
