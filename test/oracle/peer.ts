/**
 * `npm run oracle`: programs of the pairs through the stock client, on the JavaScript Agent Server in memory and on
 * Weir, with the same graphs. Prints what differs, each with the first program that shows it.
 */
import { mkdtempSync, cpSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { type PeerProject, setUpPeer, startPeer } from "../../tools/bench/servers/peer.ts";
import { startDev } from "../support/project.ts";
import { nameGraph, observe, PROGRAMS, type Program, SHAPES, type Observations } from "./peer-programs.ts";
import { difference } from "./views.ts";

/** Programs that run at the same time on each server. */
const AT_ONCE = 6;

/** The oracle's graphs as a project. They import no Weir. */
function project(): PeerProject {
  const source = mkdtempSync(join(tmpdir(), "weir-oracle-"));
  cpSync(join(import.meta.dirname, "graphs.ts"), join(source, "graphs.ts"));
  const names = SHAPES.map(nameGraph);
  const made = SHAPES.map((shape) => `export const ${nameGraph(shape)} = build(${JSON.stringify(shape)});`);
  return {
    source,
    entry: `import { build } from "./src/graphs.ts";\n${made.join("\n")}\n`,
    graphs: Object.fromEntries(names.map((name) => [name, `./graphs.ts:${name}`])),
  };
}

/** Runs the programs on both servers. */
export async function compareWithPeer(words: string): Promise<void> {
  const given = project();
  const folder = setUpPeer(given);
  rmSync(given.source, { recursive: true });
  // It deletes the folder when it stops.
  await using peer = await startPeer(folder);
  const weir = await startDev(folder);
  try {
    await weir.says(/Weir listens on/);
    const chosen = PROGRAMS.filter(({ name }) => name.includes(words));
    const reference = await observeAll(chosen, peer.url);
    report(chosen, reference, await observeAll(chosen, weir.url));
  } finally {
    await weir.stop();
  }
}

async function observeAll(programs: Program[], apiUrl: string): Promise<Observations[]> {
  const client = new Client({ apiUrl, callerOptions: { maxRetries: 0 } });
  const found: Observations[] = [];
  const left = [...programs.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) found[next[0]] = await observe(client, next[1]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

function report(programs: Program[], reference: Observations[], ours: Observations[]): void {
  const shown = new Map<string, { first: string; programs: string[] }>();
  for (const [i, { name }] of programs.entries()) {
    const [theirs = new Map<string, unknown>(), own = new Map<string, unknown>()] = [reference[i], ours[i]];
    for (const what of new Set([...theirs.keys(), ...own.keys()])) {
      const differs = difference(own.get(what) ?? null, theirs.get(what) ?? null);
      if (!differs) continue;
      const known = shown.get(what) ?? { first: differs.replace(", must be ", " here, there "), programs: [] };
      shown.set(what, { ...known, programs: [...known.programs, name] });
    }
  }
  console.log(`${programs.length} programs, ${shown.size} observations differ`);
  for (const [what, { first, programs: names }] of shown)
    console.log(`${what}: ${first}\n  in ${names.length} programs: ${names.slice(0, 4).join("; ")}`);
}
