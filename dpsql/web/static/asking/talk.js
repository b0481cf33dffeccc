// What the page Ask says to the server: every call carries the page's token, and one that is too old is replaced once.

const page = document.getElementById("asking").dataset;
const meta = document.querySelector("meta[name=token]");

/** The visitor is logged out, or the server can't be reached. What was written stays on the page. */
export class Lost extends Error {}

/** The server's own words: `told` has a message, and perhaps a hint, a field, or a place in the statement. */
export class Refused extends Error {
  constructor(told) {
    super(told.message ?? told.error ?? "the server did not answer");
    this.told = { ...told, message: this.message };
  }
}

/** Send fields to one of the page's addresses, and return its JSON. */
export async function call(path, fields = {}) {
  let reply = await send(path, fields);
  if (reply.status === 401 || reply.status === 403) {
    await renew();
    reply = await send(path, fields);
  }
  if (reply.status === 401 || reply.status === 403) throw new Lost("You are logged out.");
  const told = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Refused({ ...told, status: reply.status });
  return told;
}

/** Take the token of whoever is logged in now; where that is somebody else, the page begins anew as theirs. */
export async function renew() {
  const reply = await fetch("/ask/who").catch(() => null);
  if (reply === null) throw new Lost("The server can't be reached.");
  if (!reply.ok) throw new Lost("You are logged out.");
  const { user, token } = await reply.json();
  if (user !== page.user) {
    location.reload();
    await new Promise(() => {});
  }
  meta.content = token;
}

async function send(path, fields) {
  const body = new URLSearchParams({ ...fields, token: meta.content });
  try {
    return await fetch(`/ask/${path}`, { method: "POST", body });
  } catch {
    throw new Lost("The server can't be reached.");
  }
}
