/**
 * The address that people use. It is available while wrangler starts, reloads or ends, prints a line for each request,
 * and shows the error of a build that failed: in a header of each answer, on the page, and as a 503 where no build
 * serves yet.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { Fault } from "../fault.ts";
import { DEV_SCRIPT, DEV_SCRIPT_PATH, EVENTS_PATH, withScript } from "./overlay.ts";

export interface FrontOptions {
  port: number;
  /** Where wrangler answers now; waits while it starts. Undefined when there is nothing to ask. */
  target: () => Promise<string | undefined>;
  /** Gets a line for each request that has been answered. */
  onRequest: (line: string) => void;
}

export class Front {
  readonly #options: FrontOptions;
  readonly #server;
  readonly #watchers = new Set<ServerResponse>();
  /** Answers that are not complete, and open WebSockets. */
  readonly #open = new Set<ServerResponse | Duplex>();
  #error: string | undefined;

  constructor(options: FrontOptions) {
    this.#options = options;
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
          error.code === "EADDRINUSE" ? new Fault(`Port ${port} is taken. Choose another with --port or PORT.`) : error,
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
    const target = await this.#options.target();
    if (target === undefined) return this.#unavailable(asked, answer);
    const html = method === "GET" && asked.headers.accept?.includes("text/html") === true;
    // Pages are requested uncompressed, so that the script can be inserted.
    const headers = html ? { ...asked.headers, "accept-encoding": "identity" } : asked.headers;
    const { hostname, port } = new URL(target);
    const passed = request({ hostname, port, method, path: url, headers, agent: false }, (response) => {
      if (this.#error) response.headers["x-weir-build-error"] = headline(this.#error);
      const page = html && response.headers["content-type"]?.startsWith("text/html") === true;
      if (page) delete response.headers["content-length"];
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      (page ? response.pipe(withScript()) : response).pipe(answer);
      response.once("error", () => answer.destroy());
    });
    passed.setNoDelay(true);
    passed.once("error", () => (answer.headersSent ? answer.destroy() : this.#unavailable(asked, answer)));
    answer.once("close", () => passed.destroy());
    asked.pipe(passed);
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
    answer.writeHead(503, { "content-type": "application/problem+json", "retry-after": "1" });
    answer.end(JSON.stringify({ type: "about:blank", title: "Service Unavailable", status: 503, detail }));
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
    const target = await this.#options.target();
    if (target === undefined) return void socket.end("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n");
    const { hostname, port } = new URL(target);
    const passed = connect({ host: hostname, port: Number(port), noDelay: true }, () => {
      const lines = [`${asked.method} ${asked.url} HTTP/1.1`];
      for (let at = 0; at < asked.rawHeaders.length; at += 2)
        lines.push(`${asked.rawHeaders[at]}: ${asked.rawHeaders[at + 1]}`);
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

const event = (error: string | undefined): string => `data: ${JSON.stringify(error ?? null)}\n\n`;

/** The first line with content, in a form that a header may have. */
const headline = (text: string): string =>
  (text.split("\n").find((line) => line.trim()) ?? "")
    .replace(/[^\x20-\x7e]/g, "")
    .trim()
    .slice(0, 500);
