// The visitor's own data: a column is asked about when the button is pressed, and only noisy counts come back.

import { ask, get, say, show } from "./dom.js";
import { deviation } from "./noise.js";
import { through, within95 } from "./story.js";

const EMPTY = "nothing is asked yet";

export class Yours {
  /** `redraw()` is called when there is something new to see; `column` is the one that the address has. */
  constructor(redraw, column) {
    this.redraw = redraw;
    this.rows = 1;
    this.counted = [1];
    this.answer = null;
    const choice = get("column");
    if ([...choice.options].some(({ value }) => value === column)) choice.value = column;
    choice.addEventListener("input", () => {
      say("after", "");
      this.changed();
    });
    get("line").addEventListener("input", () => this.redraw());
    get("asking").addEventListener("submit", (event) => {
      event.preventDefault();
      this.buy();
    });
  }

  get column() {
    return get("column").value;
  }

  /** Say the price of what is chosen now; nothing is asked. */
  async changed(state = this.state) {
    this.state = state;
    if (!state || state.step !== "yours") return;
    this.redraw();
    const asked = `${this.column} ${state.epsilon}`;
    try {
      const told = await ask("/explore/price", { column: this.column, epsilon: String(state.epsilon) });
      if (asked !== `${this.column} ${state.epsilon}`) return;
      this.told(told);
      this.complain(null);
    } catch (error) {
      this.complain(error);
    }
    document.body.dataset.done = Number(document.body.dataset.done ?? 0) + 1;
  }

  told(told) {
    const price = `ε = ${show(told.epsilon, 4)}`;
    this.rows = told.sensitivity;
    this.counted = told.rows;
    this.about = told;
    say("max-rows", told.given
      ? `; how many rows of each count, C, is chosen for each question, and the figures here are for ${told.given}`
      : `, and counts at most ${told.sensitivity} rows of each`);
    say("statement", told.statement);
    const again = told.paid && `Role ${told.role} paid for this answer on ${told.paid}: until the data are next refreshed it is free, and has the same noise. ε = ${told.left} is left.`;
    const first = told.enough
      ? `Asking charges role ${told.role}, which has ε = ${told.left} left. Asking the same again is free until the data are next refreshed, and has the same noise.`
      : `${price} is more than what role ${told.role} has left, ε = ${told.left}. It is answered only if it was answered before since the data were last refreshed; then it is free.`;
    say("before", again || first);
    get("before").classList.toggle("bad", !again && !told.enough);
    say("ask", again ? "Ask again, free" : told.enough ? `Ask, for ${price}` : "Ask again, if it was answered before");
    this.redraw();
  }

  async buy() {
    const asked = { column: this.column, epsilon: String(this.state.epsilon) };
    this.busy(true);
    say("after", "Asking: the records are being counted …");
    get("after").classList.remove("paid");
    try {
      const answer = await ask("/explore/ask", asked, { post: true });
      this.answer = { ...answer, column: asked.column };
      get("after").classList.add("paid");
      say("after", Number(answer.charged) === 0
        ? `Charged nothing: this was answered before, and the noise is the same.`
        : `Charged ε = ${answer.charged} to role ${answer.role}.`);
      await this.changed();
    } catch (error) {
      say("after", "");
      this.complain(error);
    }
    this.busy(false);
  }

  busy(now) {
    get("ask").disabled = now;
    get("ask").classList.toggle("busy", now);
    get("asking").setAttribute("aria-busy", now);
  }

  complain(error) {
    get("asking-error").hidden = !error;
    say("asking-error", error ? error.message : "");
    if (error) for (const id of ["before", "statement"]) say(id, "");
  }

  /** The answer that belongs to what is chosen now. */
  shown(state) {
    return this.answer?.column === this.column && this.answer.epsilon === state.epsilon ? this.answer : null;
  }

  picture(data, state) {
    const answer = this.shown(state);
    const { low, high } = answer ?? this.about ?? { low: 0, high: 1 };
    const counts = answer?.counts ?? [];
    const half = answer ? within95(answer.scale) : 0;
    const top = 1.1 * Math.max(1, ...counts.map((count) => count + half));
    const line = answer && get("line").checked;
    const total = counts.reduce((all, count) => all + count, 0);
    return {
      key: `yours ${this.column} ${low} ${high} ${answer ? `${state.epsilon} ${top}` : ""}`,
      x: { low, high, title: this.column },
      y: { low: Math.min(0, ...counts.map((count) => count - half)), high: top, title: answer ? "rows in a bucket" : "", bare: !answer },
      buckets: counts.length || null,
      range: state.range,
      notes: answer ? [] : [{ at: low, text: EMPTY }],
      label: answer ? `${this.column}: released counts with noise, at ε = ${answer.epsilon}; each is within ± ${half} of the truth with 95 %` : EMPTY,
      layers: answer
        ? [
          { type: "bars", kind: "bars told", values: counts },
          { type: "band", kind: "band", ends: [counts.map((count) => count - half), counts.map((count) => count + half)] },
          ...(line ? [{ ...through(counts, data.smoothings[state.smoothing], Math.max(total, 0)), kind: "line private" }] : []),
        ]
        : [],
      legend: answer ? [["bars told", "released (noisy)"], ["band", "95 % confidence interval"], ...(line ? [["line private", "smoothed"]] : [])] : [],
    };
  }

  reading(state) {
    const answer = this.shown(state);
    if (!answer || !state.range) return "";
    const [from, to] = [Math.min(...state.range), Math.max(...state.range)];
    const edge = (bucket) => show(answer.low + (bucket / answer.counts.length) * (answer.high - answer.low), 4);
    const told = answer.counts.slice(from, to + 1).reduce((all, count) => all + count, 0);
    return `${edge(from)} to ${edge(to + 1)}: released ${show(told, 6)}; at least two of three such errors are within ± ${show(deviation(answer.scale, to - from + 1), 2)}`;
  }
}
