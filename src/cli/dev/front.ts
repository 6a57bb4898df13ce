/**
 * The address that people use. It is available while the server starts, reloads or ends, prints a line for each request,
 * and shows the error of a build that failed: in a header of each answer, on the page, and as a 503 where no build
 * serves yet. It answers to names of this machine only.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { CliFault } from "../console.ts";
import {
  type RoutedRequest,
  forward,
  handshakeLines,
  isKnown,
  knownHosts,
  REFUSED,
  DEV_SCRIPT,
  DEV_SCRIPT_PATH,
  EVENTS_PATH,
} from "./forward.ts";

export interface FrontOptions {
  port: number;
  /** Names besides those of this machine. */
  hosts?: string[];
  /** Where the server answers this now; waits while it starts. Undefined when there is nothing to ask. */
  target: (asked: RoutedRequest) => Promise<string | undefined>;
  /** Gets a line for each request that has been answered. */
  onRequest: (line: string) => void;
}

export class Front {
  readonly #options: FrontOptions;
  readonly #hosts: Set<string>;
  readonly #server;
  readonly #watchers = new Set<ServerResponse>();
  /** Answers that are not complete, and open WebSockets. */
  readonly #open = new Set<ServerResponse | Duplex>();
  #error: string | undefined;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#hosts = knownHosts(options.hosts ?? []);
    this.#server = createServer((asked, answer) => void this.#answer(asked, answer));
    this.#server.on("upgrade", (asked, socket, head) => void this.#upgrade(asked, socket, head));
    // Streams last as long as a run.
    this.#server.requestTimeout = 0;
  }

  /** Throws a Fault when the port is taken. */
  async listen(): Promise<void> {
    const { port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) =>
        reject(
          error.code === "EADDRINUSE"
            ? new CliFault(`Port ${port} is taken. Choose another with --port or PORT.`)
            : error,
        ),
      );
      this.#server.listen(port, "127.0.0.1", resolve);
    });
  }

  /** The error of the newest build, or undefined when it succeeded. Open pages show it. */
  show(error: string | undefined): void {
    if (error === this.#error) return;
    this.#error = error;
    for (const watcher of this.#watchers) watcher.write(event(error));
  }

  /** Resolves when no answer is under way and no WebSocket is open, at the latest after `limit` milliseconds: a page keeps streams open. */
  async idle(limit: number): Promise<void> {
    const until = Date.now() + limit;
    while (this.#open.size > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    if (!isKnown(this.#hosts, asked)) return problem(answer, 421, "Misdirected Request", REFUSED);
    if (asked.url === DEV_SCRIPT_PATH) return void answer.setHeader("content-type", "text/javascript").end(DEV_SCRIPT);
    if (asked.url === EVENTS_PATH) return this.#watch(answer);
    const began = Date.now();
    const { method = "GET", url = "/" } = asked;
    this.#open.add(answer);
    answer.once("close", () => {
      this.#open.delete(answer);
      const seconds = ((Date.now() - began) / 1000).toFixed(2);
      const end = answer.writableFinished ? "" : "  closed by the client";
      this.#options.onRequest(`${method} ${url}  ${answer.headersSent ? answer.statusCode : "-"}  ${seconds} s${end}`);
    });
    await forward(asked, answer, {
      target: this.#options.target,
      headers: () => (this.#error ? { "x-weir-build-error": headline(this.#error) } : {}),
      unavailable: () => this.#unavailable(asked, answer),
    });
  }

  #unavailable(asked: IncomingMessage, answer: ServerResponse): void {
    const detail = this.#error ?? "The server is starting again. Try again.";
    if (asked.headers.accept?.includes("text/html")) {
      const text = detail.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`);
      answer.writeHead(503, { "content-type": "text/html; charset=utf-8" });
      return void answer.end(
        `<!doctype html><html data-weir-failed><title>Weir</title><pre>${text}</pre><script src="${DEV_SCRIPT_PATH}"></script>`,
      );
    }
    answer.setHeader("retry-after", "1");
    problem(answer, 503, "Service Unavailable", detail);
  }

  #watch(answer: ServerResponse): void {
    answer.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    answer.write(event(this.#error));
    this.#watchers.add(answer);
    answer.once("close", () => this.#watchers.delete(answer));
  }

  /** A WebSocket: the bytes of both sides as they are. */
  async #upgrade(asked: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // Without a listener, a client that closes while the server starts would end the process.
    socket.once("error", () => socket.destroy());
    if (!isKnown(this.#hosts, asked))
      return void socket.end("HTTP/1.1 421 Misdirected Request\r\nconnection: close\r\n\r\n");
    const target = await this.#options.target(asked);
    if (target === undefined) return void socket.end("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n");
    const { hostname, port } = new URL(target);
    const passed = connect({ host: hostname, port: Number(port), noDelay: true }, () => {
      const lines = [`${asked.method} ${asked.url} HTTP/1.1`, ...handshakeLines(asked.rawHeaders)];
      passed.write(`${lines.join("\r\n")}\r\n\r\n`);
      passed.write(head);
      socket.pipe(passed).pipe(socket);
      this.#options.onRequest(`SOCKET ${asked.url}`);
    });
    for (const [one, other] of [
      [socket, passed],
      [passed, socket],
    ] as const) {
      one.once("error", () => other.destroy());
      one.once("close", () => other.destroy());
    }
  }
}

function problem(answer: ServerResponse, status: number, title: string, detail: string): void {
  answer.writeHead(status, { "content-type": "application/problem+json" });
  answer.end(JSON.stringify({ type: "about:blank", title, status, detail }));
}

const event = (error: string | undefined): string => `data: ${JSON.stringify(error ?? null)}\n\n`;

/** The first line with content, in a form that a header may have. */
const headline = (text: string): string =>
  (text.split("\n").find((line) => line.trim()) ?? "")
    .replace(/[^\x20-\x7e]/g, "")
    .trim()
    .slice(0, 500);
