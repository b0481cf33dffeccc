// As many digits as an answer means: those down to the second of its margin.

const many = 15;

/** The place of the last digit that means something: 100 for ± 2,840, 0.01 for ± 0.62. */
export function step(margin) {
  if (!(margin > 0) || !Number.isFinite(margin)) return null;
  return 10 ** (Math.floor(Math.log10(margin)) - 1);
}

/** A number as people read it, at a place; all digits where none is known. */
export function plain(value, at = null) {
  if (!Number.isFinite(value)) return String(value);
  if (at === null) return value.toLocaleString("en", { maximumSignificantDigits: many });
  const places = Math.max(0, -Math.floor(Math.log10(at) + 1e-9));
  const rounded = at > 1 ? Math.round(value / at) * at : value;
  return rounded.toLocaleString("en", { minimumFractionDigits: Math.min(places, 12), maximumFractionDigits: Math.min(places, 12) }).replace(/^-0(\.0*)?$/, "0$1");
}

/** A number of which nobody says how far it may be off: six digits, but for whole numbers. */
export const few = (value) => (Number.isInteger(value) || !Number.isFinite(value) ? plain(value) : value.toLocaleString("en", { maximumSignificantDigits: 6 }));

/** A margin with two digits, rounded up so that it never claims more than it holds. */
export function around(margin) {
  const at = step(margin);
  return at === null ? plain(margin) : plain(Math.ceil(margin / at - 1e-9) * at, at);
}
