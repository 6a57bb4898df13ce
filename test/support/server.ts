/** The built Worker, started for real, with a workspace and a key of it. For tests that run in Node. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import {
  type LocalServer,
  localConfig,
  migrate,
  newKey,
  QUIET,
  quietPort,
  serve,
  type ServeOptions,
} from "../../scripts/local-server.ts";

const SECRETS = {
  ENCRYPTION_KEY: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
  WEIR_ADMIN_KEY: "admin-key-of-the-tests",
};

export interface Access {
  url: string;
  workspaceId: string;
  key: string;
  /** What a call of this workspace carries. */
  headers: Record<string, string>;
}

export interface TestServer extends Access {
  /** One more workspace with a key. */
  another(): Promise<Access>;
  stop(): Promise<void>;
}

async function access(url: string): Promise<Access> {
  const made = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
  return { url, ...made, headers: { "x-api-key": made.key } };
}

/**
 * The quick way: wrangler's test harness, in this process, with storage of its own. The Worker's outgoing requests go
 * through this process's `fetch`. `vars` are settings such as OPENAI_API_KEY.
 */
export async function startServer(
  vars: Record<string, string> = {},
  configPath: string = localConfig(),
): Promise<CountingServer> {
  const secrets = { ...SECRETS, OFFLINE_MODEL_DELAY_MS: "0", ...vars };
  Object.assign(process.env, QUIET);
  const harness = createTestHarness({
    root: join(import.meta.dirname, "..", ".."),
    workers: [{ configPath, secrets }],
  });
  const { url } = await harness.listen();
  await harness.getWorker().applyD1Migrations("DB");
  const origin = url.origin;
  const { THREAD, DB } = await harness.getWorker<Env>().getEnv();
  const own = await access(origin);
  return {
    ...own,
    another: () => access(origin),
    db: DB,
    rowsWritten: (threadId) => THREAD.getByName(`${own.workspaceId}:${threadId}`).rowsWritten(),
    stop: () => harness.close(),
  };
}

/** The configuration of this Worker with the graphs that only tests deploy (worker.ts). */
export function withTestGraphs(): string {
  return withMain("test/support/worker.ts", "graphs");
}

/** The configuration of a second deployment in the same account: no name is that of `wrangler.toml` (docs/deploy.md). */
export function withOtherNames(prefix: string): string {
  const config = readFileSync(localConfig(), "utf8")
    .replaceAll(/"weir(?=["-])/g, `"${prefix}-weir`)
    .replaceAll(/namespace_id = "1/g, 'namespace_id = "2');
  return written(config, "names");
}

/** The configuration of this Worker with what only benches need (bench-worker.ts). */
export function withBenchRoutes(): string {
  return withMain("test/support/bench-worker.ts", "bench");
}

function withMain(main: string, name: string): string {
  const config = readFileSync(localConfig(), "utf8").replace('main = "src/index.ts"', `main = "${main}"`);
  return written(config, name);
}

function written(config: string, name: string): string {
  const file = join(import.meta.dirname, "..", "..", `wrangler.${name}.local.toml`);
  // A server that runs on it starts anew when it is written.
  if (!existsSync(file) || readFileSync(file, "utf8") !== config) writeFileSync(file, config);
  return file;
}

/** Copies the runs of a project's day (milliseconds) until it has `rows`, on a server with the routes of the bench. */
export async function multiply(
  server: { url: string; workspaceId: string },
  project: string,
  day: number,
  rows: number,
): Promise<void> {
  const partition = new URLSearchParams({
    workspace: server.workspaceId,
    project,
    day: new Date(day).toISOString().slice(0, 10),
    rows: String(rows),
  });
  const filled = await fetch(`${server.url}/bench/multiply?${partition.toString()}`, { method: "POST" });
  if (!filled.ok) throw new Error(`${filled.status} ${await filled.text()}`);
}

export interface CountingServer extends TestServer {
  /** Rows that the Durable Object of a thread wrote since it woke. */
  rowsWritten(threadId: string): Promise<number>;
  /** Its database, for rows that no call could make quickly enough. */
  db: D1Database;
}

export interface KillableServer extends TestServer {
  /** Where its state lies. */
  persistTo: string;
  /** SIGKILL to the whole process group, at once. */
  kill(): Promise<void>;
  /** Starts again on the same state and the same address. */
  restart(): Promise<void>;
}

/** The slow way, for tests that kill: `wrangler dev` in a process group of its own, on state that outlives it. */
export async function startKillable(
  vars: Record<string, string> = {},
  more: Pick<ServeOptions, "config" | "inspectorPort" | "v8Flags"> = {},
): Promise<KillableServer> {
  const persistTo = mkdtempSync(join(tmpdir(), "weir-"));
  const envFile = join(persistTo, "secrets.env");
  const lines = Object.entries({ ...SECRETS, ...vars }).map(([name, value]) => `${name}="${value}"`);
  writeFileSync(envFile, lines.join("\n"));
  migrate(persistTo, more.config);
  const options = { port: await quietPort(), persistTo, envFile, ...more, group: "own" as const };
  let server: LocalServer = await serve(options);
  return {
    ...(await access(server.url)),
    another: () => access(server.url),
    persistTo,
    kill: () => server.stop("SIGKILL"),
    async restart() {
      server = await serve(options);
    },
    async stop() {
      await server.stop("SIGKILL");
      rmSync(persistTo, { recursive: true, force: true });
    },
  };
}
