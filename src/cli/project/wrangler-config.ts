/** Joins the project's own wrangler configuration with Weir's. docs/configuration.md says who owns what. */
import type { Json } from "../../lib/json.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { CliFault } from "../console.ts";

// Reads a wrangler configuration: TOML, or JSON with comments.

/** A wrangler configuration, as far as this package reads it. Paths in it are relative to its file. */
export interface WranglerConfig extends Json {
  name?: string;
  main?: string;
  compatibility_date?: string;
  compatibility_flags?: string[];
  vars?: Json;
  env?: Record<string, WranglerConfig>;
}

/** The project's own configuration, in wrangler's order of preference; undefined when there is none. */
export function findWranglerFile(root: string): string | undefined {
  return ["wrangler.json", "wrangler.jsonc", "wrangler.toml"].map((name) => join(root, name)).find(existsSync);
}

export function readWranglerFile(file: string): WranglerConfig {
  const text = readFileSync(file, "utf8");
  try {
    return (file.endsWith(".toml") ? parseToml(text) : JSON.parse(withoutComments(text))) as WranglerConfig;
  } catch (error) {
    throw new CliFault(`${file}: ${(error as Error).message}`);
  }
}

/** JSON without its comments and commas before a closing bracket; strings stay as they are. */
function withoutComments(text: string): string {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
    part.startsWith('"') ? part : "",
  );
  return bare.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === "," ? "" : part));
}

/** Keys that Weir sets. They override the project's configuration. */
export const OURS = [
  "main",
  "assets",
  "migrations_dir",
  "build",
  "no_bundle",
  "base_dir",
  "rules",
  "find_additional_modules",
];

/** Keys that a named environment does not inherit from the top level: wrangler's own list. */
const PER_ENVIRONMENT = new Set([
  "vars",
  "define",
  "durable_objects",
  "workflows",
  "kv_namespaces",
  "queues",
  "r2_buckets",
  "d1_databases",
  "vectorize",
  "hyperdrive",
  "services",
  "analytics_engine_datasets",
  "ai",
  "ai_search",
  "browser",
  "images",
  "media",
  "version_metadata",
  "unsafe",
  "mtls_certificates",
  "tail_consumers",
  "streaming_tail_consumers",
  "send_email",
  "dispatch_namespaces",
  "secrets_store_secrets",
  "unsafe_hello_world",
  "ratelimits",
  "worker_loaders",
  "vpc_services",
  "pipelines",
  "cloudchamber",
  "containers",
]);

/** The lists of bindings, and the member that identifies an entry of each. */
const LISTS: Record<string, string> = {
  kv_namespaces: "binding",
  r2_buckets: "binding",
  d1_databases: "binding",
  vectorize: "binding",
  hyperdrive: "binding",
  services: "binding",
  analytics_engine_datasets: "binding",
  mtls_certificates: "binding",
  dispatch_namespaces: "binding",
  secrets_store_secrets: "binding",
  workflows: "binding",
  pipelines: "binding",
  send_email: "name",
  ratelimits: "name",
};

/** Where a project's entry for a binding of Weir's says which resource to use. */
export const RESOURCE = [
  "id",
  "database_id",
  "database_name",
  "bucket_name",
  "preview_database_id",
  "preview_bucket_name",
  "jurisdiction",
  "remote",
  "queue",
  "namespace_id",
];

/** The configuration of one environment as if it were the only one. Throws a Fault when the file does not have it. */
export function flattenEnvironment(config: WranglerConfig, env: string | undefined, file: string): WranglerConfig {
  const { env: environments = {}, ...top } = config;
  if (env === undefined) return top;
  const own = environments[env];
  if (!own) {
    const names = Object.keys(environments).join(", ") || "none";
    throw new CliFault(`${file} has no environment "${env}". It has: ${names}.`);
  }
  const inherited = Object.fromEntries(Object.entries(top).filter(([key]) => !PER_ENVIRONMENT.has(key)));
  return { ...inherited, ...own, name: own.name ?? (top.name && `${top.name}-${env}`) };
}

/**
 * Weir's configuration with what the project's adds. Lists join by binding; the project may give a binding of Weir's
 * another resource. Throws a Fault that names both sides of a collision.
 */
export function joinConfigs(ours: WranglerConfig, theirs: WranglerConfig, file: string): WranglerConfig {
  const result: WranglerConfig = { ...ours };
  for (const [key, value] of Object.entries(theirs)) {
    if (OURS.includes(key)) continue;
    if (key in LISTS) result[key] = joinLists(ours[key], value, { key, by: LISTS[key] as string, file });
    else if (key === "queues") result[key] = followProducers(ours[key], lists(ours[key], value, key, file));
    else if (key === "durable_objects" || key === "triggers") result[key] = lists(ours[key], value, key, file);
    else if (key === "compatibility_date") result[key] = [ours[key] ?? "", String(value)].sort().at(-1);
    else if (key === "compatibility_flags") result[key] = [...new Set([...(ours[key] ?? []), ...(value as string[])])];
    else if (key === "exports" || key === "vars") result[key] = unique(ours[key], value, key, file);
    else if (key === "migrations" && ours.exports)
      throw new CliFault(
        `${file}: "migrations" cannot be joined with Weir's "exports". Declare your Durable Objects in "exports".`,
      );
    else if (isObject(value) && isObject(ours[key])) result[key] = { ...ours[key], ...value };
    else result[key] = value;
  }
  return withoutImplied(result);
}

/** Flags of Weir's that later compatibility dates have by themselves: workerd refuses one that its date implies. */
const IMPLIED: Record<string, string> = { enable_request_signal: "2026-11-17" };

function withoutImplied({ compatibility_flags: flags, ...config }: WranglerConfig): WranglerConfig {
  const date = config.compatibility_date ?? "";
  return {
    ...config,
    ...(flags && { compatibility_flags: flags.filter((flag) => !(date >= (IMPLIED[flag] ?? "9"))) }),
  };
}

interface BindingLocation {
  key: string;
  by: string;
  file: string;
}

function joinLists(ours: unknown, theirs: unknown, { key, by, file }: BindingLocation): Json[] {
  const result = [...((ours ?? []) as Json[])];
  for (const entry of theirs as Json[]) {
    const at = result.findIndex((one) => one[by] === entry[by]);
    if (at < 0) result.push(entry);
    else {
      const foreign = Object.keys(entry).filter((name) => name !== by && !RESOURCE.includes(name));
      if (foreign.length > 0)
        throw new CliFault(
          `${file}: "${key}" has an entry "${String(entry[by])}", which is a binding of Weir's. It may name the resource (${RESOURCE.slice(0, 4).join(", ")}), but not set ${foreign.join(", ")}. Rename your binding if you mean another one.`,
        );
      result[at] = { ...result[at], ...entry };
    }
  }
  return result;
}

/** An object of lists: Durable Object bindings, queue producers and consumers, cron triggers. */
function lists(ours: unknown, theirs: unknown, key: string, file: string): Json {
  const result: Json = { ...(ours as Json | undefined) };
  for (const [name, value] of Object.entries(theirs as Json)) {
    const known = (result[name] ?? []) as Json[];
    if (name === "crons") result[name] = [...new Set([...(known as unknown[]), ...(value as unknown[])])];
    else if (name === "bindings") result[name] = collisions(known, value as Json[], "name", `${key}.${name}`, file);
    else if (name === "producers")
      result[name] = joinLists(known, value, { key: `${key}.${name}`, by: "binding", file });
    else result[name] = collisions(known, value as Json[], "queue", `${key}.${name}`, file);
  }
  return result;
}

/** Consumers follow a producer of Weir's that the project gives another queue. */
function followProducers(ours: unknown, queues: Json): Json {
  const { producers: before = [] } = (ours ?? {}) as { producers?: Json[] };
  const { producers = [], consumers = [] } = queues as { producers?: Json[]; consumers?: Json[] };
  const renamed = new Map(
    before.map(({ binding, queue }) => [queue, producers.find((one) => one.binding === binding)?.queue]),
  );
  return { ...queues, consumers: consumers.map((one) => ({ ...one, queue: renamed.get(one.queue) ?? one.queue })) };
}

function collisions(ours: Json[], theirs: Json[], by: string, key: string, file: string): Json[] {
  for (const entry of theirs)
    if (ours.some((one) => one[by] === entry[by]))
      throw new CliFault(`${file}: "${key}" has an entry "${String(entry[by])}", which Weir has too. Rename yours.`);
  return [...ours, ...theirs];
}

function unique(ours: unknown, theirs: unknown, key: string, file: string): Json {
  const [left, right] = [(ours ?? {}) as Json, theirs as Json];
  // A variable of Weir's may be given another value; a class may not be replaced.
  const both = key === "vars" ? undefined : Object.keys(right).find((name) => Object.hasOwn(left, name));
  if (both) throw new CliFault(`${file}: "${key}" has an entry "${both}", which Weir has too. Rename yours.`);
  return { ...left, ...right };
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
