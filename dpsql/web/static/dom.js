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

export const percent = (share) => {
  const text = show(100 * share, Math.abs(share) > 0.99 && share < 1 ? 4 : 3);
  return `${text} %`;
};

/** Ask the server for JSON; what it refuses is thrown with its own words. */
export async function ask(path, fields, { post = false } = {}) {
  const sent = new URLSearchParams(fields);
  if (post) sent.set("token", document.querySelector("meta[name=token]").content);
  const reply = post
    ? await fetch(path, { method: "POST", body: sent })
    : await fetch(`${path}?${sent}`);
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.hint ? `${answer.error}. ${answer.hint}` : answer.error);
  return answer;
}

export function complain(id, error) {
  const place = get(id);
  place.hidden = !error;
  place.textContent = error ? error.message : "";
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

/** Join a slider (0 to 1000) and a number box; `changed` is called for both. */
export function slide(slider, box, changed) {
  const low = () => Number(slider.dataset.low);
  const high = () => Number(slider.dataset.high);
  const log = slider.dataset.scale !== "linear";
  const round = (value) => Number(value.toPrecision(3));
  const value = () => {
    const share = slider.value / 1000;
    return round(log ? low() * (high() / low()) ** share : low() + (high() - low()) * share);
  };
  const place = () => {
    const clamped = Math.min(Math.max(Number(box.value), low()), high());
    slider.value = Math.round(1000 * (log ? Math.log(clamped / low()) / Math.log(high() / low()) : (clamped - low()) / (high() - low())));
    slider.setAttribute("aria-valuetext", box.value);
  };
  slider.addEventListener("input", () => {
    box.value = value();
    slider.setAttribute("aria-valuetext", box.value);
    changed();
  });
  box.addEventListener("input", () => {
    if (box.value !== "" && Number(box.value) > 0) {
      place();
      changed();
    }
  });
  place();
  return place;
}
