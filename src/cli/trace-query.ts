/** The arguments of `weir traces`, and the query that they mean. */
import { parseArgs } from "node:util";
import { createApi, type Fetch } from "./api.ts";
import { isUuid } from "../lib/uuid.ts";
import { CONNECTION, connectionFor } from "./connection.ts";
import { Fault } from "./fault.ts";
import { readCount, readTime } from "./numbers.ts";

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
  if (more !== undefined) throw new Fault(usage);
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
  throw new Fault(`There is no project "${given}". ${names ? `There is ${names}.` : "The workspace has no traces."}`);
}
