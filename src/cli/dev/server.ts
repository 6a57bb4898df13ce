/** The supervised `wrangler dev`: restarts after an unexpected end. */
import type { ChildProcess } from "node:child_process";
import { Fault } from "../fault.ts";
import { anyPort } from "./ports.ts";
import { killGroup, wrangler } from "./wrangler.ts";

interface Options {
  config: string;
  persistTo: string;
  cwd: string;
  /** Gets each line that wrangler prints, without its colours. */
  onLine: (line: string) => void;
  /** The reason why the server is no longer running, when wrangler ended soon after its first answer. */
  onFailure: (message: string) => void;
}

/** A process that ends sooner than this after its start is not restarted automatically. */
const SOON_MS = 5_000;
/** How long wrangler may take to end after a signal. */
const PATIENCE_MS = 5_000;

export class Server {
  readonly #options: Options;
  #child: ChildProcess | undefined;
  #stopping = false;
  /** The address of the running server; undefined while there is none. */
  url: string | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Starts the process and waits until it answers. Throws a Fault with wrangler's last output when it ends before. */
  async start(): Promise<void> {
    if (this.#child || this.#stopping) return;
    const { config, persistTo, cwd, onLine, onFailure } = this.#options;
    const port = await anyPort();
    const args = ["dev", "--config", config, "--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0"];
    args.push("--persist-to", persistTo, "--show-interactive-dev-session", "false", "--log-level", "log");
    const child = wrangler(args, cwd);
    this.#child = child;
    const began = Date.now();
    const last: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      eachLine(stream, (line) => {
        last.push(line);
        if (last.length > 40) last.shift();
        onLine(line);
      });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const words = () => last.join("\n").trim() || "wrangler ended without a word.";
    void ended.then(() => {
      const answered = this.url !== undefined;
      this.#child = undefined;
      this.url = undefined;
      if (!answered || this.#stopping) return;
      if (Date.now() - began < SOON_MS) onFailure(words());
      else this.start().catch((error: Error) => onFailure(error.message));
    });
    const url = `http://127.0.0.1:${port}`;
    if (await answers(url, ended)) this.url = url;
    else if (!this.#stopping) throw new Fault(words());
  }

  /** Ends the process and everything that it started. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    // Not "close": a workerd that is left behind would keep the pipes open.
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill("SIGTERM");
    const hard = setTimeout(() => killGroup(child), PATIENCE_MS);
    await ended;
    clearTimeout(hard);
    killGroup(child);
  }
}

function eachLine(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void): void {
  let rest = "";
  stream?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(withoutColours(line));
  });
}

// oxlint-disable-next-line no-control-regex -- the escape character of terminals
const withoutColours = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, "");

/** Whether the server answers before its process ends. Any status counts: a project that cannot load answers 503. */
async function answers(url: string, ended: Promise<void>): Promise<boolean> {
  const over = ended.then(() => "over" as const);
  for (;;) {
    const asked = fetch(`${url}/ok`).then(
      () => true,
      () => false,
    );
    const answer = await Promise.race([over, asked]);
    if (answer === true) return true;
    const pause = new Promise((resolve) => setTimeout(resolve, 50));
    if (answer === "over" || (await Promise.race([over, pause])) === "over") return false;
  }
}
