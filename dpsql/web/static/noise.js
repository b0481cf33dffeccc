// The arithmetic of the story: noise, what it hides, and lines through it. No element of a page is touched here.

/** A uniform number between 0 and 1, never one of them: 52 bits of the browser's cryptographic source, and a half. */
export function uniforms(count) {
  const words = new Uint32Array(2 * count);
  for (let from = 0; from < words.length; from += 16384) crypto.getRandomValues(words.subarray(from, from + 16384));
  return Float64Array.from({ length: count }, (_, i) => ((words[2 * i] >>> 6) * 2 ** 26 + (words[2 * i + 1] >>> 6) + 0.5) / 2 ** 52);
}

/** The whole number z with P(z) ∝ exp(−|z|/scale) that belongs to a uniform number: where ε moves, the dice stay as they fell. */
export function noise(uniform, scale) {
  const ratio = Math.exp(-1 / scale);
  const tail = Math.min(uniform, 1 - uniform);
  const size = Math.max(0, Math.ceil(-scale * Math.log(tail * (1 + ratio)) - 1 - 1e-12));
  return uniform < 0.5 ? -size : size;
}

/** The mean of |z|. */
export const typicalError = (scale) => (scale > 1e-2 ? 1 / Math.sinh(1 / scale) : 0);

/** The standard deviation of the sum of so many z: at least two of three such sums err by less. */
export function deviation(scale, buckets) {
  const ratio = Math.exp(-1 / scale);
  return Math.sqrt(2 * ratio * buckets) / (1 - ratio);
}

/** The most that a 50/50 guess can become after ε in all: e^ε/(1 + e^ε). */
export const belief = (epsilon) => 1 / (1 + Math.exp(-epsilon));

/** How often the best guess between two worlds is right, from one noisy count that `rows` rows of one person move: ½ + ½·TV. */
export function rightGuesses(epsilon, rows) {
  const ratio = Math.exp(-epsilon / rows);
  const half = Math.floor(rows / 2);
  // P(z ≤ half − 1) − P(z ≤ half − 1 − rows), plus half of the tie in the middle, which is nobody's.
  const below = (z) => (z < 0 ? ratio ** -z / (1 + ratio) : 1 - ratio ** (z + 1) / (1 + ratio));
  return 0.5 + 0.5 * (below(rows - half - 1) - below(-half - 1));
}

/** A matrix by which counts of equal buckets become a smooth line, in rows a bucket; reflected at both ends of the range. */
export function kernel(buckets, width, points) {
  const weights = new Float64Array(points * buckets);
  const wide = Math.max(width * buckets, 0.5);
  for (let point = 0; point < points; point += 1) {
    const x = (point / (points - 1)) * buckets;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const sum = [bucket + 0.5, -bucket - 0.5, 2 * buckets - bucket - 0.5].reduce((all, at) => all + Math.exp(-0.5 * ((x - at) / wide) ** 2), 0);
      weights[point * buckets + bucket] = sum / (wide * Math.sqrt(2 * Math.PI));
    }
  }
  return weights;
}

/** The line of some counts: what is below 0 is empty, and the whole has `total` rows, as a density has an area of 1. */
export function smooth(weights, counts, total) {
  const points = weights.length / counts.length;
  const sum = counts.reduce((all, count) => all + Math.max(count, 0), 0);
  const share = sum ? total / sum : 0;
  const line = new Float64Array(points);
  for (let point = 0; point < points; point += 1) {
    let value = 0;
    for (let bucket = 0; bucket < counts.length; bucket += 1) value += weights[point * counts.length + bucket] * Math.max(counts[bucket], 0);
    line[point] = value * share;
  }
  return line;
}

/** The distance of two lines of as many rows: 0 if they are equal, 2 if they have nothing in common. */
export function apart(one, other) {
  const total = one.reduce((all, y) => all + y, 0);
  return one.reduce((all, y, i) => all + Math.abs(y - other[i]), 0) / (total || 1);
}
