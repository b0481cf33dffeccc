// A picture whose parts stay and only change their shapes, so that it follows a slider: layers over two axes, and a range to read.

import { plain, put, ticks } from "./chart.js";

const ROOM = { top: 22, right: 14, bottom: 40, left: 52 };
const SMALL = { top: 8, right: 6, bottom: 22, left: 34 };

const place = (value) => value.toFixed(1);

export class Picture {
  /** `box` is an element with a height; `picked(range)` is told which buckets are marked, null for none. */
  constructor(box, { small = false, picked = null } = {}) {
    this.box = box;
    this.room = small ? SMALL : ROOM;
    this.small = small;
    this.picked = picked;
    this.svg = put(box, "svg", { role: "img", ...(picked ? { tabindex: "0" } : {}) });
    this.axes = put(this.svg, "g", {});
    this.plane = put(this.svg, "svg", { class: "plane" });
    this.shade = put(this.plane, "rect", { class: "shade", width: 0 });
    this.parts = [];
    this.texts = put(this.svg, "g", {});
    if (picked) this.listen();
    new ResizeObserver(() => this.resize()).observe(box);
    this.measure();
  }

  /** Draw `{label, key, x: {low, high, title}, y: {low, high, title}, buckets, layers: [{kind, …}], range}`; axes only if `key` is new. */
  draw(spec) {
    this.spec = spec;
    if (this.key !== spec.key) this.frame();
    this.svg.setAttribute("aria-label", spec.label);
    spec.layers.forEach((layer, at) => {
      this.parts[at] ??= put(this.plane, "path", {});
      this.parts[at].setAttribute("class", layer.kind);
      this.parts[at].setAttribute("d", this.shape(layer));
    });
    for (const part of this.parts.slice(spec.layers.length)) part.setAttribute("d", "");
    this.mark(spec.range);
  }

  measure() {
    this.width = Math.max(this.box.clientWidth - this.room.left - this.room.right, 40);
    this.height = Math.max(this.box.clientHeight - this.room.top - this.room.bottom, 30);
    for (const [name, value] of Object.entries({ x: this.room.left, y: this.room.top, width: this.width, height: this.height })) this.plane.setAttribute(name, value);
  }

  resize() {
    this.measure();
    this.key = null;
    if (this.spec) this.draw(this.spec);
  }

  left = (x) => ((x - this.spec.x.low) / (this.spec.x.high - this.spec.x.low)) * this.width;

  /** Values far outside the picture stay just outside it. */
  down = (y) => {
    const share = (y - this.spec.y.low) / (this.spec.y.high - this.spec.y.low);
    return this.height * (1 - Math.min(Math.max(share, -0.1), 1.1));
  };

  shape({ type, values, points, ends, x }) {
    const wide = values && this.width / values.length;
    switch (type) {
      case "bars": {
        const foot = place(this.down(ends ?? 0));
        const gap = wide > 3 ? 0.5 : 0;
        return Array.from(values, (y, i) => (y === 0 ? "" : `M${place(i * wide + gap)},${foot}V${place(this.down(y))}H${place((i + 1) * wide - gap)}V${foot}Z`)).join("");
      }
      case "pieces":
        return points.map(([bucket, low, high, buckets]) => {
          const one = this.width / buckets;
          return `M${place(bucket * one)},${place(this.down(low))}V${place(this.down(high))}H${place((bucket + 1) * one)}V${place(this.down(low))}Z`;
        }).join("");
      case "steps":
        return this.stairs(values, wide);
      case "many":
        return values.map((one) => (one.step ? this.stairs(one.values, this.width / one.values.length) : this.line(one.values))).join("");
      case "line":
        return this.line(values);
      case "area":
        return `M0,${place(this.height)}${Array.from(values, (y, i) => `L${place((i / (values.length - 1)) * this.width)},${place(this.down(y))}`).join("")}L${place(this.width)},${place(this.height)}Z`;
      case "band":
        return `${this.stairs(ends[1], this.width / ends[1].length)}${this.stairs(ends[0], this.width / ends[0].length, true)}Z`;
      case "dots":
        return points.map(([at, y]) => `M${place(this.left(at))},${place(this.down(y))}h0`).join("");
      case "upright":
        return `M${place(this.left(x))},0V${place(this.height)}`;
      default:
        throw new Error(type);
    }
  }

  line(values) {
    return Array.from(values, (y, i) => `${i ? "L" : "M"}${place((i / (values.length - 1)) * this.width)},${place(this.down(y))}`).join("");
  }

  stairs(values, wide, back = false) {
    const moves = Array.from(values, (y, i) => [i * wide, (i + 1) * wide, this.down(y)]);
    if (back) return moves.reverse().map(([from, to, y]) => `L${place(to)},${place(y)}H${place(from)}`).join("");
    return moves.map(([from, to, y], i) => `${i ? "L" : "M"}${place(from)},${place(y)}H${place(to)}`).join("");
  }

  /** Axes, ticks and titles. */
  frame() {
    const { x, y } = this.spec;
    this.key = this.spec.key;
    this.axes.replaceChildren();
    this.texts.replaceChildren();
    const { left, top } = this.room;
    for (const value of y.bare ? [] : ticks(Math.max(y.low, y.least ?? y.low), y.high, this.height / (this.small ? 30 : 60))) {
      const at = top + this.down(value);
      put(this.axes, "line", { class: "grid", x1: left, x2: left + this.width, y1: at, y2: at });
      put(this.axes, "text", { x: left - 8, y: at + 4, "text-anchor": "end" }, plain(value));
    }
    const foot = top + this.down(y.bare ? y.low : Math.max(y.low, 0));
    put(this.axes, "line", { class: "axis", x1: left, x2: left + this.width, y1: foot, y2: foot });
    const bottom = top + this.height;
    for (const value of ticks(x.low, x.high, this.width / 95)) {
      put(this.axes, "text", { x: left + this.left(value), y: bottom + 17, "text-anchor": "middle" }, plain(value));
    }
    if (this.small) return;
    put(this.axes, "text", { class: "title", x: left + this.width / 2, y: bottom + 35, "text-anchor": "middle" }, x.title);
    put(this.axes, "text", { class: "title", x: 4, y: 11 }, y.title);
    for (const { at, text, height } of this.spec.notes ?? []) {
      const right = this.left(at) > this.width * 0.6;
      put(this.texts, "text", { class: "over", x: left + this.left(at) + (right ? -6 : 6), y: top + 12 + (height ?? 0), "text-anchor": right ? "end" : "start" }, text);
    }
  }

  mark(range) {
    const wide = this.width / (this.spec.buckets ?? 1);
    const [from, to] = range ? [Math.min(...range), Math.max(...range) + 1] : [0, 0];
    for (const [name, value] of Object.entries({ x: from * wide, width: (to - from) * wide, y: 0, height: this.height })) this.shade.setAttribute(name, value);
  }

  listen() {
    const bucket = (event) => {
      const across = event.clientX - this.svg.getBoundingClientRect().left - this.room.left;
      return Math.min(Math.max(Math.floor((across / this.width) * this.spec.buckets), 0), this.spec.buckets - 1);
    };
    let from = null;
    this.svg.addEventListener("pointerdown", (event) => {
      if (!this.spec?.buckets || event.button) return;
      from = bucket(event);
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => from !== null && this.picked([from, bucket(event)]));
    this.svg.addEventListener("pointerup", (event) => {
      // A press that moves nowhere takes the range back.
      if (from !== null && bucket(event) === from) this.picked(null);
      from = null;
    });
    this.svg.addEventListener("pointercancel", () => { from = null; });
    this.svg.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape" && this.spec) {
      this.spec.range = null;
      this.picked(null);
    }
    if (!step || !this.spec?.buckets) return;
    event.preventDefault();
    event.stopPropagation();
    const last = this.spec.buckets - 1;
    const [start, end] = this.spec.range ?? [Math.floor(last / 2), Math.floor(last / 2) - step];
    const moved = Math.min(Math.max(end + step, 0), last);
    // The next key may come before this range is drawn.
    this.spec.range = event.shiftKey ? [start, moved] : [moved, moved];
    this.picked(this.spec.range);
  }
}
