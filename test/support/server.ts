/** The built Worker, started for real, with a workspace and a key of it. For tests that run in Node. */
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type LocalServer, localConfig, newKey, serve, type ServeOptions } from "../../scripts/local-server.ts";
import { quietPort } from "./ports.ts";
import { watchAnswers } from "./answers/origins.ts";
import type { Crossing } from "./edge-limits/record.ts";
import { CrossingsWatch, failOn } from "./edge-limits/watch.ts";
import { QUIET } from "../../src/cli/wrangler.ts";
import { newState } from "./new-state.ts";

const ROOT = join(import.meta.dirname, "..", "..");

export const SECRETS = {
  ENCRYPTION_KEY: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
  WEIR_ADMIN_KEY: "admin-key-of-the-tests",
  REQUEST_LOG_RATE: "0",
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
  startAnother(): Promise<Access>;
  /** The limits of Cloudflare's that were crossed since the last call. For a test that crosses one on purpose. */
  crossings(): Promise<Crossing[]>;
  /** Throws when a limit was crossed and `crossings` was not called since. */
  stop(): Promise<void>;
}

/** A new workspace on this server, with a key. */
export async function access(url: string): Promise<Access> {
  watchAnswers(url);
  const made = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
  return { url, ...made, headers: { "x-api-key": made.key } };
}

/**
 * The quick way: wrangler's test harness, in this process, with storage of its own. The Worker's outgoing requests go
 * through this process's `fetch`. `vars` are settings such as OPENAI_API_KEY. Cloudflare's limits hold, unless
 * `configPath` is that of a Worker without them.
 */
export async function startServer(
  vars: Record<string, string> = {},
  configPath: string = withEdgeLimits(),
): Promise<CountingServer> {
  const secrets = { ...SECRETS, OFFLINE_MODEL_DELAY_MS: "0", ...vars };
  Object.assign(process.env, QUIET);
  // Wrangler takes a second of processor time to load. Most files use a server of another process.
  const { createTestHarness } = await import("wrangler");
  const harness = createTestHarness({
    root: ROOT,
    workers: [{ configPath, secrets }],
  });
  const { url } = await harness.listen();
  await harness.getWorker().applyD1Migrations("DB");
  const origin = url.origin;
  const { THREAD } = await harness.getWorker<Env>().getEnv();
  const own = await access(origin);
  const watch = new CrossingsWatch(origin);
  return {
    ...own,
    crossings: () => watch.take(),
    startAnother: () => access(origin),
    countReaders: (threadId) => THREAD.getByName(`${own.workspaceId}:${threadId}`).figures(),
    async stop() {
      const found = await watch.take();
      await harness.close();
      failOn(found);
    },
  };
}

/** The configuration of this Worker within Cloudflare's limits (edge-worker.ts). */
export function withEdgeLimits(): string {
  return withMain("test/support/edge-worker.ts", "edge");
}

/** The same with the graphs that only tests deploy (worker.ts). */
export function withTestGraphs(): string {
  return withMain("test/support/worker.ts", "graphs");
}

/** The configuration of a second deployment in the same account: no name is that of `wrangler.toml` (docs/deploy.md). */
export function withOtherNames(prefix: string): string {
  const config = readFileSync(withEdgeLimits(), "utf8")
    .replaceAll(/"weir(?=["-])/g, `"${prefix}-weir`)
    .replaceAll(/namespace_id = "1/g, 'namespace_id = "2');
  return writeOnce(config, "names");
}

/** The configuration of this Worker with what only benches need (bench-worker.ts), and without the limits' cost. */
export function withBenchRoutes(): string {
  return writeMinifiedConfig("tools/bench/workers/bench-worker.ts", "bench");
}

/** The configuration of this Worker counting what the platform bills (counting-worker.ts). */
export function withCounts(): string {
  return writeMinifiedConfig("tools/bench/workers/counting-worker.ts", "counting");
}

/** The configuration of this Worker as it is deployed, for figures. */
export function writeDeployedConfig(): string {
  return writeMinifiedConfig("examples/demo/worker.ts", "deployed");
}

/** The configuration of this Worker with another main module. `name` distinguishes its file from others. */
export function withMain(main: string, name: string): string {
  return writeOnce(renderConfig(main), name);
}

/** The same, minified as a deployment is: an isolate has a smaller heap. For figures. */
export function writeMinifiedConfig(main: string, name: string): string {
  return writeOnce(renderConfig(main).replace("minify = false", "minify = true"), name);
}

function renderConfig(main: string): string {
  return readFileSync(localConfig(), "utf8").replace('main = "examples/demo/worker.ts"', `main = "${main}"`);
}

function writeOnce(config: string, name: string): string {
  const file = join(ROOT, `wrangler.${name}.local.toml`);
  // A server that runs on it restarts when the file is written.
  if (!existsSync(file) || readFileSync(file, "utf8") !== config) writeFileSync(file, config);
  return file;
}

/**
 * Copies the runs of a project's day (milliseconds) inside its shards, on a server with the routes of the bench: until shard 0 has
 * `rows`, or until each shard has `times` as many as it has.
 */
export async function multiply(
  server: { url: string; workspaceId: string },
  project: string,
  day: number,
  wanted: { rows: number } | { times: number },
): Promise<void> {
  const ask = async (shard: number, more: object) => {
    const partition = { workspace: server.workspaceId, project, day: new Date(day).toISOString().slice(0, 10) };
    const query = new URLSearchParams({ ...partition, shard: String(shard), ...more });
    // Not fetch: it waits five minutes for an answer, and millions of runs take longer.
    const asked = request(`${server.url}/bench/multiply?${query.toString()}`, { method: "POST" }).end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const said = await text(answer);
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${said}`);
    return said;
  };
  const amount = Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, String(value)]));
  for (let shard = 0; (await ask(shard, amount)) === "done"; shard += 1) {
    while ((await ask(shard, {})) === "more");
    if ("rows" in wanted) break;
  }
}

export interface CountingServer extends TestServer {
  /** Open streams and WebSockets of a thread in its Durable Object. */
  countReaders(threadId: string): Promise<{ streams: number; sockets: number }>;
}

/** A server in a process group of its own, on state that outlives the process. */
export interface StateServer {
  url: string;
  /** The process of `wrangler dev`, above all others of this server. */
  pid: number;
  /** The folder of its state. */
  persistTo: string;
  /** SIGKILL to the whole process group, at once. */
  kill(): Promise<void>;
  /** Starts again on the same state and the same address. */
  restart(): Promise<void>;
  /** The limits of Cloudflare's that were crossed since the last call. */
  crossings(): Promise<Crossing[]>;
  /** Kills the server and removes its state. */
  stop(): Promise<void>;
}

export interface KillableServer extends TestServer, StateServer {}

type KillableOptions = Pick<ServeOptions, "config" | "inspectorPort" | "v8Flags"> & { port?: number };

/** Starts `wrangler dev` on the state in `persistTo`. `vars` has all secrets. Within Cloudflare's limits, unless `config` is that of a Worker without them. */
async function startMigrated(
  persistTo: string,
  vars: Record<string, string>,
  more: KillableOptions,
): Promise<StateServer> {
  const envFile = join(persistTo, "secrets.env");
  const lines = Object.entries(vars).map(([name, value]) => `${name}="${value}"`);
  writeFileSync(envFile, lines.join("\n"));
  const port = more.port ?? (await quietPort());
  const watch = new CrossingsWatch(`http://127.0.0.1:${port}`);
  const own = { config: withEdgeLimits(), onOutput: watch.onOutput, group: "own" as const };
  const options = { ...own, ...more, port, persistTo, envFile };
  let server: LocalServer = await serve(options);
  return {
    url: server.url,
    get pid() {
      return server.pid;
    },
    persistTo,
    crossings: () => watch.take(),
    kill: () => server.stop("SIGKILL"),
    async restart() {
      server = await serve(options);
    },
    async stop() {
      const found = await watch.take();
      await server.stop("SIGKILL");
      rmSync(persistTo, { recursive: true, force: true });
      failOn(found);
    },
  };
}

/** The slow way, for tests that kill: `wrangler dev` in a process group of its own, on state that outlives it. */
export async function startKillable(
  vars: Record<string, string> = {},
  more: KillableOptions = {},
): Promise<KillableServer> {
  // These tests kill a server more often than a deployment restarts, so a run may meet several kills at one node.
  const all = { ...SECRETS, RUN_MAX_ATTEMPTS: "100", ...vars };
  const server = await startMigrated(await newState(more.config ?? withEdgeLimits()), all, more);
  const { url } = server;
  return Object.assign(server, await access(url), { startAnother: () => access(url) });
}
