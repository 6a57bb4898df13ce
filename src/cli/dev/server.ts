/** The project's Worker on Miniflare: one workerd below this process. */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, existsSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import {
  convertV4MiniflareOptions as convert,
  type Json,
  type Miniflare,
  type MiniflareOptions,
  type Request,
  Response,
} from "miniflare";
import { PACKAGES } from "../bundle/files.ts";
import { Fault } from "../fault.ts";
import { lastWords, LineLog } from "./lines.ts";
import { dataIn } from "./migrate.ts";
import { newMiniflare } from "./miniflare.ts";
import type { Module } from "./modules.ts";
import type { Translated } from "./translate.ts";

interface Options {
  /** The folder of the local data. */
  persistTo: string;
  /** Gets each line that the project's code logs. */
  onLine: (line: string) => void;
  /** Gets each line of Miniflare's own. */
  trace: (line: string) => void;
  /** workerd has ended too often, or cannot be started again. */
  onLost: (fault: Fault) => void;
}

/** The most times that workerd may end by itself within `WITHIN_MS`. Miniflare starts it again each time. */
const MOST_ENDS = 5;
const WITHIN_MS = 60_000;

/** What is served. */
export interface Served {
  name: string;
  translated: Translated;
  variables: Record<string, Json>;
  /** The folder of the bundle, and its modules with the main one first. */
  modulesRoot: string;
  modules: Module[];
  /** The file that answers for the module of packages. */
  packages: string;
}

export class Server {
  readonly #options: Options;
  readonly #log: LineLog;
  /** Requests with an address other than theirs are not trusted, from any process. */
  readonly #secret = randomUUID();
  #miniflare: Miniflare | undefined;
  #digest = "";
  #stopping = false;
  /** When workerd has ended by itself. */
  #ends: number[] = [];
  /** The address of the running server; undefined while there is none. */
  url: string | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#log = new LineLog(options.trace, (error) => this.#lose(error));
  }

  /** Serves this, if it is not what is served already. Gives whether it started. Throws a Fault when it cannot be loaded. */
  async serve(served: Served): Promise<boolean> {
    const digest = digestOf(served);
    if (this.#stopping || digest === this.#digest) return false;
    const options = this.#miniflareOptions(served);
    this.url = undefined;
    this.#digest = digest;
    this.#log.clear();
    try {
      if (this.#miniflare) await this.#miniflare.setOptions(options);
      else this.#miniflare = newMiniflare(options);
      this.url = String(await this.#miniflare.ready).replace(/\/$/, "");
    } catch (error) {
      // After a failed start Miniflare takes no other options.
      const failed = this.#miniflare;
      this.#miniflare = undefined;
      this.#digest = "";
      await failed?.dispose().catch(() => undefined);
      if (this.#stopping) return false;
      throw new Fault(lastWords(this.#log, error as Error));
    }
    return true;
  }

  /** The address once workerd runs: after it has ended, Miniflare starts it again. Undefined when it cannot. */
  async ready(): Promise<string | undefined> {
    await this.#miniflare?.ready.catch(() => undefined);
    return this.url;
  }

  #restarted(): void {
    const now = Date.now();
    this.#ends = [...this.#ends.filter((time) => time > now - WITHIN_MS), now];
    if (this.#ends.length >= MOST_ENDS) return this.#lose(new Error("workerd ended."));
    this.#options.onLine("The server ended unexpectedly. It has been started again.");
  }

  #lose(error: Error): void {
    // While Miniflare gets other options, `serve` reports why it cannot start.
    if (this.#stopping || this.url === undefined) return;
    this.url = undefined;
    this.#options.onLost(new Fault(`The server ended and cannot be kept running.\n\n${lastWords(this.#log, error)}`));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.url = undefined;
    await this.#miniflare?.dispose().catch(() => undefined);
  }

  #miniflareOptions({ name, translated, variables, modulesRoot, modules, packages }: Served): MiniflareOptions {
    const { modulesRules: _, ...rest } = translated.workerOptions;
    // What is given as a module is copied for each 4 KB of the configuration, which takes a second for 8 MB.
    const options = { ...rest, unsafeUseModuleFallbackService: true };
    const { persistTo, onLine } = this.#options;
    return {
      ...convert({
        workers: [{ ...options, name, bindings: variables, modules, modulesRoot }, ...translated.externalWorkers],
        unsafeTriggerHandlers: true,
        logRequests: false,
        unsafeModuleFallbackService: (request) => answerPackages(request, packages),
      }),
      host: "127.0.0.1",
      port: 0,
      cf: false,
      log: this.#log,
      unsafeProxySharedSecret: this.#secret,
      unsafeHandleRuntimeRestart: () => this.#restarted(),
      handleStructuredLogs: ({ message }) => {
        for (const line of message.split("\n")) {
          this.#log.note(line);
          onLine(line);
        }
      },
      resourcePersistencePath: dataIn(persistTo),
    };
  }
}

/** workerd requests each module that the configuration does not have. */
function answerPackages({ url }: Request, file: string): Response {
  const isPackages = new URL(url).searchParams.get("specifier") === `/${PACKAGES}`;
  if (!isPackages || !existsSync(file)) return new Response(null, { status: 404 });
  return new Response(Readable.toWeb(createReadStream(file)) as ConstructorParameters<typeof Response>[0]);
}

function digestOf({ translated, variables, modules, packages }: Served): string {
  const { mtimeMs, size } = statSync(packages, { throwIfNoEntry: false }) ?? {};
  const hash = createHash("sha256").update(JSON.stringify([translated, variables, mtimeMs, size]));
  for (const { path, contents } of modules) hash.update(`\0${path}\0`).update(contents);
  return hash.digest("hex");
}
