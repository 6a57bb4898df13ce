/** `weir traces`: finds, reads, follows and exports the traces of a server, over its API. */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { CliFault, formatJson, oneLine, formatTime, readCount, cutText, indent, printJson } from "./console.ts";
import {
  buildQuery,
  type TraceOptions,
  LISTED,
  readPages,
  type ListedRun,
  gatherRuns,
  findProjectId,
  readOptions,
} from "./trace-query.ts";
import { setTimeout as pause } from "node:timers/promises";
import type { Fetch } from "./api.ts";
import { CREDENTIAL_HELP } from "./connection.ts";

// `weir traces export`: runs with their inputs and outputs, a line of JSON each.

const EXPORTED = [
  ...LISTED.filter((name) => !name.endsWith("_preview")),
  ...`parent_run_ids dotted_order thread_id reference_example_id inputs outputs error extra tags feedback_stats
    prompt_tokens completion_tokens prompt_cost completion_cost`.split(/\s+/),
];

export async function exportTraces(options: TraceOptions): Promise<void> {
  const { call, values } = options;
  const limit = options.limit(1_000);
  const query = { ...(await buildQuery(options)), selects: EXPORTED };
  const file = values.out === undefined ? undefined : createWriteStream(values.out);
  const cannot = (error: Error) => {
    throw new CliFault(`${values.out} cannot be written: ${error.message}`);
  };
  if (file) await once(file, "open").catch(cannot);
  let count = 0;
  let more = false;
  for await (const page of readPages(call, query, limit)) {
    more = page.more;
    count += page.items.length;
    for (const run of page.items) {
      const line = formatJson(run);
      if (!file) console.log(line);
      else if (!file.write(`${line}\n`)) await once(file, "drain");
    }
  }
  if (file) {
    file.end();
    await finished(file).catch(cannot);
  }
  console.error(`${count} runs.${more ? " There are more: --limit exports more." : ""}`);
}

// A run in one line.

/** What a run took and cost. Empty for what is not known. */
export function formatFigures({ latency_seconds: seconds, total_tokens: tokens, total_cost: cost }: ListedRun): string {
  const took = seconds === null ? "" : seconds < 1 ? `${Math.round(seconds * 1_000)} ms` : `${seconds.toFixed(1)} s`;
  return [took, tokens > 0 ? `${tokens} tokens` : "", cost ? `$${cost}` : ""].filter(Boolean).join("  ");
}

/** A run of a list: when it began, how it ended, and how its inputs begin or what it failed with. */
export function formatLine(run: ListedRun): string {
  const { start_time, status, name, id, trace_id, error_preview, inputs_preview } = run;
  const ids = id === trace_id ? trace_id : `${trace_id}  run ${id}`;
  const said = error_preview ? `error: ${error_preview}` : (inputs_preview ?? "");
  const parts = [formatTime(start_time), status.toLowerCase().padEnd(7), ids, oneLine(name, 40), formatFigures(run)];
  return [...parts, oneLine(said, 80)].filter(Boolean).join("  ");
}

// `weir traces show`: a trace as a tree, or one run of it.

const TREE = [...LISTED, "parent_run_ids", "dotted_order"];
const WHOLE = [...LISTED, "inputs", "outputs", "error", "metadata", "tags"];
const VALUES = ["error", "inputs", "outputs"] as const;

export async function showTrace(options: TraceOptions, id: string): Promise<void> {
  const { call, values } = options;
  const chars = readCount("chars", values.chars, 2_000);
  const limit = options.limit(200, 25_000);
  const asked = values.run ?? id;
  const run = await readRun(call, asked, WHOLE);
  if (values.run !== undefined) return values.json ? printJson(run) : console.log(formatRun(run, chars));
  // The id may be that of a run below the root.
  const query = { trace_id: run.trace_id, sort_order: "ASC", selects: TREE };
  const { runs, more } = await gatherRuns(call, query, limit);
  runs.sort((a, b) => ((a.dotted_order ?? "") < (b.dotted_order ?? "") ? -1 : 1));
  if (values.json) return printJson({ trace_id: run.trace_id, runs, more });
  for (const one of runs) console.log(formatBranch(one));
  if (more) console.log(`… more than ${limit} runs. --limit shows more.`);
  const root = run.id === run.trace_id ? run : await readRun(call, run.trace_id, WHOLE);
  console.log(`\n${formatRun(root, chars)}`);
}

async function readRun(call: TraceOptions["call"], id: string, selects: string[]): Promise<ListedRun> {
  return call<ListedRun>("GET", `/api/v2/runs/${encodeURIComponent(id)}?selects=${selects.join(",")}`);
}

/** A run in the tree: one line, and one more for what it failed with. */
function formatBranch(run: ListedRun): string {
  const space = "  ".repeat(run.parent_run_ids?.length ?? 0);
  const { name, run_type, status, id, error_preview } = run;
  const line = [oneLine(name, 60), run_type.toLowerCase(), status.toLowerCase(), formatFigures(run), id];
  const error = error_preview ? `\n${space}    ${oneLine(error_preview, 160)}` : "";
  return `${space}${line.filter(Boolean).join("  ")}${error}`;
}

function formatRun(run: ListedRun, chars: number): string {
  const head = [run.name, run.run_type.toLowerCase(), run.status.toLowerCase(), formatTime(run.start_time)];
  const parts = VALUES.flatMap((field) =>
    run[field] === undefined || run[field] === null ? [] : [`${field}:\n${indent(cutText(run[field], chars), "  ")}`],
  );
  return [oneLine([...head, formatFigures(run), run.id].filter(Boolean).join("  "), 400), ...parts].join("\n");
}

// `weir traces tail`: each trace once it has ended.

const PAUSE_MS = 2_000;
/** How late after its end a trace can arrive and still be shown. */
const LATE_MS = 300_000;
const MAX_A_POLL = 1_000;
/** How often in a row the server may not answer. */
const MAX_FAILURES = 5;

export async function tailTraces(given: TraceOptions, signal?: AbortSignal): Promise<void> {
  // The id of the project is read once, and not by each look.
  const options = { ...given, values: { ...given.values, project: await findProjectId(given) } };
  const show = (run: ListedRun) => console.log(options.values.json ? formatJson(run) : formatLine(run));
  const since = () => new Date(Date.now() - LATE_MS).toISOString();
  const before = await findEnded(options, "neq(end_time, null)", options.limit(10, MAX_A_POLL));
  const late = await findEnded(options, `gte(end_time, "${since()}")`, MAX_A_POLL);
  for (const run of before) show(run);
  const seen = new Map([...before, ...late].map((run) => [run.id, run.end_time ?? ""]));
  let failures = 0;
  while (await waitForNextPoll(signal)) {
    const begin = since();
    for (const [id, end] of seen) if (end < begin) seen.delete(id);
    try {
      for (const run of await findEnded(options, `gte(end_time, "${begin}")`, MAX_A_POLL)) {
        if (!seen.has(run.id)) show(run);
        seen.set(run.id, run.end_time ?? "");
      }
      failures = 0;
    } catch (error) {
      if (!(error instanceof CliFault) || ++failures >= MAX_FAILURES) throw error;
    }
  }
}

/** False once the signal is given. */
async function waitForNextPoll(signal: AbortSignal | undefined): Promise<boolean> {
  return pause(PAUSE_MS, true, { signal }).catch(() => false);
}

/** The newest traces that meet the condition, the oldest first. */
async function findEnded(options: TraceOptions, condition: string, most: number): Promise<ListedRun[]> {
  const query = { ...(await buildQuery(options, condition)), selects: LISTED };
  return (await gatherRuns(options.call, query, most)).runs.toReversed();
}

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
  else throw new CliFault(usage);
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
