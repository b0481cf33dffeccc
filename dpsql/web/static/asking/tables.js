// The tables at the side: what each column may hold, and what may be asked of it. All of it is text that somebody has written.

function element(name, texts = [], attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...[texts].flat());
  return made;
}

const FEW = 6;

function limits({ low, high, values, more }) {
  if (values.length) {
    const rest = values.length - FEW + more;
    return `${values.slice(0, FEW).join(", ")}${rest > 0 ? ` and ${rest.toLocaleString("en")} more` : ""}`;
  }
  return low === null ? "" : `${low} to ${high}`;
}

function column(of, insert) {
  const name = element("button", of.name, { type: "button", class: "name", title: "Write this name into the statement" });
  name.addEventListener("click", () => insert(of.sql));
  const lines = [of.about, limits(of), of.asks && `ask: ${of.asks}`].filter(Boolean);
  return element("li", [name, element("small", ` ${of.type}`), ...lines.map((line) => element("span", line))]);
}

/** Show the tables; `insert(name)` writes one into the statement. */
export function showTables(place, tables, insert) {
  const kinds = { protected: "protected: aggregates with noise", view: "view", public: "public: every row, free" };
  place.replaceChildren(...tables.map((table) => {
    const list = element("ul", table.columns.map((each) => column(each, insert)));
    const box = element("details", [
      element("summary", [element("b", table.name), element("small", kinds[table.kind] ?? table.kind)]),
      ...(table.about ? [element("p", table.about)] : []),
      list,
      ...table.references.map((reference) => element("p", element("code", reference), { class: "hint" })),
    ]);
    box.open = table.kind === "protected" && tables.filter(({ kind }) => kind === "protected").length < 3;
    return box;
  }));
  if (!tables.length) place.append(element("p", "Your role may use no table.", { class: "empty" }));
}

export { element };
