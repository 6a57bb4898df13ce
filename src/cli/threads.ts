/** `weir threads list`. */
import { createApi, type Fetch } from "./api.ts";
import { CliFault, readTime, oneLine, printJson, formatTime, cutText, indent, readCount } from "./console.ts";
import { parseArgs } from "node:util";
import { CONNECTION, connectionFor, CREDENTIAL_HELP } from "./connection.ts";

interface Thread {
  thread_id: string;
  updated_at: string;
  status: string;
  metadata: Record<string, unknown>;
  error?: unknown;
}

interface Options {
  status?: string;
  search?: string;
  metadata?: string[];
  since?: string;
  until?: string;
  limit: number;
  json?: boolean;
}

const PAGE = 100;
const FIELDS = ["thread_id", "created_at", "updated_at", "status", "metadata", "error"];

export async function listThreads(call: ReturnType<typeof createApi>, options: Options): Promise<void> {
  const { threads, more } = await find(call, options);
  if (options.json) return printJson(threads);
  for (const thread of threads) console.log(formatLine(thread));
  if (threads.length === 0) console.error("No threads match.");
  if (more) console.error(`There are more than ${options.limit}. --limit shows more, --until those before a time.`);
}

/** The threads that changed last come first, so the search ends at the first one that is too old. */
async function find(
  call: ReturnType<typeof createApi>,
  options: Options,
): Promise<{ threads: Thread[]; more: boolean }> {
  const { status, search, metadata = [], limit } = options;
  const since = options.since === undefined ? "" : readTime("since", options.since);
  const until = options.until === undefined ? "9999" : readTime("until", options.until);
  const chosen = {
    sort_by: "updated_at",
    sort_order: "desc",
    select: FIELDS,
    ...(status !== undefined && { status }),
    ...(search !== undefined && { query: search }),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata.map(splitPair)) }),
  };
  const threads: Thread[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = await call<Thread[]>("POST", "/threads/search", { ...chosen, limit: PAGE, offset });
    threads.push(...page.filter(({ updated_at: at }) => at >= since && at < until));
    if (threads.length > limit) return { threads: threads.slice(0, limit), more: true };
    if (page.length < PAGE || (page.at(-1)?.updated_at ?? "") < since) return { threads, more: false };
  }
}

function splitPair(text: string): [string, unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw new CliFault(`--metadata is "${text}". Give <key>=<value>.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function formatLine({ updated_at, status, thread_id, metadata }: Thread): string {
  const { graph_id: graph, title } = metadata;
  const names = [graph, title].map((name) => (typeof name === "string" ? oneLine(name, 60) : ""));
  return [formatTime(updated_at), status.padEnd(11), thread_id, ...names].filter(Boolean).join("  ");
}

// `weir threads show`, `history` and `runs`: one thread.

type Call = ReturnType<typeof createApi>;

interface ShownThread {
  status: string;
  updated_at: string;
  metadata: object;
  values: Record<string, unknown> | null;
  interrupts: Record<string, unknown>;
  error?: { error: string; message: string };
}

interface Checkpoint {
  checkpoint: { checkpoint_id: string } | null;
  created_at: string | null;
  next: string[];
  metadata: { step?: number; source?: string; run_id?: string } | null;
  tasks: { name: string; error: string | null; interrupts: unknown[] }[];
}

interface Run {
  run_id: string;
  created_at: string;
  updated_at: string;
  status: string;
  assistant_id: string;
}

const path = (id: string) => `/threads/${encodeURIComponent(id)}`;

export async function showThread(call: Call, id: string, { json, chars }: { json?: boolean; chars: number }) {
  const thread = await call<ShownThread>("GET", path(id));
  if (json) return printJson(thread);
  const { status, updated_at, metadata, values, interrupts, error } = thread;
  const waits = Object.values(interrupts).flat();
  console.log(`${id}  ${status}  ${formatTime(updated_at)}\nmetadata: ${oneLine(JSON.stringify(metadata), chars)}`);
  if (error) console.log(`error: ${cutText(`${error.error}: ${error.message}`, chars)}`);
  if (waits.length > 0) console.log(`waits for an answer to:\n${indent(cutText(waits, chars), "  ")}`);
  for (const [name, value] of Object.entries(values ?? {}))
    console.log(`${oneLine(name, 100)}:\n${indent(cutText(value, chars), "  ")}`);
}

export async function showHistory(
  call: Call,
  id: string,
  { json, limit, before }: { json?: boolean; limit: number; before?: string },
) {
  // The values of a long thread are large: only JSON has them.
  const select = json ? undefined : ["checkpoint", "created_at", "next", "metadata", "tasks"];
  const body = { limit, ...(before !== undefined && { before }), ...(select && { select }) };
  const states = await call<Checkpoint[]>("POST", `${path(id)}/history`, body);
  if (json) return printJson(states);
  for (const state of states) console.log(formatCheckpoint(state));
  const last = states.at(-1)?.checkpoint?.checkpoint_id;
  if (states.length === limit && last) console.error(`--before ${last} shows those before.`);
}

function formatCheckpoint({ checkpoint, created_at, next, metadata, tasks }: Checkpoint): string {
  const errors = tasks.flatMap(({ name, error }) => (error ? `error in ${name}: ${error}` : []));
  const waits = tasks.some(({ interrupts }) => interrupts.length > 0) ? "waits for an answer" : "";
  const then = next.length > 0 ? `next ${next.join(", ")}` : "end";
  const step = `step ${metadata?.step ?? "?"} (${metadata?.source ?? "?"})`;
  const parts = [formatTime(created_at), checkpoint?.checkpoint_id, step, then, waits, ...errors];
  return oneLine(parts.filter(Boolean).join("  "), 400);
}

export async function showRuns(call: Call, id: string, { json, limit }: { json?: boolean; limit: number }) {
  const runs = await call<Run[]>("GET", `${path(id)}/runs?limit=${limit}`);
  if (json) return printJson(runs);
  for (const { run_id, created_at, updated_at, status, assistant_id } of runs)
    console.log([formatTime(created_at), status.padEnd(11), run_id, assistant_id, formatTime(updated_at)].join("  "));
}

// `weir threads`: finds threads of a server, and reads their state, history and runs, over its API.

export const usage = `weir threads list [options]
weir threads show <thread id> [--chars <n>] [--json]
weir threads history <thread id> [--limit <n>] [--before <checkpoint id>] [--json]
weir threads runs <thread id> [--limit <n>] [--json]

Lists the threads that changed last; shows a thread with its state, its checkpoints or its runs, the newest first.

  --status <status>   threads that are idle, busy, interrupted or error
  --search <words>    threads with these words
  --metadata <k=v>    threads with this metadata; may be repeated
  --since <time>      those that changed since then: a time, or 30m, 2h, 7d ago
  --until <time>      those that changed before then
  --limit <n>         how many; 20 if left out, at most 1000
  --before <id>       checkpoints before this one
  --chars <n>         the most characters of each value that show prints; 2000 if left out
  --json              what the server answers, as JSON
  --url <address>     a deployment; the local server (PORT, or 8787) if left out
  --workspace <id>    the workspace, where the admin key is used; the first one if left out

${CREDENTIAL_HELP("the scope read")}`;

const OPTIONS = {
  ...CONNECTION,
  status: { type: "string" },
  search: { type: "string" },
  metadata: { type: "string", multiple: true },
  since: { type: "string" },
  until: { type: "string" },
  limit: { type: "string" },
  before: { type: "string" },
  chars: { type: "string" },
  json: { type: "boolean" },
} as const;

export async function run(argv: string[], fetch: Fetch = globalThis.fetch): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, allowPositionals: true, options: OPTIONS });
  const [verb, id, more] = positionals;
  const call = createApi({ ...connectionFor(values), root: "", fetch });
  const limit = readCount("limit", values.limit, 20, 1_000);
  const chars = readCount("chars", values.chars, 2_000);
  const isAbout = (name: string) => verb === name && id !== undefined && more === undefined;
  if (verb === "list" && id === undefined) await listThreads(call, { ...values, limit });
  else if (isAbout("show")) await showThread(call, id ?? "", { ...values, chars });
  else if (isAbout("history")) await showHistory(call, id ?? "", { ...values, limit });
  else if (isAbout("runs")) await showRuns(call, id ?? "", { ...values, limit });
  else throw new CliFault(usage);
  return 0;
}
