/** The loop of `weir dev`: a change, a build, and the server that serves the last good one. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, basename } from "node:path";
import { CliFault } from "../console.ts";
import { writeWhole, type Project, localEnvironment, findProject } from "../project/project.ts";
import { type LocalConfig, localConfig, type MiniflareConfig, translateConfig } from "./config.ts";
import { type CachedBundle, readKeptBundle } from "../bundle/packages.ts";
import { generate } from "../project/generate.ts";
import { writeSchemasApart } from "../schemas.ts";
import { Builder, Watch } from "./builder.ts";
import type { RoutedRequest } from "./forward.ts";
import { Front } from "./front.ts";
import { sourceLocations } from "./modules.ts";
import { type Server, useScript } from "./server.ts";

// The three lines that `weir dev` prints when it is ready.

/** The workspace that requests without a key act as on this machine: http/principal.ts has it too. */
export const LOCAL_WORKSPACE_ID = "00000000-0000-4000-8000-000000000001";

/**
 * The key of the local workspace at `url`, with the `mount_prefix`: made once with the server's admin key, and kept beside the
 * state, since the server keeps only its hash.
 */
export async function localKey(project: Project, url: string, adminKey: string): Promise<string> {
  const file = join(project.stateDir, "key");
  const known = existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  if (known && (await fetch(`${url}/api/v1/api-keys`, { headers: { "x-api-key": known } })).ok) return known;
  const headers = { "x-api-key": adminKey, "content-type": "application/json" };
  const post = async (path: string, body: unknown, more = {}) =>
    fetch(`${url}/api/v1${path}`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const workspace = await post("/workspaces", { id: LOCAL_WORKSPACE_ID, name: "local" });
  if (!workspace.ok && workspace.status !== 409) throw await toFault(workspace);
  const made = await post("/api-keys", { name: "local" }, { "x-tenant-id": LOCAL_WORKSPACE_ID });
  if (!made.ok) throw await toFault(made);
  const { key } = await made.json<{ key: string }>();
  writeWhole(file, `${key}\n`, 0o600);
  return key;
}

const toFault = async (answer: Response): Promise<CliFault> => {
  const text = await answer.text();
  try {
    return new CliFault((JSON.parse(text) as { detail: string }).detail);
  } catch {
    return new CliFault(text);
  }
};

/** The address, the key, and a run to try. */
export function introduction({ config }: Project, url: string, key: string): string {
  const graphs = Object.keys(config.graphs);
  const assistant_id = graphs.includes("agent") ? "agent" : graphs[0];
  const input = { messages: [{ role: "user", content: "What is 17 * 24, and what time is it in Tokyo?" }] };
  const run = { assistant_id, if_not_exists: "create", stream_mode: ["messages-tuple"], input };
  const headers = `-H "content-type: application/json" -H "x-api-key: ${key}"`;
  return [
    "",
    `  Weir listens on  ${url}`,
    `  Workspace, key   ${LOCAL_WORKSPACE_ID}  ${key}`,
    `  Try              curl -N ${url}${config.http?.mount_prefix ?? ""}/threads/${randomUUID()}/runs/stream ${headers} -d '${JSON.stringify(run)}'`,
    "",
  ].join("\n");
}

// What the project's own code and Weir log, as a person reads it.

/** The message of a fault that Weir logs as one line of JSON; every other line as it is. */
export function stripColors(line: string): string {
  if (!line.startsWith("{")) return line;
  try {
    const { level, message } = JSON.parse(line) as { level?: string; message?: string };
    return level === "error" && typeof message === "string" ? message : line;
  } catch {
    return line;
  }
}

export interface DevOptions {
  dir: string;
  /** The folder of local data, if it is not the project's own. */
  state?: string;
  port: number;
  env?: string;
  /** Runs before the first build, once the port is this process's. */
  prepare?: () => void;
  /** For the terminal. */
  print: (text: string) => void;
  /** Names that requests may have as their host, besides those of this machine. */
  hosts: string[];
  /** Gets what Miniflare says about itself. */
  trace: (line: string) => void;
}

/** How long a request waits for a server that starts. */
const WAIT_MS = 30_000;
/** How long new schemas wait for open streams to end. */
const IDLE_MS = 60_000;

export class Dev {
  readonly #options: DevOptions;
  readonly #front: Front;
  readonly #watch: Watch;
  readonly #builder = new Builder();
  #server: Server | undefined;
  #project: Project | undefined;
  /** The project's files that the last bundle was made from. */
  #inputs: string[] = [];
  /** Files besides the code whose change matters. */
  #settings: string[] = [];
  #error: string | undefined;
  #warned = new Set<string>();
  #work: Promise<void> = Promise.resolve();
  #migrated: Promise<() => void> | undefined;
  #introduced = false;
  #stopped = false;
  readonly #lost = Promise.withResolvers<never>();
  /** Rejects with a Fault when the server ends again and again. */
  readonly lost = this.#lost.promise;
  /** Ends what runs beside the server. */
  readonly #ended = new AbortController();

  constructor(options: DevOptions) {
    this.#options = options;
    this.#front = new Front({
      port: options.port,
      hosts: options.hosts,
      target: (asked) => this.#target(asked),
      onRequest: (line) => options.print(`  ${new Date().toTimeString().slice(0, 8)}  ${line}`),
    });
    this.#watch = new Watch(() => this.#enqueue());
  }

  /** Builds and serves. Returns when the first build has been tried, or `ended` settles. */
  async start(ended: Promise<void>): Promise<void> {
    await this.#front.listen();
    this.#options.prepare?.();
    this.#enqueue();
    await Promise.race([ended, this.#work]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#ended.abort();
    this.#watch.close();
    this.#builder.stop();
    await Promise.all([this.#front.close(), this.#server?.stop()]);
    await this.#work;
    // A round under way may have started them.
    this.#builder.stop();
    await this.#server?.stop();
  }

  #enqueue(): void {
    this.#work = this.#work.then(async () => {
      if (this.#stopped) return;
      try {
        await this.#round();
        this.#succeeded();
      } catch (error) {
        if (!(error instanceof CliFault)) throw error;
        this.#failed(error.message);
      }
    });
  }

  /** One round: read, generate, bundle, serve. */
  async #round(): Promise<void> {
    const { dir, state, env, print } = this.#options;
    try {
      const project = await findProject(dir, state);
      this.#project = project;
      const environment = localEnvironment(project);
      this.#settings = [
        project.configFile,
        ...environment.files,
        ...["json", "jsonc", "toml"].map((end) => join(project.root, `wrangler.${end}`)),
      ];
      const generated = await generate(project, { env });
      const config = localConfig(project, generated, environment);
      useScript(project.weirDir);
      // Other processes do both. The first start migrates beside them, once however many builds fail until then.
      const building = settle(Promise.resolve(readKeptBundle(project) ?? this.#bundle(project)));
      const translation = settle(translateConfig(project, config.file));
      this.#migrated ??= settle(migrateBy(translation, project.stateDir));
      const bundled = (await building)();
      this.#inputs = bundled.inputs;
      for (const warning of [...generated.warnings, ...environment.warnings, ...bundled.warnings]) {
        if (!this.#warned.has(warning)) print(`  warning  ${warning}`);
        this.#warned.add(warning);
      }
      try {
        (await this.#migrated)();
      } catch (error) {
        this.#migrated = undefined;
        throw error;
      }
      await this.#serve(project, config, (await translation)());
    } finally {
      this.#watch.set(new Set([...this.#settings, ...this.#inputs]));
    }
  }

  async #bundle(project: Project): Promise<CachedBundle> {
    try {
      return await this.#builder.build(project);
    } finally {
      this.#inputs = this.#builder.inputs;
    }
  }

  async #serve(project: Project, { name, variables }: LocalConfig, options: MiniflareConfig): Promise<void> {
    const { trace, print, port } = this.#options;
    // Miniflare takes 0.2 seconds to load, in which the first build is under way.
    const [{ Server }, { readModules }] = await Promise.all([import("./server.ts"), import("./modules.ts")]);
    if (!this.#server) {
      const inSources = sourceLocations(project.root, project.weirDir);
      const onLine = (line: string) => print(inSources(stripColors(line)));
      const onLost = (fault: CliFault) => this.#lost.reject(fault);
      this.#server = new Server({ persistTo: project.stateDir, onLine, trace, onLost });
    }
    if (this.#stopped) return;
    await this.#server.serve({ name, variables, translated: options, modules: readModules(project) });
    const { url } = this.#server;
    if (!url || this.#introduced) return;
    this.#introduced = true;
    void this.#readTypes(project);
    const prefix = project.config.http?.mount_prefix ?? "";
    const key = await localKey(project, `${url}${prefix}`, variables.WEIR_ADMIN_KEY);
    print(introduction(project, `http://127.0.0.1:${port}`, key));
    this.#everyMinute();
  }

  /** The schemas that the types declare, read beside the server, which serves without them until then. */
  async #readTypes(project: Project): Promise<void> {
    if (!(await writeSchemasApart(project, this.#ended.signal))) return;
    // A bundle that cannot be replaced restarts the server, which ends its streams.
    await this.#front.idle(IDLE_MS);
    this.#enqueue();
  }

  #failed(message: string): void {
    const text = message.trim();
    if (text !== this.#error)
      this.#options.print(`\n${text}\n${this.#server?.url ? "\n  The last good build serves on.\n" : ""}`);
    this.#error = text;
    this.#front.show(text);
  }

  #succeeded(): void {
    if (this.#error) this.#options.print(`  ${basename(this.#project?.root ?? "")} is built again.`);
    this.#error = undefined;
    this.#front.show(undefined);
  }

  /** Where to send a request: waits for a server that starts, not for one that has no build to serve. */
  async #target(asked: RoutedRequest): Promise<string | undefined> {
    const until = Date.now() + WAIT_MS;
    while (!this.#server?.url && !this.#error && !this.#stopped && Date.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 25));
    return this.#server?.addressFor(asked);
  }

  /** Locally nothing fires the cron trigger, so this does, at each full minute. */
  #everyMinute(): void {
    const wait = 60_000 - (Date.now() % 60_000);
    setTimeout(() => {
      const url = this.#server?.url;
      if (url) void fetch(`${url}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`).catch(() => undefined);
      if (!this.#stopped) this.#everyMinute();
    }, wait).unref();
  }
}

/** Waits for a promise. The function it resolves with returns the value, or throws the rejection. */
const settle = <T>(promise: Promise<T>): Promise<() => T> =>
  promise.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );

async function migrateBy(translation: Promise<() => MiniflareConfig>, state: string): Promise<void> {
  const { migrate } = await import("./config.ts");
  return migrate(databaseName((await translation)()), state);
}

/** The name by which Miniflare knows Weir's database. */
function databaseName({ workerOptions: { d1Databases = {} } }: MiniflareConfig): string {
  const { DB } = d1Databases as Record<string, string | { id: string }>;
  return typeof DB === "object" ? DB.id : (DB ?? "DB");
}
