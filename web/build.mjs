// Bundles the two libraries of the page Ask, each into one file that needs no other, with the licences of all that is in it.
// The same lock file gives the same bytes: versions are pinned, and nothing of this machine is written. `node build.mjs PLACE` writes
// elsewhere, to compare.

import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const built = process.argv[2] ?? join(here, "..", "dpsql", "web", "static", "built");
const packages = new Set();

for (const name of ["codemirror", "plot"]) {
  mkdirSync(built, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: here,
    entryPoints: [`${name}.js`],
    outfile: join(built, `${name}.js`),
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    banner: { js: `/* ${name}.js is made by \`make web\`; its licences are in licences.txt. */` },
    metafile: true,
  });
  for (const [path, { bytesInOutput }] of Object.entries(Object.values(metafile.outputs)[0].inputs)) {
    const found = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found && bytesInOutput) packages.add(found[1]);
  }
}

/** A package's name, version and licence as its authors wrote it. */
function licence(name) {
  const place = join(here, "node_modules", ...name.split("/"));
  const { version, license } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const file = readdirSync(place).sort().find((other) => /^(licen[cs]e|copying)/i.test(other));
  if (!file) throw new Error(`${name} has no licence in ${place.split(sep).at(-1)}`);
  const text = readFileSync(join(place, file), "utf8").replaceAll("\r\n", "\n").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
}

writeFileSync(join(built, "licences.txt"), [...packages].sort().map(licence).join(`\n${"-".repeat(72)}\n\n`));
