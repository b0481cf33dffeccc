// An answer that one can look at: what it cost, what is to be known of it, a chart with error bars, the rows, and ways to take it along.

import { draw } from "./drawing.js";
import { asPython, asSql, copied, csv, png, save, standalone } from "./saving.js";
import { kinds, read } from "./shape.js";
import { showRows } from "./table.js";
import { element } from "./tables.js";

const get = (id) => document.getElementById(id);
const NAMES = { bars: "Bars", lines: "Lines", histogram: "Histogram", scatter: "Scatter" };
const page = get("asking").dataset;

export class Answer {
  constructor() {
    new ResizeObserver(() => this.redraw()).observe(get("figure"));
  }

  /** Show an answer to a statement. */
  async show(answer, { statement, epsilon }) {
    this.answer = answer;
    this.asked = { statement, epsilon };
    this.data = read(answer);
    get("answered").hidden = false;
    const price = answer.notices.filter(({ about }) => about === "price");
    get("charged").textContent = answer.charged === "0"
      ? price.length ? "" : "Charged nothing."
      : `Charged ε = ${answer.charged}. The same again is free until the data are next refreshed.`;
    get("beside").replaceChildren(...[...price, ...answer.notices.filter(({ about }) => about === "answer")].map(({ text }) => element("p", text, { class: "note" })));
    const notes = answer.notices.filter(({ about }) => typeof about === "number").map(({ text, about }, at) => [at + 1, about, text]);
    showRows(get("rows"), answer, notes);
    get("footnotes").replaceChildren(...notes.map(([number, , text]) => element("span", [element("sup", String(number)), ` ${text} `])));
    this.offer();
    await this.chart();
  }

  /** The kinds of charts, and what they show: two clicks. */
  offer() {
    const offered = kinds(this.data);
    const { numbers } = this.data;
    this.kind = offered[0];
    this.number = numbers[0];
    this.other = numbers[1];
    get("figure").hidden = !offered.length;
    const choices = [];
    if (offered.length > 1) {
      choices.push(element("span", offered.map((kind) => {
        const radio = element("input", [], { type: "radio", name: "kind", value: kind });
        radio.checked = kind === this.kind;
        radio.addEventListener("change", () => this.choose({ kind }));
        return element("label", [radio, element("span", NAMES[kind])]);
      }), { class: "segments", role: "radiogroup", "aria-label": "Kind of chart" }));
    }
    if (numbers.length > 1) {
      choices.push(this.select("Up", numbers, this.number, (number) => this.choose({ number })));
      const across = this.select("Across", numbers, this.other, (other) => this.choose({ other }));
      across.id = "across";
      choices.push(across);
    }
    get("choices").replaceChildren(...choices);
    this.seeWhatMatters();
  }

  select(label, numbers, chosen, changed) {
    const list = element("select", numbers.map(({ name }, at) => element("option", name, { value: String(at) })), { "aria-label": `${label}: which number` });
    list.value = String(numbers.indexOf(chosen));
    list.addEventListener("change", () => changed(numbers[Number(list.value)]));
    return element("label", [`${label} `, list]);
  }

  choose(chosen) {
    Object.assign(this, chosen);
    this.seeWhatMatters();
    this.chart();
  }

  /** Only a scatter has a number across. */
  seeWhatMatters() {
    if (get("across")) get("across").hidden = this.kind !== "scatter";
  }

  redraw() {
    const width = get("chart").clientWidth;
    if (this.kind && width && width !== this.width) this.chart();
  }

  async chart() {
    this.picture = null;
    if (this.kind) {
      this.width = get("chart").clientWidth;
      const shown = await draw(this.data, { kind: this.kind, number: this.number, other: this.other, width: Math.max(this.width, 260) });
      get("chart").replaceChildren(shown.svg);
      get("caption").replaceChildren(...caption(shown));
      this.picture = shown.svg;
    }
    this.ways();
    document.body.dataset.drawn = Number(document.body.dataset.drawn ?? 0) + 1;
  }

  /** Buttons that copy or save. */
  ways() {
    const { statement, epsilon } = this.asked;
    const host = ["0.0.0.0", "::", ""].includes(page.host) ? location.hostname : page.host;
    const made = [
      ["CSV", () => save("answer.csv", csv(this.answer), "text/csv;charset=utf-8")],
      ...(this.picture ? [["SVG", () => save("answer.svg", standalone(this.picture).text, "image/svg+xml")], ["PNG", async () => save("answer.png", await png(this.picture))]] : []),
      ["Copy as SQL", (button) => copy(button, asSql(statement, epsilon))],
      ["Copy as Python", (button) => copy(button, asPython(statement, epsilon, { ...page, host }))],
    ];
    get("save").replaceChildren(...made.map(([name, done]) => {
      const button = element("button", name, { type: "button", class: "quiet" });
      button.addEventListener("click", () => done(button));
      return button;
    }));
  }
}

function caption({ names, colours, left, faint, margins }) {
  const parts = names.map((name, at) => element("span", [swatch(colours[at]), name]));
  if (margins) parts.push(element("span", "Lines and bands: 95 % confidence intervals."));
  if (faint) parts.push(element("span", "Dashed: not distinguishable from zero."));
  if (left) parts.push(element("span", `${left.toLocaleString("en")} further rows are in the table only.`));
  return parts;
}

function swatch(colour) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, text] of Object.entries({ width: "12", height: "12", "aria-hidden": "true", class: "swatch" })) svg.setAttribute(name, text);
  for (const [name, text] of Object.entries({ width: "12", height: "12", rx: "3", fill: colour })) box.setAttribute(name, text);
  svg.append(box);
  return svg;
}

/** Copy, and say so on the button; where the browser forbids it, the text is shown to be copied by hand. */
export async function copy(button, text) {
  const name = button.dataset.name ?? button.textContent;
  button.dataset.name = name;
  if (await copied(text)) {
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 1500);
    return;
  }
  const shown = element("pre", text, { tabindex: "0" });
  button.closest("section").querySelector("pre.copy")?.remove();
  shown.className = "copy";
  button.closest("p, form").after(shown);
  getSelection().selectAllChildren(shown);
}
