/** The arguments of `weir traces`, and the query that they mean. */
import { parseArgs } from "node:util";
import { createApi, type Fetch } from "./api.ts";
import { isUuid } from "../lib/uuid.ts";
import { CONNECTION, connectionFor } from "./connection.ts";
import { CliFault, readCount, readTime } from "./console.ts";

const OPTIONS = {
  ...CONNECTION,
  project: { type: "string" },
  since: { type: "string" },
  until: { type: "string" },
  errors: { type: "boolean" },
  filter: { type: "string" },
  search: { type: "string" },
  "all-runs": { type: "boolean" },
  limit: { type: "string" },
  json: { type: "boolean" },
  run: { type: "string" },
  chars: { type: "string" },
  out: { type: "string" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

export interface TraceOptions {
  call: ReturnType<typeof createApi>;
  values: Values;
  /** The number of `--limit`. */
  limit: (usual: number, most?: number) => number;
}

export function readOptions(argv: string[], fetch: Fetch, usage: string) {
  const { values, positionals } = parseArgs({ args: argv, allowPositionals: true, options: OPTIONS });
  const [verb, id, more] = positionals;
  if (more !== undefined) throw new CliFault(usage);
  const call = createApi({ ...connectionFor(values), root: "", fetch });
  const limit = (usual: number, most?: number) => readCount("limit", values.limit, usual, most);
  return { verb, id, options: { call, values, limit } satisfies TraceOptions };
}

/** The body of a query for what the options choose; `also` is one more filter. */
export async function buildQuery(options: TraceOptions, also?: string): Promise<Record<string, unknown>> {
  const { values } = options;
  const { since = "1d", until, errors, filter, search } = values;
  const conditions = [filter, search && `search(${JSON.stringify(search)})`, also].filter(Boolean);
  return {
    project_ids: [await findProjectId(options)],
    min_start_time: readTime("since", since),
    ...(until !== undefined && { max_start_time: readTime("until", until) }),
    ...(errors && { has_error: true }),
    ...(!values["all-runs"] && { is_root: true }),
    ...(conditions.length > 0 && { filter: conditions.length > 1 ? `and(${conditions.join(", ")})` : conditions[0] }),
  };
}

/** The id of the project that is given by name or id. @throws Fault with the names that exist */
export async function findProjectId({ call, values: { project: given = "default" } }: TraceOptions): Promise<string> {
  if (isUuid(given)) return given;
  type Projects = { id: string; name: string }[];
  const [found] = await call<Projects>("GET", `/api/v1/sessions?name=${encodeURIComponent(given)}`);
  if (found) return found.id;
  const others = await call<Projects>("GET", "/api/v1/sessions?reference_free=true&limit=20");
  const names = others.map(({ name }) => `"${name}"`).join(", ");
  throw new CliFault(
    `There is no project "${given}". ${names ? `There is ${names}.` : "The workspace has no traces."}`,
  );
}

// Runs of a query, page by page.

/** A run as the second generation of queries gives it, with the fields that are selected. */
export interface ListedRun {
  id: string;
  trace_id: string;
  name: string;
  run_type: string;
  status: string;
  start_time: string;
  end_time: string | null;
  latency_seconds: number | null;
  parent_run_ids?: string[];
  dotted_order?: string;
  total_tokens: number;
  total_cost: number | null;
  inputs_preview?: string | null;
  outputs_preview?: string | null;
  error_preview?: string | null;
  inputs?: unknown;
  outputs?: unknown;
  error?: string | null;
}

export const LISTED = `id trace_id name run_type status start_time end_time latency_seconds total_tokens total_cost
  inputs_preview outputs_preview error_preview`.split(/\s+/);

const PAGE = 100;

/** Pages of at most `most` runs. The last one says whether more match. */
export async function* readPages(
  call: TraceOptions["call"],
  query: Record<string, unknown>,
  most: number,
): AsyncGenerator<{ items: ListedRun[]; more: boolean }> {
  let cursor: string | null = null;
  let left = most;
  do {
    const body: Record<string, unknown> = { ...query, page_size: Math.min(left, PAGE), ...(cursor && { cursor }) };
    const page = await call<{ items: ListedRun[]; next_cursor: string | null }>("POST", "/api/v2/runs/query", body);
    cursor = page.next_cursor;
    left -= page.items.length;
    yield { items: page.items, more: cursor !== null };
  } while (cursor !== null && left > 0);
}

/** All of them, for a number that fits in memory. */
export async function gatherRuns(
  call: TraceOptions["call"],
  query: Record<string, unknown>,
  most: number,
): Promise<{ runs: ListedRun[]; more: boolean }> {
  const runs: ListedRun[] = [];
  let more = false;
  for await (const page of readPages(call, query, most)) {
    runs.push(...page.items);
    more = page.more;
  }
  return { runs, more };
}
