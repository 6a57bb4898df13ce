/** `weir threads`: finds threads of a server, and reads their state, history and runs, over its API. */
import { parseArgs } from "node:util";
import { createApi, type Fetch } from "./api.ts";
import { CONNECTION, connectionFor, CREDENTIAL_HELP } from "./connection.ts";
import { Fault } from "./fault.ts";
import { readCount } from "./numbers.ts";
import { listThreads } from "./threads/list.ts";
import { showHistory, showRuns, showThread } from "./threads/show.ts";

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
  else throw new Fault(usage);
  return 0;
}
