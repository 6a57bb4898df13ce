/**
 * `npm run bench -- [name …] [options]`: measures any Agent Server with the stock LangGraph client, or Weir, started here,
 * when no URL is given. A name is a file in this folder; left out, all that fit. docs/benchmarks.md lists the options.
 */
import { readdirSync } from "node:fs";
import { cpus } from "node:os";
import { HELPERS } from "./helpers.ts";
import { readOptions } from "./options.ts";
import { type Bench, openTarget, type Target } from "./target.ts";

const { names: asked, options } = readOptions();
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts") && !HELPERS.has(file))
  .map((file) => file.slice(0, -3));
const unknown = asked.find((name) => !all.includes(name));
if (unknown) throw new Error(`No bench "${unknown}". There are: ${all.join(", ")}.`);

let target: Target | undefined;
console.log(`${options.url ?? "Weir, started here"}, Node ${process.version}, ${cpus().length} cores\n`);
try {
  for (const name of asked.length > 0 ? asked : all) {
    const { bench } = (await import(`./${name}.ts`)) as { bench: Bench };
    if (asked.length === 0 && bench.byName) continue;
    if (bench.weirOnly && options.url) {
      if (asked.length > 0) console.log(`${name}: only for a Weir started here.\n`);
      continue;
    }
    console.log(`## ${name}: ${bench.title}\n`);
    await bench.start?.(options);
    if (bench.run) await bench.run((target ??= await openTarget(options)));
    console.log("");
  }
} finally {
  await target?.stop();
}
