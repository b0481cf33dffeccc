// Taking an answer along: CSV, SVG, PNG, SQL, Python. Files are made in the browser, and nothing of them leaves it.

/** Cells that a spreadsheet would take for a formula begin with an apostrophe; numbers are what they are. */
function cell(text, isNumber) {
  if (text === null) return "";
  const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv({ columns, rows }) {
  const names = columns.map(({ name, role, of }) => cell(role === "margin" && of !== null ? `${columns[of].name}_margin` : name, false));
  const lines = rows.map((row) => row.map((text, at) => cell(text, ["whole", "number"].includes(columns[at].kind))).join(","));
  return `${[names.join(","), ...lines].join("\r\n")}\r\n`;
}

export function asSql(statement, epsilon) {
  return `${epsilon ? `SET dpsql.epsilon = '${epsilon}';\n` : ""}${statement.trim().replace(/;$/, "")};\n`;
}

export function asPython(statement, epsilon, { host, port, dataset, user }) {
  const text = statement.trim().replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
  const where = [`host=${JSON.stringify(host)}`, `port=${Number(port)}`, `dbname=${JSON.stringify(dataset)}`, `user=${JSON.stringify(user)}`];
  return `import psycopg  # pip install "psycopg[binary]"

STATEMENT = """
${text}
"""

# The password is in PGPASSWORD, or in the file ~/.pgpass.
with psycopg.connect(${where.join(", ")}) as connection:
${epsilon ? `    connection.execute("SET dpsql.epsilon = '${epsilon}'")\n` : ""}    for row in connection.execute(STATEMENT):
        print(row)
`;
}

/** A chart as a file of its own: the colours of the page are written into it, which knows no style sheet. */
export function standalone(svg) {
  const copy = svg.cloneNode(true);
  const style = getComputedStyle(document.documentElement);
  const named = (text) => text.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  for (const node of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name, value } of [...node.attributes]) if (value.includes("var(")) node.setAttribute(name, named(value));
  }
  const [, , width, height] = svg.getAttribute("viewBox").split(" ");
  for (const [name, text] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, fill: style.getPropertyValue("--ink").trim(), color: style.getPropertyValue("--ink").trim(), "font-family": "system-ui, sans-serif", "font-size": "12" })) copy.setAttribute(name, text);
  copy.removeAttribute("style");
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, text] of Object.entries({ width: "100%", height: "100%", fill: style.getPropertyValue("--card").trim() })) ground.setAttribute(name, text);
  copy.prepend(ground);
  return { text: new XMLSerializer().serializeToString(copy), width: Number(width), height: Number(height) };
}

/** The same as a picture of pixels, twice as fine. */
export async function png(svg) {
  const { text, width, height } = standalone(svg);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const picture = new Image();
    picture.src = address;
    await picture.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(picture, 0, 0, 2 * width, 2 * height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Copy a text; false where the browser does not let us, as over plain HTTP from another machine. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
