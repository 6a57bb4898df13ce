/** The project's Worker on Miniflare: one workerd below this process. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Json, Miniflare, MiniflareOptions } from "miniflare";
import { Fault } from "../fault.ts";
import { type Addressed, skipsAssets, SOCKETS } from "./direct.ts";
import { DIRECT, isReplaceable, plainEntry, replaceableEntry, replaceBundle } from "./entry.ts";
import { lastWords, LineLog } from "./lines.ts";
import { dataIn } from "./migrate.ts";
import { convert, newMiniflare } from "./miniflare.ts";
import { answerModule, type Module, type Modules } from "./modules.ts";
import type { Translated } from "./config.ts";

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

export interface Served {
  name: string;
  translated: Translated;
  variables: Record<string, Json>;
  modules: Modules;
}

/** Bundles that have been replaced stay in memory: with more than this, in characters, workerd starts again. */
const MOST_REPLACED = 32_000_000;

export class Server {
  readonly #options: Options;
  readonly #log: LineLog;
  /** Requests with an address other than theirs are not trusted, from any process. */
  readonly #secret = randomUUID();
  #miniflare: Miniflare | undefined;
  /** Of the bundle that is served, and of everything else. */
  #bundle = "";
  #rest = "";
  /** How often the bundle has been replaced in this workerd, and the length of these. */
  #replaced = { times: 0, length: 0 };
  #stopping = false;
  /** When workerd has ended by itself. */
  #ends: number[] = [];
  /** The address of the running server; undefined while there is none. */
  url: string | undefined;
  /** The address of the Worker's own socket, and which requests it gets. */
  #direct = "";
  #isDirect: (asked: Addressed) => boolean = () => false;

  constructor(options: Options) {
    this.#options = options;
    this.#log = new LineLog(options.trace, (error) => this.#lose(error));
  }

  /** Serves this, if it is not what is served already. Throws a Fault when it cannot be loaded. */
  async serve(served: Served): Promise<void> {
    const bundle = readFileSync(served.modules.bundle, "utf8");
    const rest = digestServed(served);
    if (this.#stopping || (rest === this.#rest && bundle === this.#bundle)) return;
    const isReplaced = rest === this.#rest && (await this.#replace(served, bundle));
    this.#bundle = bundle;
    this.#rest = rest;
    if (!isReplaced) await this.#start(served);
  }

  /** Replaces the bundle in the running workerd. False where that is not possible. */
  async #replace({ modules }: Served, { length }: string): Promise<boolean> {
    if (this.url === undefined || !canReplace(modules)) return false;
    this.#replaced.times += 1;
    this.#replaced.length += length;
    return this.#replaced.length <= MOST_REPLACED && replaceBundle(this.#direct, this.#secret, this.#replaced.times);
  }

  async #start(served: Served): Promise<void> {
    const options = this.#miniflareOptions(served);
    this.url = undefined;
    this.#replaced = { times: 0, length: 0 };
    this.#log.clear();
    try {
      if (this.#miniflare) await this.#miniflare.setOptions(options);
      else this.#miniflare = newMiniflare(options);
      const url = await this.#miniflare.ready;
      this.#direct = String(await this.#miniflare.unsafeGetDirectURL(served.name, DIRECT));
      this.#isDirect = skipsAssets(served.translated);
      this.url = String(url).replace(/\/$/, "");
    } catch (error) {
      // After a failed start Miniflare takes no other options.
      const failed = this.#miniflare;
      this.#miniflare = undefined;
      this.#rest = "";
      await failed?.dispose().catch(() => undefined);
      if (!this.#stopping) throw new Fault(lastWords(this.#log, error as Error));
    }
  }

  /** Where a request goes once workerd runs: after it has ended, Miniflare starts it again. Undefined when it cannot. */
  async addressFor(asked: Addressed): Promise<string | undefined> {
    await this.#miniflare?.ready.catch(() => undefined);
    return this.url && this.#isDirect(asked) ? this.#direct : this.url;
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

  #miniflareOptions({ name, translated, variables, modules }: Served): MiniflareOptions {
    const { modulesRules: _, ...rest } = translated.workerOptions;
    // What is given as a module is copied for each 4 KB of the configuration, which takes a second for 8 MB.
    const options = { ...rest, unsafeUseModuleFallbackService: true };
    const entry: Module = {
      type: "ESModule",
      path: join(modules.root, "entry.mjs"),
      contents: canReplace(modules) ? replaceableEntry(modules.exports, this.#secret) : plainEntry(),
    };
    const { persistTo, onLine } = this.#options;
    return {
      ...convert({
        workers: [
          {
            ...options,
            name,
            bindings: variables,
            modules: [entry, ...modules.others],
            modulesRoot: modules.root,
            unsafeDirectSockets: SOCKETS,
          },
          ...translated.externalWorkers,
        ],
        unsafeTriggerHandlers: true,
        logRequests: false,
        unsafeModuleFallbackService: (request) => answerModule(request, modules),
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

const canReplace = ({ isSplit, exports }: Modules): boolean => isSplit && isReplaceable(exports);

/** Of everything but the bundle. */
function digestServed({ translated, variables, modules: { exports, isSplit, packages, others } }: Served): string {
  const { mtimeMs, size } = statSync(packages, { throwIfNoEntry: false }) ?? {};
  const hash = createHash("sha256").update(
    JSON.stringify([translated, variables, exports, isSplit, isSplit && [mtimeMs, size]]),
  );
  for (const { path, contents } of others) hash.update(`\0${path}\0`).update(contents);
  return hash.digest("hex");
}
