/** The loop of `weir dev`: a change, a build, and the server that serves the last good one. */
import { basename, join } from "node:path";
import { writeBundle } from "../build.ts";
import { type Bundler, bundler } from "../bundle/bundle.ts";
import { keep, type Kept, kept } from "../bundle/kept.ts";
import { localEnvironment } from "../environment.ts";
import { Fault } from "../fault.ts";
import { generate } from "../generate.ts";
import { findProject, type Project } from "../project.ts";
import { writeSchemasApart } from "../schemas.ts";
import { Front } from "./front.ts";
import { introduction, localKey } from "./introduce.ts";
import { sourcePlaces } from "./frames.ts";
import { localConfig, stateOf } from "./local-config.ts";
import { migrate } from "./migrate.ts";
import { ownOutput } from "./output.ts";
import { Server } from "./server.ts";
import { Watch } from "./watch.ts";

export interface DevOptions {
  dir: string;
  port: number;
  env?: string;
  /** For the terminal. */
  print: (text: string) => void;
  /** Each line that wrangler prints. */
  trace: (line: string) => void;
  verbose: boolean;
}

/** How long a request waits for a server that starts. */
const WAIT_MS = 30_000;
/** How long new schemas wait for open streams to end. */
const IDLE_MS = 60_000;

export class Dev {
  readonly #options: DevOptions;
  readonly #front: Front;
  readonly #watch: Watch;
  #server: Server | undefined;
  #bundler: Bundler | undefined;
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
  /** Ends what runs beside the server. */
  readonly #ended = new AbortController();

  constructor(options: DevOptions) {
    this.#options = options;
    this.#front = new Front({
      port: options.port,
      target: () => this.#target(),
      onRequest: (line) => options.print(`  ${new Date().toTimeString().slice(0, 8)}  ${line}`),
    });
    this.#watch = new Watch(() => this.#enqueue());
  }

  /** Builds and serves. Returns when the first build has been tried, or `ended` settles. */
  async start(ended: Promise<void>): Promise<void> {
    await this.#front.listen();
    this.#enqueue();
    await Promise.race([ended, this.#work]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#ended.abort();
    this.#watch.close();
    await Promise.all([this.#front.close(), this.#server?.stop()]);
    await this.#work;
    // A build under way may have started the server.
    await this.#server?.stop();
    await this.#bundler?.dispose();
  }

  #enqueue(): void {
    this.#work = this.#work.then(async () => {
      if (this.#stopped) return;
      try {
        await this.#round();
        this.#succeeded();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        this.#failed(error.message);
      }
    });
  }

  /** One round: read, generate, bundle, serve. */
  async #round(): Promise<void> {
    const { dir, env, print } = this.#options;
    try {
      const project = await findProject(dir);
      this.#project = project;
      const environment = localEnvironment(project);
      this.#settings = [
        project.configFile,
        ...environment.files,
        ...["json", "jsonc", "toml"].map((end) => join(project.root, `wrangler.${end}`)),
      ];
      const generated = await generate(project, { env });
      const config = localConfig(project, generated, environment);
      // The first start migrates while it bundles, once however many builds fail until then.
      this.#migrated ??= settled(migrate(config, stateOf(project), project.root));
      // Only at the start: later rounds follow a change.
      const bundled = (this.#server ? undefined : kept(project)) ?? (await this.#bundle(project));
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
      await this.#serve(project, config);
    } finally {
      this.#watch.set([...this.#settings, ...this.#inputs]);
    }
  }

  async #bundle(project: Project): Promise<Kept> {
    const began = Date.now();
    this.#bundler ??= await bundler(project);
    try {
      const bundled = await this.#bundler.bundle();
      writeBundle(project, bundled);
      keep(project, bundled, this.#bundler.inputs, began);
      return { inputs: this.#bundler.inputs, warnings: bundled.warnings };
    } catch (error) {
      this.#inputs = this.#bundler.inputs;
      throw error;
    }
  }

  async #serve(project: Project, config: string): Promise<void> {
    const { trace, print, port, verbose } = this.#options;
    const persistTo = stateOf(project);
    if (!this.#server) {
      const shown = ownOutput();
      const inSources = sourcePlaces(project.root, project.weirDir);
      this.#server = new Server({
        config,
        persistTo,
        cwd: project.root,
        onLine: (line) => {
          trace(line);
          const own = verbose ? undefined : shown(line);
          if (own !== undefined) print(inSources(own));
        },
        onFailure: (message) => this.#failed(message),
      });
    }
    // A running server sees the new files itself.
    if (this.#stopped || this.#server.isRunning) return;
    await this.#server.start();
    const { url } = this.#server;
    if (!url || this.#introduced) return;
    this.#introduced = true;
    void this.#readTypes(project);
    const key = await localKey(project, `${url}${project.config.http?.mount_prefix ?? ""}`);
    print(introduction(project, `http://127.0.0.1:${port}`, key));
    this.#everyMinute();
  }

  /** The schemas that the types declare, read beside the server, which serves without them until then. */
  async #readTypes(project: Project): Promise<void> {
    if (!(await writeSchemasApart(project, this.#ended.signal))) return;
    // A new bundle restarts the server, which ends its streams.
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
  async #target(): Promise<string | undefined> {
    const until = Date.now() + WAIT_MS;
    while (!this.#server?.url && !this.#error && !this.#stopped && Date.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 25));
    return this.#server?.url;
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

/** The outcome of a promise that is read later: a function that throws what it was rejected with. */
const settled = (promise: Promise<void>): Promise<() => void> =>
  promise.then(
    () => () => {},
    (error: unknown) => () => {
      throw error;
    },
  );
