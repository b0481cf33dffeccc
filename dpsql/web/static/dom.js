// Small things that all pages need.

export const get = (id) => document.getElementById(id);

export function say(id, text) {
  get(id).textContent = text;
}

/** Numbers for people: about three digits, never an exponent. */
export function show(value, digits = 3) {
  if (value === null || value === undefined) return "any";
  if (value === 0) return "0";
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(places, 9) });
}

/** A limit of ε with three digits, rounded down so that it still keeps what it is the limit of. */
export function down(value) {
  if (value === null || value === undefined || value <= 0) return show(value);
  const step = 10 ** (Math.floor(Math.log10(value)) - 2);
  return show(Number((Math.floor(value / step + 1e-9) * step).toPrecision(3)));
}

/** A probability: no answer makes anything certain, so none is called 100 %. */
export function percent(share) {
  if (share === 0) return "0 %";
  if (share > 0.999999) return "> 99.9999 %";
  const places = share > 0.99 ? 4 : Math.max(0, 3 - Math.floor(Math.log10(100 * share)));
  return `${Number((100 * share).toFixed(Math.min(places, 12)))} %`;
}

/** A row of a table, which its first cell names; on a phone the others stand below it with the names of their columns. */
export function cells(table, texts) {
  const row = document.createElement("tr");
  texts.forEach((text, place) => {
    const cell = document.createElement(place ? "td" : "th");
    if (place) cell.dataset.label = table.tHead.rows[0].cells[place].textContent;
    else cell.scope = "row";
    cell.textContent = text;
    row.append(cell);
  });
  return row;
}

/** Take back what was said: numbers become dashes, texts nothing. */
export function blank(numbers, texts) {
  for (const id of numbers) {
    say(id, "–");
    get(id).className = "";
  }
  for (const id of texts) say(id, "");
}

/** Ask the server for JSON; what it refuses is thrown with its own words. */
export async function ask(path, fields, { post = false } = {}) {
  const sent = new URLSearchParams(fields);
  if (post) sent.set("token", document.querySelector("meta[name=token]").content);
  const reply = post
    ? await fetch(path, { method: "POST", body: sent })
    : await fetch(`${path}?${sent}`);
  const answer = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(answer.hint ? `${answer.error}. ${answer.hint}` : answer.error), { field: answer.field });
  return answer;
}

/** Say what is wrong at the field, or at the end of the first of these forms where it is of no field; null takes it back. */
export function complain(forms, error) {
  const wrong = error?.field ? get(error.field) ?? document.querySelector(`[name=${CSS.escape(error.field)}]`) : null;
  const place = forms.includes(wrong?.form?.id) ? wrong.form.id : forms[0];
  for (const form of forms) {
    const alert = get(`${form}-error`);
    alert.hidden = !error || form !== place;
    alert.textContent = alert.hidden ? "" : error.message;
    for (const field of get(form).querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-describedby");
    }
    const home = form === place && wrong?.form?.id === form ? wrong.closest(".field, .row > label") : null;
    if (home) home.after(alert);
    else if (!alert.hidden) get(form).append(alert);
  }
  wrong?.setAttribute("aria-invalid", "true");
  wrong?.setAttribute("aria-describedby", `${place}-error`);
}

/** Run `work` now, or once more after the run that is under way: however fast a slider moves, the last value is drawn. */
export function latest(work) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      await work();
    }
    running = false;
    document.body.dataset.done = Number(document.body.dataset.done ?? 0) + 1;
  };
}

/** What a box says as a number: `10,000` and `1e5` are numbers, `1/3` is a third; of per cent `0.33` is 33, and `0.33 %` is not. */
function number(box, percents) {
  const text = box.value.trim();
  const plain = /^[+-]?[1-9]\d{0,2}([,_ '\u00a0\u2009\u202f]\d{3})+(\.\d+)?$/.test(text) ? text.replace(/[,_ '\u00a0\u2009\u202f]/g, "") : text.replace("%", "");
  const [over, under] = plain.split("/").map((part) => (part.trim() === "" ? NaN : Number(part)));
  const value = under === undefined ? over : over / under;
  return percents && !text.endsWith("%") && (under !== undefined || value < 1) ? 100 * value : value;
}

/** Join a slider (0 to 1000) and a box; `changed` is called for both, also where the box makes no sense. */
export function slide(slider, box, changed) {
  const low = () => Number(slider.dataset.low);
  const high = () => Number(slider.dataset.high);
  const percents = slider.dataset.scale === "percent";
  const round = (value) => Number(value.toPrecision(3));
  const value = () => {
    const share = slider.value / 1000;
    return round(percents ? low() + (high() - low()) * share : low() * (high() / low()) ** share);
  };
  const place = () => {
    const read = number(box, percents);
    if (Number.isNaN(read)) return;
    const clamped = Math.min(Math.max(read, low()), high());
    slider.value = Math.round(1000 * (percents ? (clamped - low()) / (high() - low()) : Math.log(clamped / low()) / Math.log(high() / low())));
    slider.setAttribute("aria-valuetext", box.value);
  };
  slider.addEventListener("input", () => {
    box.value = `${value()}${slider.dataset.unit ?? ""}`;
    slider.setAttribute("aria-valuetext", box.value);
    changed();
  });
  box.addEventListener("input", () => {
    place();
    changed();
  });
  place();
  return place;
}
