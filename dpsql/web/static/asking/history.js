// What the role was told before, with what each answer cost, and what is free now.

import { element } from "./tables.js";

/** Show it; `write(statement)` puts one into the editor. */
export function showHistory(place, { charged, free }, write) {
  const paid = new Set(charged.map(({ statement }) => statement));
  const others = free.filter(({ statement }) => !paid.has(statement)).map((each) => ({ ...each, free: true, epsilon: null }));
  place.replaceChildren(...[...charged, ...others].map(({ statement, user, epsilon, time, free: now, whole }) => {
    const button = element("button", element("code", statement), { type: "button", class: "statement", title: whole ? "Write this into the editor" : "Only its beginning is known" });
    button.disabled = !whole;
    button.addEventListener("click", () => write(statement));
    const said = epsilon === null ? "computed for free" : `ε = ${epsilon} · ${user} · ${time} UTC`;
    return element("li", [button, element("small", said), ...(now ? [element("small", "free now", { class: "free" })] : [])]);
  }));
  if (!place.children.length) place.append(element("li", "Nobody of your role has asked anything yet.", { class: "empty" }));
}

/** The bar moves only when something was paid. */
export function showBudget({ total, spent, left, renews }) {
  const get = (id) => document.getElementById(id);
  for (const [id, text] of Object.entries({ total, spent, left })) get(id).textContent = text;
  const share = Math.min(1, Number(spent) / Number(total) || 0);
  get("bar").querySelector(".fill").setAttribute("width", `${(100 * share).toFixed(2)}%`);
  get("bar").setAttribute("aria-label", `ε = ${spent} of ${total} spent`);
  get("renews").textContent = renews ? `Renews on ${renews} (UTC).` : "Does not renew.";
}
