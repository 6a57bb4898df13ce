/**
 * `npm run bench -- [name …] [--url URL] [--key KEY]`: measures any Agent Server with the stock LangGraph client, or Weir,
 * started here, when no URL is given. A name is a file in this folder; left out, all that fit the target run.
 */
import { readdirSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { type Bench, openTarget } from "./target.ts";

const HELPERS = new Set(["main.ts", "target.ts", "figures.ts", "workerd.ts"]);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { url: { type: "string" }, key: { type: "string" }, runs: { type: "string", default: "200" } },
});
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts") && !HELPERS.has(file))
  .map((file) => file.slice(0, -3));
const names = positionals.length > 0 ? positionals : all;
const unknown = names.find((name) => !all.includes(name));
if (unknown) throw new Error(`No bench "${unknown}". There are: ${all.join(", ")}.`);

const target = await openTarget({ url: values.url, key: values.key, runs: Number(values.runs) });
console.log(`${target.name}, Node ${process.version}, ${cpus().length} cores\n`);
try {
  for (const name of names) {
    const { bench } = (await import(`./${name}.ts`)) as { bench: Bench };
    if (bench.weirOnly && !target.weir) {
      if (positionals.length > 0) console.log(`${name}: only for a Weir started here.\n`);
      continue;
    }
    console.log(`## ${name}: ${bench.title}`);
    await bench.run(target);
    console.log("");
  }
} finally {
  await target.stop();
}
