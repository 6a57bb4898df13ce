/** The project's Worker on Miniflare: one workerd below this process. */
import { Log, LogLevel, convert, newMiniflare, serveModule, type Module, type Modules } from "./modules.ts";
import { createHash, randomUUID } from "node:crypto";
import { readFileSync, statSync, chmodSync } from "node:fs";
import { join } from "node:path";
import type { Json, Miniflare, MiniflareOptions } from "miniflare";
import { CliFault } from "../console.ts";
import { type RoutedRequest, skipsAssets, SOCKETS } from "./forward.ts";
import { DIRECT, isReplaceable, plainEntry, replaceableEntry, replaceBundle } from "./entry.ts";
import { dataIn, type MiniflareConfig } from "./config.ts";
import { createRequire } from "node:module";
import { PACKAGE } from "../project/package.ts";
import { writeWhole } from "../project/project.ts";

// What Miniflare says, line by line.

const KEPT = 40;

export class LineLog extends Log {
  readonly #trace: (line: string) => void;
  readonly #onLost: (error: Error) => void;
  #last: string[] = [];

  /** `onLost`: workerd ended, and Miniflare cannot start it again. */
  constructor(trace: (line: string) => void, onLost: (error: Error) => void) {
    super(LogLevel.INFO);
    this.#trace = trace;
    this.#onLost = onLost;
  }

  /** Miniflare reports only in its log that workerd cannot be started again. */
  override error(error: Error): void {
    super.error(error);
    if ((error as { code?: unknown }).code === "ERR_RUNTIME_FAILURE") this.#onLost(error);
  }

  protected override log(message: string): void {
    for (const line of withoutColours(message).split("\n")) {
      this.note(line);
      this.#trace(line);
    }
  }

  /** Keeps a line for `last`. */
  note(line: string): void {
    if (line.trim() !== "") this.#last = [...this.#last, line].slice(-KEPT);
  }

  clear(): void {
    this.#last = [];
  }

  get last(): string {
    return this.#last.join("\n");
  }
}

/** Why the server did not start: what it printed, or the error where it printed nothing. */
export const lastWords = (log: LineLog, error: Error): string => log.last.trim() || error.message;

// oxlint-disable-next-line no-control-regex -- the escape character of terminals
const withoutColours = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, "");

interface Options {
  /** The folder of the local data. */
  persistTo: string;
  /** Gets each line that the project's code logs. */
  onLine: (line: string) => void;
  /** Gets each line of Miniflare's own. */
  trace: (line: string) => void;
  /** workerd has ended too often, or cannot be started again. */
  onLost: (fault: CliFault) => void;
}

/** The most times that workerd may end by itself within `WITHIN_MS`. Miniflare starts it again each time. */
const MAX_ENDS = 5;
const WITHIN_MS = 60_000;

export interface ServedBundle {
  name: string;
  translated: MiniflareConfig;
  variables: Record<string, Json>;
  modules: Modules;
}

/** Bundles that have been replaced stay in memory: with more than this, in characters, workerd starts again. */
const MAX_REPLACED = 32_000_000;

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
  #isDirect: (asked: RoutedRequest) => boolean = () => false;

  constructor(options: Options) {
    this.#options = options;
    this.#log = new LineLog(options.trace, (error) => this.#lose(error));
  }

  /** Serves this, if it is not what is served already. Throws a Fault when it cannot be loaded. */
  async serve(served: ServedBundle): Promise<void> {
    const bundle = readFileSync(served.modules.bundle, "utf8");
    const rest = digestServed(served);
    if (this.#stopping || (rest === this.#rest && bundle === this.#bundle)) return;
    const isReplaced = rest === this.#rest && (await this.#replace(served, bundle));
    this.#bundle = bundle;
    this.#rest = rest;
    if (!isReplaced) await this.#start(served);
  }

  /** Replaces the bundle in the running workerd. False where that is not possible. */
  async #replace({ modules }: ServedBundle, { length }: string): Promise<boolean> {
    if (this.url === undefined || !canReplace(modules)) return false;
    this.#replaced.times += 1;
    this.#replaced.length += length;
    return this.#replaced.length <= MAX_REPLACED && replaceBundle(this.#direct, this.#secret, this.#replaced.times);
  }

  async #start(served: ServedBundle): Promise<void> {
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
      if (!this.#stopping) throw new CliFault(lastWords(this.#log, error as Error));
    }
  }

  /** Where a request goes once workerd runs: after it has ended, Miniflare starts it again. Undefined when it cannot. */
  async addressFor(asked: RoutedRequest): Promise<string | undefined> {
    await this.#miniflare?.ready.catch(() => undefined);
    return this.url && this.#isDirect(asked) ? this.#direct : this.url;
  }

  #restarted(): void {
    const now = Date.now();
    this.#ends = [...this.#ends.filter((time) => time > now - WITHIN_MS), now];
    if (this.#ends.length >= MAX_ENDS) return this.#lose(new Error("workerd ended."));
    this.#options.onLine("The server ended unexpectedly. It has been started again.");
  }

  #lose(error: Error): void {
    // While Miniflare gets other options, `serve` reports why it cannot start.
    if (this.#stopping || this.url === undefined) return;
    this.url = undefined;
    this.#options.onLost(
      new CliFault(`The server ended and cannot be kept running.\n\n${lastWords(this.#log, error)}`),
    );
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.url = undefined;
    await this.#miniflare?.dispose().catch(() => undefined);
  }

  #miniflareOptions({ name, translated, variables, modules }: ServedBundle): MiniflareOptions {
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
        unsafeModuleFallbackService: (request) => serveModule(request, modules),
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
function digestServed({
  translated,
  variables,
  modules: { exports, isSplit, packages, others },
}: ServedBundle): string {
  const { mtimeMs, size } = statSync(packages, { throwIfNoEntry: false }) ?? {};
  const hash = createHash("sha256").update(
    JSON.stringify([translated, variables, exports, isSplit, isSplit && [mtimeMs, size]]),
  );
  for (const { path, contents } of others) hash.update(`\0${path}\0`).update(contents);
  return hash.digest("hex");
}

// workerd ends with the process that started it, however that ends.

/**
 * Miniflare starts this in the place of workerd. A process that is killed cannot stop its children, and workerd itself does
 * not notice. Linux kills it by `setpriv`. Elsewhere a loop beside it looks. The loop has no stream of workerd's, which would
 * otherwise stay open.
 */
const script = (workerd: string) => `#!/bin/sh
set -- '${workerd.replaceAll("'", `'\\''`)}' "$@"
if setpriv --pdeathsig KILL true 2>/dev/null; then exec setpriv --pdeathsig KILL "$@"; fi
node=$PPID
(while kill -0 $node && kill -0 $$; do sleep 1; done; kill -9 $$) </dev/null >/dev/null 2>&1 3>&- &
exec "$@"
`;

/** Has Miniflare start workerd by way of the script. */
export function useScript(weirDir: string): void {
  if (process.platform === "win32" || process.env.MINIFLARE_WORKERD_PATH) return;
  const file = join(weirDir, "workerd.sh");
  const miniflare = createRequire(createRequire(join(PACKAGE, "package.json")).resolve("miniflare"));
  const { default: workerd } = miniflare("workerd") as { default: string };
  writeWhole(file, script(workerd), 0o700);
  chmodSync(file, 0o700);
  process.env.MINIFLARE_WORKERD_PATH = file;
}
