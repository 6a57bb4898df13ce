/** Writes `.weir/worker.ts` and `.weir/wrangler.json` from langgraph.json and the project's own wrangler configuration. */
import { createHash } from "node:crypto";
import { CliFault } from "../console.ts";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { MODULE_RULES } from "../bundle/bundle.ts";
import { BASE_CONFIG, MIGRATIONS, PAGE } from "./package.ts";
import { type Project, posix, writeWhole } from "./project.ts";
import { workerSource } from "./worker-source.ts";
import {
  flattenEnvironment,
  joinConfigs,
  type WranglerConfig,
  findWranglerFile,
  readWranglerFile,
} from "./wrangler-config.ts";

// What a deployment has in its Cloudflare account: every name is made of the Worker's name.

/** Bindings of Weir to the names of what is bound. Rate limits are identified by numbers, as text. */
export interface WorkerResources {
  worker: string;
  databases: { DB: string };
  buckets: { BLOBS: string; EXPORTS_BUCKET: string };
  queues: { EXPORTS: string; CRON_QUEUE: string; RULES: string };
  rateLimits: { KEY_LIMIT: string; ADDRESS_LIMIT: string; TOTAL_LIMIT: string };
  /** Variables with names that the Worker cannot read from a binding. */
  vars: { EXPORTS_BUCKET_NAME: string };
}

/** Names of buckets and queues have at most 63 characters; `-exports` is the longest suffix. */
const MAX_NAME_LENGTH = 63 - "-exports".length;
const NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/**
 * The resources of the deployment `name`, of its environment `env` if one is given. The Worker of an environment is
 * `<name>-<env>`, as with Wrangler. A Worker's name is unique in an account and each resource's name is the Worker's
 * name with a suffix, so two deployments never share one.
 *
 * @throws Fault with a sentence for the terminal, when R2 and Queues do not accept names made of this one.
 */
export function nameResources(name: string, env?: string): WorkerResources {
  const worker = env ? `${name}-${env}` : name;
  if (!NAME.test(worker)) {
    throw new CliFault(
      `"${worker}" cannot name a deployment: use lower-case letters, digits and hyphens, with a letter or digit at both ends. ` +
        'Set "name" in wrangler.jsonc.',
    );
  }
  if (worker.length > MAX_NAME_LENGTH) {
    throw new CliFault(
      `"${worker}" cannot name a deployment: it has ${worker.length} characters, and the most is ${MAX_NAME_LENGTH}. ` +
        'Set a shorter "name" in wrangler.jsonc.',
    );
  }
  const limit = rateLimitIds(worker);
  return {
    worker,
    databases: { DB: worker },
    buckets: { BLOBS: `${worker}-blobs`, EXPORTS_BUCKET: `${worker}-exports` },
    queues: { EXPORTS: `${worker}-exports`, CRON_QUEUE: `${worker}-crons`, RULES: `${worker}-rules` },
    rateLimits: { KEY_LIMIT: limit(1), ADDRESS_LIMIT: limit(2), TOTAL_LIMIT: limit(3) },
    vars: { EXPORTS_BUCKET_NAME: `${worker}-exports` },
  };
}

/**
 * A namespace of rate limits is a positive integer that an account's Workers share when they name the same one. Nothing
 * lists those in use, so they come from a hash of the Worker's name: 28 bits of it and two bits for the limit.
 */
function rateLimitIds(worker: string): (n: 1 | 2 | 3) => string {
  const hash = createHash("sha256").update(worker).digest().readUInt32BE() >>> 4;
  return (n) => String(hash * 4 + n);
}

export interface GeneratedConfig {
  wranglerPath: string;
  wrangler: WranglerConfig;
  /** A sentence for each key that has no effect, and for each choice that the user should know about. */
  warnings: string[];
}

/** The name of a Worker: lower case letters, digits and dashes, at most 48 so that the names of its resources fit into 63. */
export function workerName(text: string): string {
  const plain = text
    .replace(/^@[^/]*\//, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  return plain.slice(0, 48).replace(/^-+|-+$/g, "") || "weir";
}

function readName(root: string): string {
  const file = join(root, "package.json");
  const { name } = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { name?: string }) : {};
  return workerName(name ?? basename(root));
}

interface Base extends WranglerConfig {
  d1_databases: { binding: keyof WorkerResources["databases"] }[];
  r2_buckets: { binding: keyof WorkerResources["buckets"]; bucket_name?: string }[];
  queues: { producers: { binding: keyof WorkerResources["queues"]; queue: string }[]; consumers: { queue: string }[] };
  ratelimits: { name: keyof WorkerResources["rateLimits"] }[];
  assets: { run_worker_first: string[] };
}

/** The deployment's resources. The variable follows the bucket that the project's configuration gives to the binding. */
function resourcesFor(name: string, theirs: WranglerConfig): WorkerResources {
  const resources = nameResources(name);
  const { r2_buckets = [] } = theirs as { r2_buckets?: Base["r2_buckets"] };
  const given = r2_buckets.find(({ binding }) => binding === "EXPORTS_BUCKET")?.bucket_name;
  return { ...resources, vars: { EXPORTS_BUCKET_NAME: given ?? resources.vars.EXPORTS_BUCKET_NAME } };
}

/**
 * The common part of every configuration: the bundle, and the paths of the package's files relative to the project's
 * `.weir`.
 */
function commonConfig(project: Project, databases: object[]): WranglerConfig {
  const folder = project.weirDir;
  return {
    main: "build/worker.js",
    // The bundle is complete: at this compatibility date the platform has all of Node's modules.
    no_bundle: true,
    find_additional_modules: true,
    rules: MODULE_RULES,
    d1_databases: databases.map((one) => ({ ...one, ...migrationsFolder(one, folder) })),
    assets: { directory: posix(folder, preparePage(project)), run_worker_first: workerPaths(project) },
  };
}

/** The paths that go to the Worker without a search for a file of the page, under the deployment's prefix. */
function workerPaths({ config }: Project): string[] {
  const { assets } = readWranglerFile(BASE_CONFIG) as Base;
  return assets.run_worker_first.map((path) => `${config.http?.mount_prefix ?? ""}${path}`);
}

/** The migrations are the package's, for Weir's own database. */
const migrationsFolder = (database: { binding?: string }, folder: string): object =>
  database.binding === "DB" ? { migrations_dir: posix(folder, MIGRATIONS) } : {};

/** Weir's own configuration, with resources named after the deployment. */
function ownConfig(project: Project, { worker: name, databases, buckets, queues, rateLimits, vars }: WorkerResources) {
  const base = readWranglerFile(BASE_CONFIG) as Base;
  const { producers, consumers } = base.queues;
  const queueName = (named: string) => queues[producers.find(({ queue }) => queue === named)?.binding as "EXPORTS"];
  return {
    ...base,
    name,
    ...commonConfig(
      project,
      base.d1_databases.map((one) => ({ ...one, database_name: databases[one.binding] })),
    ),
    r2_buckets: base.r2_buckets.map((one) => ({ ...one, bucket_name: buckets[one.binding] })),
    queues: {
      producers: producers.map((one) => ({ ...one, queue: queues[one.binding] })),
      consumers: consumers.map((one) => ({ ...one, queue: queueName(one.queue) })),
    },
    ratelimits: base.ratelimits.map((one) => ({ ...one, namespace_id: rateLimits[one.name] })),
    vars,
  };
}

/** Whether the project's own entry makes the Worker, as after `weir eject`. Then its configuration is complete too. */
function isEjected(root: string, main: string | undefined): boolean {
  const file = main === undefined ? undefined : join(root, main);
  return file !== undefined && existsSync(file) && /\bcreateWeir\s*\(/.test(readFileSync(file, "utf8"));
}

/**
 * Generates the worker and its configuration. `env` is an environment of the project's wrangler configuration, which is
 * flattened: a generated configuration has no environments. Throws a Fault for errors that the project must fix.
 */
export async function generate(project: Project, { env }: { env?: string } = {}): Promise<GeneratedConfig> {
  const { root, weirDir } = project;
  const file = findWranglerFile(root);
  const theirs = file ? flattenEnvironment(readWranglerFile(file), env, basename(file)) : {};
  const name = theirs.name ?? (env ? workerName(`${readName(root)}-${env}`) : readName(root));
  const ejected = isEjected(root, theirs.main);
  const wrangler: WranglerConfig = ejected
    ? { ...theirs, name, ...commonConfig(project, (theirs.d1_databases ?? []) as object[]) }
    : joinConfigs(
        ownConfig(project, resourcesFor(name, theirs)),
        { ...theirs, name },
        file ? basename(file) : "wrangler.jsonc",
      );
  writeWhole(join(weirDir, ".gitignore"), "*\n");
  writeWhole(join(weirDir, "worker.ts"), workerSource(project, weirDir, theirs.main, ejected));
  const wranglerPath = join(weirDir, "wrangler.json");
  writeWhole(wranglerPath, `${JSON.stringify(wrangler, null, 2)}\n`);
  return { wranglerPath, wrangler, warnings: project.warnings };
}

/**
 * The folder of the page's files: the package's, or with `http.mount_prefix` a copy in `.weir/web` that says where the API
 * is. The platform serves these files at the root, for every prefix.
 */
function preparePage({ config, weirDir }: Project): string {
  const prefix = config.http?.mount_prefix;
  const index = join(PAGE, "index.html");
  if (!prefix || !existsSync(index)) return PAGE;
  const copy = join(weirDir, "web");
  const meta = `<meta name="weir-mount-prefix" content="${prefix}" />`;
  const text = readFileSync(index, "utf8").replace("<head>", `<head>${meta}`);
  const own = join(copy, "index.html");
  // It names the other files by their contents. wrangler watches the folder, so the same files are not written again.
  if (existsSync(own) && readFileSync(own, "utf8") === text) return copy;
  cpSync(PAGE, copy, { recursive: true });
  writeFileSync(own, text);
  return copy;
}
