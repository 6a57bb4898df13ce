/** The deployment configuration: `langgraph.json` at the root, the file that LangGraph users have, read at build. */
import * as v from "valibot";
import file from "../langgraph.json";
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

const Http = v.strictObject({
  disable_a2a: Off,
  disable_agui: Off,
  disable_mcp: Off,
  disable_assistants: Off,
  disable_threads: Off,
  disable_runs: Off,
  disable_store: Off,
  cors: v.optional(Cors),
});

/** For LangGraph's own tools, which build images of a graph's code: Weir takes them and has no use for them. */
const ELSEWHERE = [
  "$schema",
  "_INTERNAL_docker_tag",
  "api_version",
  "base_image",
  "dependencies",
  "dockerfile_lines",
  "env",
  "graphs",
  "image_distro",
  "keep_pkg_tools",
  "node_version",
  "pip_config_file",
  "pip_installer",
  "python_version",
] as const;
const ignored = Object.fromEntries(ELSEWHERE.map((name) => [name, v.optional(v.unknown())]));

const Config = v.strictObject({ ...ignored, http: v.optional(Http, {}) });

export interface Config {
  http: v.InferOutput<typeof Http>;
}

/** Checks a configuration. Throws an error that names each key that is unknown or not as it must be. */
export function readConfig(value: unknown): Config {
  const result = v.safeParse(Config, value);
  if (result.success) return { http: result.output.http };
  const faults = result.issues.map((issue) => {
    const path = v.getDotPath(issue) ?? "";
    return issue.type === "strict_object" && issue.expected === "never"
      ? `"${path}" is not a key that Weir knows`
      : `"${path}": ${issue.message}`;
  });
  throw new Error(`langgraph.json: ${faults.join("; ")}.`);
}

export const config = readConfig(file);
