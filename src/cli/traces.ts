/** `weir traces`: finds, reads, follows and exports the traces of a server, over its API. */
import type { Fetch } from "./api.ts";
import { CREDENTIAL_HELP } from "./connection.ts";
import { Fault } from "./fault.ts";
import { exportTraces } from "./traces/export.ts";
import { type TraceOptions, buildQuery, readOptions } from "./trace-query.ts";
import { showTrace } from "./traces/show.ts";
import { tailTraces } from "./traces/tail.ts";
import { printJson } from "./console.ts";
import { formatLine } from "./traces/line.ts";
import { LISTED, gatherRuns } from "./traces/pages.ts";

export const usage = `weir traces list [options]
weir traces show <trace id> [--run <run id>] [--limit <n>] [--chars <n>] [--json]
weir traces tail [options]
weir traces export [options] [--out <file>]

Lists the newest traces, shows one as a tree, follows those that end, or writes runs with their inputs and outputs as JSON
lines. A trace is chosen by its root run.

  --project <name>   a project, by name or id; "default" if left out
  --since <time>     those that began since then: a time, or 30m, 2h, 7d ago; 1d if left out
  --until <time>     those that began before then
  --errors           those whose root failed
  --filter <filter>  a filter of traces, such as 'gt(latency, "5s")' (Traces, in the documentation)
  --search <words>   those whose root has this text in its inputs, outputs, error or name
  --all-runs         every run and not only roots
  --limit <n>        how many: of list 20, of show 200 runs, of tail 10 before the first new one, of export 1000
  --json             JSON: an array of list, an object of show, a line each of tail
  --run <run id>     the inputs, outputs and error of one run of the trace
  --chars <n>        the most characters of each value that show prints; 2000 if left out
  --out <file>       where export writes; the standard output if left out
  --url <address>    a deployment; the local server (PORT, or 8787) if left out
  --workspace <id>   the workspace, where the admin key is used; the first one if left out

${CREDENTIAL_HELP("the scope read")}`;

/** `signal` ends `tail`, as Ctrl-C does. */
export async function run(argv: string[], fetch: Fetch = globalThis.fetch, signal?: AbortSignal): Promise<number> {
  const { verb, id, options } = readOptions(argv, fetch, usage);
  if (verb === "list" && id === undefined) await listTraces(options);
  else if (verb === "show" && id !== undefined) await showTrace(options, id);
  else if (verb === "tail" && id === undefined) await tailTraces(options, signal);
  else if (verb === "export" && id === undefined) await exportTraces(options);
  else throw new Fault(usage);
  return 0;
}

async function listTraces(options: TraceOptions): Promise<void> {
  const limit = options.limit(20, 1_000);
  const { runs, more } = await gatherRuns(options.call, { ...(await buildQuery(options)), selects: LISTED }, limit);
  if (options.values.json) return printJson(runs);
  for (const run of runs) console.log(formatLine(run));
  if (runs.length === 0) console.error('No traces match. --since is 1d if left out; --project is "default".');
  if (more) console.error(`There are more than ${limit}. --limit shows more, --until those before a time.`);
}
