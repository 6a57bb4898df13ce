/** Wrangler's translation of a configuration into Miniflare's options. */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as Wrangler from "wrangler";
import { CliFault } from "../console.ts";
import { PACKAGE, VERSION, MIGRATIONS, packagedMigrations } from "../project/package.ts";
import { type Project, writeWhole, type Environment } from "../project/project.ts";
import { WRANGLER_CLI as WRANGLER, wranglerEnv } from "../wrangler.ts";
import type { Json } from "miniflare";
import type { GeneratedConfig } from "../project/generate.ts";
import type { WranglerConfig } from "../project/wrangler-config.ts";
import { convert, Log, LogLevel, newMiniflare } from "./modules.ts";

export type MiniflareConfig = Pick<Wrangler.Unstable_MiniflareWorkerOptions, "workerOptions" | "externalWorkers">;

interface Note {
  digest: string;
  options: MiniflareConfig;
}

/** Run as a module of its own, since Wrangler takes 160 MB. What it prints goes elsewhere. */
const SCRIPT = `
const { writeFileSync } = require("node:fs");
const [wrangler, config, out] = process.argv.slice(1);
const { workerOptions, externalWorkers } = require(wrangler).unstable_getMiniflareWorkerOptions(config);
writeFileSync(out, JSON.stringify({ workerOptions, externalWorkers }));
`;

/**
 * The options for the configuration in the file `config`. It has no variables, so the note of the last translation, which
 * saves a second at each start, has no secret.
 *
 * @throws Fault with Wrangler's own words when it refuses the configuration.
 */
export async function translateConfig({ weirDir }: Project, config: string): Promise<MiniflareConfig> {
  const text = readFileSync(config, "utf8");
  if (hasRemote(JSON.parse(text))) return translateRemote(config);
  const file = join(weirDir, "miniflare.json");
  const digest = createHash("sha256").update(`${VERSION}\0${WRANGLER}\0${text}`).digest("hex");
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Note) : undefined;
  if (known?.digest === digest) return known.options;
  const options = await translate(config);
  writeWhole(file, JSON.stringify({ digest, options } satisfies Note));
  return options;
}

async function translate(config: string): Promise<MiniflareConfig> {
  const folder = mkdtempSync(join(tmpdir(), "weir-"));
  const out = join(folder, "options.json");
  const args = ["--no-warnings", "--eval", SCRIPT, WRANGLER, config, out];
  try {
    await new Promise<void>((resolve, reject) => {
      execFile(process.execPath, args, { cwd: folder, env: wranglerEnv() }, (error, _stdout, stderr) =>
        error ? reject(new CliFault(`Wrangler does not accept the configuration.\n${readReason(stderr)}`)) : resolve(),
      );
    });
    return JSON.parse(readFileSync(out, "utf8")) as MiniflareConfig;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The message of an uncaught error, without the source and the stack around it. */
function readReason(stderr: string): string {
  const lines = stderr.split("\n");
  const from = lines.findIndex((line) => /^\w*Error\b.*: /.test(line));
  const to = lines.findIndex((line, at) => at > from && /^ {4}at /.test(line));
  return (from < 0 ? stderr : lines.slice(from, to < 0 ? undefined : to).join("\n")).trim();
}

/** Whether a binding is used in the account, as `"remote": true` says. */
const hasRemote = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  ((value as { remote?: unknown }).remote === true || Object.values(value).some(hasRemote));

/** Such bindings are reached through a connection that Wrangler keeps open in this process. */
async function translateRemote(config: string): Promise<MiniflareConfig> {
  Object.assign(process.env, wranglerEnv(), { CI: process.env.CI });
  const require = createRequire(join(PACKAGE, "package.json"));
  const wrangler = require("wrangler") as typeof Wrangler;
  connection = await wrangler.maybeStartOrUpdateRemoteProxySession({ path: config }, connection);
  return wrangler.unstable_getMiniflareWorkerOptions(config, undefined, {
    remoteProxyConnectionString: connection?.session.remoteProxyConnectionString,
  });
}

let connection: Awaited<ReturnType<typeof Wrangler.maybeStartOrUpdateRemoteProxySession>> = null;

// The configuration for this machine: that of a deployment, with the project's variables and secrets in it.

export interface LocalSecrets {
  ENCRYPTION_KEY: string;
  WEIR_ADMIN_KEY: string;
}

/** The secrets of this machine's state: made once. */
export function localSecrets({ stateDir }: Project): LocalSecrets {
  const file = join(stateDir, "secrets.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as LocalSecrets;
  const made = {
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    WEIR_ADMIN_KEY: randomBytes(24).toString("base64url"),
  };
  writeWhole(file, JSON.stringify(made, null, 2), 0o600);
  return made;
}

/** A configuration for this machine. */
export interface LocalConfig {
  /** The file of it, for Wrangler. It has no variables. */
  file: string;
  /** The name of the Worker, with which the local data of Durable Objects is found. */
  name: string;
  variables: Record<string, Json> & LocalSecrets;
}

/**
 * Writes `.weir/wrangler.dev.json`: bindings without variables, and without the list of required secrets, which are
 * variables here.
 */
export function localConfig(project: Project, { wrangler }: GeneratedConfig, { variables }: Environment): LocalConfig {
  const {
    secrets: _secrets,
    vars,
    r2_buckets = [],
    ...deployed
  } = withoutRemote(wrangler) as typeof wrangler & { r2_buckets?: { binding: string }[] };
  const served = r2_buckets.map((bucket) => (bucket.binding === "EXPORTS_BUCKET" ? { ...bucket, ...S3 } : bucket));
  const file = join(project.weirDir, "wrangler.dev.json");
  writeWhole(file, `${JSON.stringify({ ...deployed, r2_buckets: served }, null, 2)}\n`, 0o600);
  return {
    file,
    name: String(wrangler.name),
    variables: {
      REQUEST_LOG_RATE: "0",
      ...(vars as Record<string, Json> | undefined),
      AUTH: "open",
      ...localSecrets(project),
      ...variables,
    },
  };
}

/** Bindings that have no local form: Wrangler requires a login and uses the account, which bills each call. */
const REMOTE = ["ai", "vectorize"];

/** The configuration without bindings that only the account has, unless they say `"remote": true`. */
function withoutRemote(wrangler: WranglerConfig): WranglerConfig {
  const kept = Object.entries(wrangler).flatMap(([key, value]) => {
    if (!REMOTE.includes(key)) return [[key, value]];
    const asked = ([value].flat() as { remote?: boolean }[]).filter(({ remote }) => remote);
    return asked.length > 0 ? [[key, Array.isArray(value) ? asked : asked[0]]] : [];
  });
  return Object.fromEntries(kept) as WranglerConfig;
}

/** The bucket for exports is also served over S3, at `/cdn-cgi/local/r2/s3/<bucket>`, with these keys. */
const S3 = {
  local_dev: { experimental_s3_credentials: { accessKeyId: "local", secretAccessKey: "local-secret" } },
};

// Brings the local database to the newest schema.

/** The table in which Wrangler records migrations, as Wrangler makes it. */
const RECORD = `CREATE TABLE IF NOT EXISTS "d1_migrations"(
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		name       TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);`;

/** Where Miniflare keeps local data in the folder that Wrangler calls `--persist-to`. */
export const dataIn = (persistTo: string): string => join(persistTo, "v3");

/**
 * Applies the migrations that the database with this local id lacks, in one transaction: a start that is killed leaves no
 * part of them. A file with the name of the newest migration avoids the check.
 */
export async function migrate(id: string, persistTo: string): Promise<void> {
  const names = packagedMigrations(MIGRATIONS);
  const newest = names.at(-1) ?? "";
  const note = join(persistTo, "newest-migration");
  if (existsSync(note) && readFileSync(note, "utf8") === newest) return;
  try {
    // What an attempt has committed is recorded. The connection to workerd can end on a machine under load.
    await apply(names, id, persistTo).catch(() => apply(names, id, persistTo));
  } catch (error) {
    const { message, cause } = error as Error;
    throw new CliFault(`The D1 migrations failed.\n${message}${cause instanceof Error ? `: ${cause.message}` : ""}`);
  }
  writeWhole(note, newest);
}

async function apply(names: string[], id: string, persistTo: string): Promise<void> {
  const server = newMiniflare({
    ...convert({ workers: [{ name: "migrations", modules: true, script: "", d1Databases: { DB: id } }] }),
    cf: false,
    log: new Log(LogLevel.NONE),
    resourcePersistencePath: dataIn(persistTo),
  });
  try {
    const db = await server.getD1Database("DB");
    await db.prepare(RECORD).run();
    const { results } = await db.prepare("SELECT name FROM d1_migrations").all<{ name: string }>();
    const applied = new Set(results.map(({ name }) => name));
    const lacking = names.filter((name) => !applied.has(name));
    const statements = lacking.flatMap((name) => [
      ...readStatements(name).map((sql) => db.prepare(sql)),
      db.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name),
    ]);
    if (statements.length > 0) await db.batch(statements);
  } finally {
    await server.dispose();
  }
}

/** drizzle-kit marks where a statement ends. */
const readStatements = (name: string): string[] =>
  readFileSync(join(MIGRATIONS, name), "utf8").split("--> statement-breakpoint");
