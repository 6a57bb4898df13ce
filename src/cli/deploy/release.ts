/** Deploys a built project to its account: resources, secrets, migrations, the Worker, the first key. */
import { type Account, openAccount } from "./account.ts";
import { CliFault } from "../console.ts";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Fetch } from "../api.ts";
import { wrangler } from "../wrangler.ts";
import {
  firstKey,
  waitUntilOk,
  missingSecrets,
  OWN_SECRETS,
  readStoredSecrets,
  secretValues,
  writeStoredSecrets,
} from "./secrets.ts";
import { packagedMigrations } from "../project/package.ts";
import {
  createResource,
  type DeployConfig,
  findResource,
  type Resource,
  resourcesIn,
  withDatabaseIds,
} from "./plan.ts";

// D1 migrations of a deployment: which ones the database has, and whether it is newer than this package.

/** The migrations that the database has, as Wrangler records them. */
async function appliedMigrations(account: Account, databaseId: string): Promise<string[]> {
  const rows = async (sql: string) => {
    const answers = await account.call<{ results: { name: string }[] }[]>("POST", `/d1/database/${databaseId}/query`, {
      sql,
    });
    return (answers[0]?.results ?? []).map(({ name }) => name);
  };
  const [table] = await rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'd1_migrations'");
  return table ? rows("SELECT name FROM d1_migrations ORDER BY id") : [];
}

/**
 * The migrations that the database lacks.
 *
 * @throws Fault when the database has migrations that are unknown to this package: an older Worker must not run on it.
 */
export async function pendingMigrations(account: Account, databaseId: string, packaged: string[]): Promise<string[]> {
  const applied = await appliedMigrations(account, databaseId);
  const unknown = applied.filter((name) => !packaged.includes(name));
  if (unknown.length > 0) {
    throw new CliFault(
      `The database is newer than this version of weir: it has ${unknown.join(", ")}. ` +
        "Install the version that made it, or a newer one.",
    );
  }
  return packaged.filter((name) => !applied.includes(name));
}

export interface Release {
  config: DeployConfig;
  /** The generated configuration. A deploy writes the ids of databases into it. */
  configPath: string;
  /** The project's folder and its `.weir`. */
  root: string;
  weirDir: string;
  /** The project's own secrets. One that the Worker has is kept, so that a local value never replaces a deployed one. */
  secrets?: Record<string, string>;
  /** `http.mount_prefix`: the path under which the routes are. */
  prefix?: string;
  /** Only prints the planned changes. */
  dryRun?: boolean;
  /** Prints a line for the person at the terminal. */
  say: (line: string) => void;
  fetch?: Fetch;
  env?: NodeJS.ProcessEnv;
}

/**
 * Deploys. Each step first reads what exists, so that a failed deploy can be run again.
 *
 * @returns the deployment's address; undefined after a dry run.
 * @throws Fault with a sentence that says what to do.
 */
export async function release(given: Release): Promise<string | undefined> {
  const { config, root, weirDir, dryRun, say, fetch = globalThis.fetch, env = process.env } = given;
  const account = await openAccount({ cwd: root, accountId: config.account_id, env }).catch((error: unknown) => {
    // A dry run also shows the plan to users without an account.
    if (!dryRun) throw error;
    say(`Not compared with an account: ${errorMessage(error)}`);
    return undefined;
  });

  const ids = await ensureResources(account, resourcesIn(config), given);
  const deployed = withDatabaseIds(config, ids);
  if (!dryRun) writeFileSync(given.configPath, `${JSON.stringify(deployed, null, 2)}\n`);

  const own = Object.entries(given.secrets ?? {}).filter(([name, value]) => value && !(name in (config.vars ?? {})));
  const wanted = [...OWN_SECRETS, ...own.map(([name]) => name)];
  const missing = account ? await missingSecrets(account, config.name, wanted) : wanted;
  for (const name of wanted) {
    say(line("secret", name, missing.includes(name) ? (dryRun ? "would be created" : "created") : "exists"));
  }

  await migrate(account, deployed, given);
  if (dryRun || !account) {
    say(line("Worker", config.name, "would be deployed"));
    return undefined;
  }

  const known = readStoredSecrets(weirDir, config.name);
  const made = secretValues(
    OWN_SECRETS.filter((name) => missing.includes(name)),
    known,
    env,
  );
  // Kept before they are uploaded: a deploy that stops in between uses the same values when it is run again.
  if (Object.keys(made).length > 0) writeStoredSecrets(weirDir, config.name, { ...known, ...made });
  const theirs = Object.fromEntries(own.filter(([name]) => missing.includes(name)));
  const url = `${await upload(account, { ...theirs, ...made }, given)}${given.prefix ?? ""}`;
  say(line("Worker", config.name, "deployed"));
  writeStoredSecrets(weirDir, config.name, { ...readStoredSecrets(weirDir, config.name), url });

  await waitUntilOk(url, fetch);
  await showFirstKey(url, given);
  return url;
}

const line = (kind: string, name: string, what: string) => `  ${kind.padEnd(12)} ${name.padEnd(32)} ${what}`;
const errorMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Creates what the account lacks. Returns the ids of what exists, by name and for databases only. */
async function ensureResources(
  account: Account | undefined,
  resources: Resource[],
  { dryRun, say }: Release,
): Promise<Map<string, string>> {
  const databases = new Map<string, string>();
  for (const resource of resources) {
    const found = account && (await findResource(account, resource));
    const id = found ?? (dryRun || !account ? undefined : await createResource(account, resource));
    if (id && resource.kind === "D1 database") databases.set(resource.name, id);
    say(line(resource.kind, resource.name, found ? "exists" : dryRun ? "would be created" : "created"));
  }
  return databases;
}

/**
 * Migrates Weir's database to this package's schema. The Worker that runs until the upload works on the newer schema
 * too.
 */
async function migrate(account: Account | undefined, config: DeployConfig, { configPath, root, dryRun, say }: Release) {
  const database = config.d1_databases?.find(({ binding }) => binding === "DB");
  if (!database?.migrations_dir)
    throw new CliFault(`${configPath} has no database DB with migrations. Run \`weir build\`.`);
  const packaged = packagedMigrations(resolve(dirname(configPath), database.migrations_dir));
  const pending =
    account && database.database_id ? await pendingMigrations(account, database.database_id, packaged) : packaged;
  if (pending.length > 0 && !dryRun && account) {
    const args = ["d1", "migrations", "apply", "DB", "--remote", "--config", configPath];
    await wrangler(args, { cwd: root, env: account.env });
  }
  const count = `${pending.length} of ${packaged.length}`;
  say(line("migrations", count, pending.length === 0 ? "to apply" : dryRun ? "would be applied" : "applied"));
}

/** Runs `wrangler deploy` with the secrets beside it and returns the Worker's address. */
async function upload(
  account: Account,
  secrets: Record<string, string>,
  { config, configPath, root, weirDir }: Release,
) {
  const folder = mkdtempSync(join(weirDir, "upload-"));
  try {
    const secretsFile = join(folder, "secrets.json");
    const report = join(folder, "report.ndjson");
    const args = ["deploy", "--config", configPath];
    if (Object.keys(secrets).length > 0) {
      writeFileSync(secretsFile, JSON.stringify(secrets), { mode: 0o600 });
      args.push("--secrets-file", secretsFile);
    }
    await wrangler(args, { cwd: root, env: { ...account.env, WRANGLER_OUTPUT_FILE_PATH: report } });
    return addressIn(readFileSync(report, "utf8"), config);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The address that calls should use: PUBLIC_URL, else a custom domain, else that of workers.dev. */
export function addressIn(report: string, { name, vars = {} }: DeployConfig): string {
  const given = typeof vars.PUBLIC_URL === "string" ? vars.PUBLIC_URL.split(",")[0]?.trim() : undefined;
  if (given) return given.replace(/\/$/, "");
  const entries = report
    .split("\n")
    .filter(Boolean)
    .map((entry) => JSON.parse(entry) as { type: string; targets?: string[] });
  const targets = entries.findLast(({ type }) => type === "deploy")?.targets ?? [];
  const [domain] = targets.filter((target) => target.endsWith(" (custom domain)"));
  if (domain) return `https://${domain.split(" ")[0]?.replace(/^https:\/\//, "")}`;
  const address = targets.find((target) => target.startsWith("https://"));
  if (address) return address;
  throw new CliFault(
    `${name} is deployed, but no address leads to it: workers.dev is off and no custom domain is set. ` +
      'Set "routes" in wrangler.jsonc, or the variable PUBLIC_URL where a route exists already.',
  );
}

/** Creates and shows the first key, if this machine has the admin key. */
async function showFirstKey(
  url: string,
  { config, weirDir, say, fetch = globalThis.fetch, env = process.env }: Release,
) {
  say(`\n  ${url}`);
  const adminKey = env.WEIR_ADMIN_KEY || readStoredSecrets(weirDir, config.name).WEIR_ADMIN_KEY;
  if (!adminKey) {
    say("  The admin key is not on this machine: set WEIR_ADMIN_KEY to it to make keys with `weir keys create`.");
    return;
  }
  const key = await firstKey(url, adminKey, fetch);
  if (key) say(`  API key, shown only now: ${key}`);
}
