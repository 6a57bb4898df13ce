/**
 * `npm run bench -- [name …] [options]`: measures any Agent Server with the stock LangGraph client, or Weir, started here,
 * when no URL is given. A name is a file in this folder; left out, all that fit. docs/benchmarks.md lists the options.
 */
import { cpus } from "node:os";
import { NAMES, readBench } from "./bench.ts";
import { readOptions } from "./options.ts";
import { stopShared } from "./servers/plain.ts";

const { names: asked, options } = readOptions();
const unknown = asked.find((name) => !NAMES.includes(name));
if (unknown) throw new Error(`No bench "${unknown}". There are: ${NAMES.join(", ")}.`);

console.log(`${options.url ?? "Weir, started here"}, Node ${process.version}, ${cpus().length} cores\n`);
try {
  for (const name of asked.length > 0 ? asked : NAMES) {
    const bench = await readBench(name);
    if (asked.length === 0 && bench.byName) continue;
    if (options.url && !bench.anyServer) {
      if (asked.length > 0) console.log(`${name}: only for a Weir started here.\n`);
      continue;
    }
    console.log(`## ${name}: ${bench.title}\n`);
    await bench.start(options);
    console.log("");
  }
} finally {
  await stopShared();
}
