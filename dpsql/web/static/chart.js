// Lines over axes as SVG: no library, no style attributes, so the content security policy can be strict.

const NS = "http://www.w3.org/2000/svg";
const EDGE = { top: 22, right: 14, bottom: 40, left: 52 };

export function put(parent, name, attributes, text) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

/** Round steps so that about `wanted` of them fit. */
export function ticks(low, high, wanted) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

export const plain = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

/** Return y of a line at x, by linear interpolation; steps keep the last value. */
function at(line, x) {
  const next = line.x.findIndex((other) => other > x);
  if (next < 0) return line.y.at(-1);
  if (next === 0 || line.step) return line.y[Math.max(next - 1, 0)];
  const share = (x - line.x[next - 1]) / (line.x[next] - line.x[next - 1]);
  return line.y[next - 1] + share * (line.y[next] - line.y[next - 1]);
}

export class Chart {
  /** `box` is an element with a height; it gets the picture and a readout for pointers and arrow keys. */
  constructor(box) {
    this.box = box;
    this.svg = put(box, "svg", { role: "img", tabindex: "0" });
    this.readout = document.createElement("output");
    this.readout.className = "readout";
    box.append(this.readout);
    this.svg.addEventListener("pointermove", (event) => this.point((event.offsetX - EDGE.left) / this.width));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.svg.addEventListener("blur", () => this.point(null));
    this.svg.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.draw(this.spec)).observe(box);
  }

  /** Draw `{label, x: {low, high, title, format}, y: …, lines: [{name, kind, x, y, step}], marks: [{x or y, text, kind}]}`. */
  draw(spec) {
    if (!spec) return;
    this.spec = spec;
    const names = (spec.marks ?? []).filter(({ x, text }) => x === undefined && text).map(({ text }) => text.length);
    this.right = Math.max(EDGE.right, ...names.map((letters) => 12 + 7 * letters));
    this.width = Math.max(this.box.clientWidth - EDGE.left - this.right, 40);
    this.height = Math.max(this.box.clientHeight - EDGE.top - EDGE.bottom, 40);
    this.svg.replaceChildren();
    this.svg.setAttribute("aria-label", spec.label);
    this.plane = put(this.svg, "g", { transform: `translate(${EDGE.left},${EDGE.top})` });
    if (!spec.lines.length) {
      put(this.plane, "text", { x: this.width / 2, y: this.height / 2, "text-anchor": "middle" }, spec.empty);
    }
    this.axes(spec);
    for (const mark of spec.marks ?? []) this.mark(mark);
    for (const line of spec.lines) {
      put(this.plane, "path", { class: `line ${line.kind}`, d: this.path(line), "data-name": line.name });
    }
    this.labels(spec.marks ?? []);
    this.cross = put(this.plane, "path", { class: "cross" });
  }

  /** Show a text in the place of what was drawn. */
  clear(text) {
    if (this.spec) this.draw({ ...this.spec, label: text, lines: [], marks: [], empty: text });
  }

  left = (x) => {
    const share = (x - this.spec.x.low) / (this.spec.x.high - this.spec.x.low || 1);
    return Math.min(Math.max(share, 0), 1) * this.width;
  };

  down = (y) => {
    const share = (y - this.spec.y.low) / (this.spec.y.high - this.spec.y.low || 1);
    return this.height * (1 - Math.min(Math.max(share, 0), 1.02));
  };

  path(line) {
    return line.x
      .map((x, i) => {
        const [across, down] = [this.left(x).toFixed(1), this.down(line.y[i]).toFixed(1)];
        if (i === 0) return `M${across},${down}`;
        return line.step ? `H${across}V${down}` : `L${across},${down}`;
      })
      .join("");
  }

  axes({ x, y }) {
    for (const value of this.spec.lines.length ? ticks(y.low, y.high, this.height / 60) : []) {
      const place = this.down(value);
      put(this.plane, "line", { class: "grid", x1: 0, x2: this.width, y1: place, y2: place });
      put(this.plane, "text", { x: -8, y: place + 4, "text-anchor": "end" }, (y.format ?? plain)(value));
    }
    put(this.plane, "line", { class: "axis", x1: 0, x2: this.width, y1: this.height, y2: this.height });
    for (const value of x.ticks ?? ticks(x.low, x.high, this.width / 95)) {
      put(this.plane, "text", { x: this.left(value), y: this.height + 17, "text-anchor": "middle" }, (x.format ?? plain)(value));
    }
    put(this.plane, "text", { class: "title", x: this.width / 2, y: this.height + 35, "text-anchor": "middle" }, x.title);
    put(this.plane, "text", { class: "title", x: -EDGE.left + 4, y: -11 }, y.title);
  }

  mark({ x, y, kind }) {
    const d = x === undefined ? `M0,${this.down(y)}H${this.width}` : `M${this.left(x)},0V${this.height}`;
    put(this.plane, "path", { class: `mark ${kind}`, d });
  }

  /** Names of marks stand outside of the plane, where no curve is: of levels beside it, of places above it. */
  labels(marks) {
    let last = -Infinity;
    const levels = marks.filter(({ x, text }) => x === undefined && text).sort((a, b) => b.y - a.y);
    for (const { y, text } of levels) {
      last = Math.max(this.down(y) + 4, last + 14);
      put(this.plane, "text", { class: "over", x: this.width + 6, y: last }, text);
    }
    for (const { x, text } of marks.filter(({ x: at, text: name }) => at !== undefined && name)) {
      put(this.plane, "text", { class: "over", x: Math.min(Math.max(this.left(x), 60), this.width), y: -7, "text-anchor": "middle" }, text);
    }
  }

  /** Show the values at a share of the width; null hides them. */
  point(share) {
    this.share = share === null ? null : Math.min(Math.max(share, 0), 1);
    if (this.share === null || !this.spec?.lines.length) {
      this.cross?.removeAttribute("d");
      this.readout.textContent = "";
      return;
    }
    const { x, y, lines } = this.spec;
    const value = x.low + this.share * (x.high - x.low);
    this.cross.setAttribute("d", `M${this.share * this.width},0V${this.height}`);
    const values = lines.map((line) => `${line.name} ${(y.format ?? plain)(at(line, value))}`);
    this.readout.textContent = [(x.format ?? plain)(value), ...values].join(" · ");
  }

  step(event) {
    const move = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
    if (!move) return;
    event.preventDefault();
    this.point((this.share ?? 0.5) + move);
  }
}
