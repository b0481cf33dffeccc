// The price before the click. When one pauses the statement is explained, which reads nothing and costs nothing; one at a time.

import { around } from "./digits.js";
import { element } from "./tables.js";
import { call, Lost, Refused } from "./talk.js";

const PAUSE = 450; // milliseconds
const LATER = 900; // while another tab of this visit has one explained

export class Price {
  /** `fields()` has what is written; `told(price)` is called for each price, with null while it is not known. */
  constructor(place, fields, told) {
    this.place = place;
    this.fields = fields;
    this.told = told;
    this.asked = null;
    this.budget = null;
  }

  /** The text is another: ask for its price after a pause. */
  changed(pause = PAUSE) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.explain(), pause);
    this.told(null);
  }

  async explain() {
    const fields = this.fields();
    const key = JSON.stringify(fields);
    if (this.running) {
      this.again = true;
      return;
    }
    if (!fields.statement.trim()) {
      this.place.replaceChildren();
      this.told({ state: "empty" });
      return;
    }
    this.running = true;
    try {
      const told = await call("plan", fields);
      if (told.state === "busy") this.changed(LATER);
      else if (key === JSON.stringify(this.fields())) this.show(told);
    } catch (error) {
      if (error instanceof Refused) this.show({ state: "refused", ...error.told });
      else if (!(error instanceof Lost)) throw error;
      else this.told({ state: "lost", message: error.message });
    } finally {
      this.running = false;
    }
    if (this.again) {
      this.again = false;
      this.changed(0);
    }
    document.body.dataset.priced = Number(document.body.dataset.priced ?? 0) + 1;
  }

  show(told) {
    this.shown = told;
    this.place.replaceChildren(...this.lines(told));
    this.told(told);
  }

  lines(told) {
    if (told.state === "public") return [line("good", "Free: this reads no protected table.")];
    if (told.state === "refused") return refusal(told, this.write);
    return priced(told, this.budget, this.write);
  }
}

const line = (kind, ...texts) => element("p", texts, { class: kind });

/** A refusal: what is wrong, and what to write instead. */
export function refusal(told, write) {
  const lines = [line("bad", element("b", told.rule ? "Refused: " : "Error: "), sentence(told.message))];
  if (told.hint) lines.push(line("", element("b", told.rule ? "Instead: " : "Hint: "), told.hint));
  if (told.instead) lines.push(line("", rewrite(told.instead, write)));
  return lines;
}

function rewrite(statement, write) {
  const button = element("button", element("code", statement), { type: "button", class: "statement", title: "Write this into the editor" });
  button.addEventListener("click", () => write(statement));
  return button;
}

function priced(told, budget, write) {
  const free = told.left === "0";
  const first = told.epsilon === "0" ? line("good", element("b", "Free"), ": it follows from what is declared, and reads no record.")
    : told.again ? line("good", element("b", "Free"), ": answered before, and the data have not been refreshed since.")
    : free ? line("good", element("b", "Free"), ": computed from an earlier answer of your role.")
      : line("", "Costs ", element("b", `ε = ${told.left}`), told.left === told.epsilon ? "" : `, the rest of ε = ${told.epsilon} is free`, told.most ? `, and at most ε = ${told.most}` : "", told.delta ? `, δ = ${told.delta}` : "", budget ? `, of the ${budget.left} that your role has left.` : ".");
  const lines = [first];
  if (!free && budget && Number(told.left) > Number(budget.left)) {
    lines.push(line("bad", `Your role has only ε = ${budget.left} left${budget.renews ? `; the budget renews on ${budget.renews} (UTC)` : ""}. Spend less, or ask for what is free below.`));
  }
  for (const { outputs, statement } of told.free) {
    lines.push(line("", `Free: ${outputs.length ? `aggregate ${outputs.join(", ")}` : "a part"}, computed from `, element("code", statement)));
  }
  if (told.outputs.length) lines.push(errors(told));
  const given = [...new Set(told.outputs.map((output) => output.given).filter(Boolean))];
  for (const text of given) lines.push(line("hint", `The error is for ${text.replace(/^C is/, "C =")}. C is the contribution bound: how many rows of one person or unit count.`));
  if (told.clamped.length) lines.push(line("hint", `Values count within their bounds: ${told.clamped.join("; ")}.`));
  for (const { of, enough } of told.choices) lines.push(line("hint", `Percentiles of ${of} need about ${enough.toLocaleString("en")} rows in a group; with far fewer they are mostly NULL.`));
  for (const statement of told.instead) lines.push(line("", "Free instead, by fewer groups: ", rewrite(statement, write)));
  return lines;
}

/** The expected errors, an output a row. */
function errors({ outputs }) {
  return element("ul", outputs.map(({ name, margins, unit, relative }) => {
    const share = relative === null ? "" : `, about ${Number((100 * relative).toPrecision(2))} %`;
    return element("li", [element("code", name), ` ± ${margins.map(around).join(" to ± ")}${unit ? ` ${plainly(unit)}` : ""}${share}`]);
  }), { class: "errors", "aria-label": "Expected error with 95 % confidence" });
}

/** What a margin is told for, as a reader would say it. */
const plainly = (unit) => unit.replace(/,$/, "");
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
