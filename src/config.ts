/** What of `langgraph.json` the server honours while it runs. */
import * as v from "valibot";

/** `http.cors` of the deployment configuration, in LangGraph's names. */
export interface CorsSettings {
  allow_origins?: string[];
  allow_origin_regex?: string;
  allow_methods?: string[];
  allow_headers?: string[];
  allow_credentials?: boolean;
  expose_headers?: string[];
  /** Seconds. */
  max_age?: number;
}

const Off = v.optional(v.boolean(), false);
const Names = v.optional(v.array(v.string()));

const Cors = v.pipe(
  v.strictObject({
    allow_origins: Names,
    allow_origin_regex: v.optional(v.string()),
    allow_methods: Names,
    allow_headers: Names,
    allow_credentials: v.optional(v.boolean()),
    expose_headers: Names,
    max_age: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  }),
  v.check(
    ({ allow_credentials, allow_origins, allow_origin_regex }) =>
      !allow_credentials || (allow_origins ? !allow_origins.includes("*") : allow_origin_regex !== undefined),
    "allow_credentials needs origins by name",
  ),
  v.transform((given): CorsSettings => given),
);

/** Which headers of a request a graph reads in `configurable`. `*` at the end of a name matches any rest. */
const Headers = v.strictObject({ include: Names, exclude: Names, includes: Names, excludes: Names });

export const Http = v.strictObject({
  disable_a2a: Off,
  disable_agui: Off,
  disable_mcp: Off,
  disable_assistants: Off,
  disable_threads: Off,
  disable_runs: Off,
  disable_store: Off,
  disable_ui: Off,
  cors: v.optional(Cors),
  configurable_headers: v.optional(Headers),
  /** The path under which every route is, as a reverse proxy may need it. */
  mount_prefix: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\/[\w./-]*$/, "expected a path that begins with a slash"),
      v.transform((path) => path.replace(/\/+$/, "")),
    ),
  ),
});

const Minutes = v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(60 * 24 * 366 * 10)));

export const StoreTtl = v.strictObject({
  /** Of items that are stored without one. */
  default_ttl: Minutes,
  /** Whether a read that does not say so puts off an item's end. */
  refresh_on_read: v.optional(v.boolean()),
  /** Taken and not used: expired items are deleted every minute. */
  sweep_interval_minutes: v.optional(v.number()),
});

export const ThreadTtl = v.strictObject({
  strategy: v.optional(v.picklist(["delete", "keep_latest"]), "delete"),
  /** Of threads that are made without one. It counts from then. */
  default_ttl: Minutes,
  /** Taken and not used: a thread's own alarm ends it. */
  sweep_interval_minutes: v.optional(v.number()),
});

/** `fields`: the paths of an item's value that are indexed where the item does not name its own. */
const Index = v.strictObject({ fields: v.optional(v.array(v.string())) });

/** What a graph's default assistant is created with. */
export const GraphText = v.strictObject({
  description: v.optional(v.pipe(v.string(), v.maxLength(10_000))),
  metadata: v.optional(v.record(v.string(), v.unknown())),
});

/** The sections that the server itself reads. `flow` and `budgets` are with their nouns (limits), and createWeir reads all of them. */
export const SECTIONS = {
  graphs: v.optional(v.record(v.string(), GraphText), {}),
  http: v.optional(Http, {}),
  store: v.optional(v.strictObject({ ttl: v.optional(StoreTtl), index: v.optional(Index) })),
  checkpointer: v.optional(v.strictObject({ ttl: v.optional(ThreadTtl) })),
};
const Settings = v.strictObject(SECTIONS);
export type Settings = v.InferOutput<typeof Settings>;

/** Checks a configuration. Throws an error that names each key that is unknown or not as it must be. */
export function readConfig<Config>(value: unknown, schema: v.GenericSchema<unknown, Config>): Config {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw new Error(`langgraph.json: ${result.issues.map(describeIssue).join("; ")}.`);
}

/** One issue of a configuration file, as a clause that names the key. */
export function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue) ?? "";
  return issue.type === "strict_object" && issue.expected === "never"
    ? `"${path}" is not a known key`
    : `"${path}": ${issue.message}`;
}

/** The sections that the server itself reads, with their defaults. */
export const readSettings = (value: unknown): Settings => readConfig(value, Settings);

/** What this deployment is configured with, filled by createWeir. The Durable Objects read it too. */
export const settings: Settings = readSettings({});

// What an agent card may say of a graph: an assistant's `metadata.a2a`, and `a2a` of langgraph.json by graph id.

const Types = v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.minLength(1));
const Skill = v.object({
  id: v.string(),
  name: v.string(),
  description: v.string(),
  tags: v.pipe(v.array(v.string()), v.minLength(1)),
  examples: v.optional(v.array(v.string())),
});
const Extension = v.object({
  uri: v.pipe(v.string(), v.minLength(1)),
  description: v.optional(v.string()),
  required: v.optional(v.boolean()),
  params: v.optional(v.record(v.string(), v.unknown())),
});
const Address = v.pipe(v.string(), v.url());

export const CardSettings = v.strictObject({
  provider: v.optional(v.object({ organization: v.string(), url: Address })),
  documentation_url: v.optional(Address),
  icon_url: v.optional(Address),
  extensions: v.optional(v.pipe(v.array(Extension), v.minLength(1))),
  input_modes: v.optional(Types),
  output_modes: v.optional(Types),
  skills: v.optional(v.pipe(v.array(Skill), v.minLength(1))),
});
