/** What of `langgraph.json` the server honours while it runs. */
import * as v from "valibot";
import type { CorsSettings } from "./http/headers.ts";

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

export const Http = v.strictObject({
  disable_a2a: Off,
  disable_mcp: Off,
  disable_assistants: Off,
  disable_threads: Off,
  disable_runs: Off,
  disable_store: Off,
  cors: v.optional(Cors),
});

const Config = v.strictObject({ http: v.optional(Http, {}) });
export type Config = v.InferOutput<typeof Config>;

/** Checks a configuration. Throws an error that names each key that is unknown or not as it must be. */
export function readConfig(value: unknown): Config {
  const result = v.safeParse(Config, value);
  if (result.success) return result.output;
  throw new Error(`langgraph.json: ${result.issues.map(faultOf).join("; ")}.`);
}

/** One issue of a configuration file, as a clause that names the key. */
export function faultOf(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue) ?? "";
  return issue.type === "strict_object" && issue.expected === "never"
    ? `"${path}" is not a key that Weir knows`
    : `"${path}": ${issue.message}`;
}
