/** Sends one request on to the server, and its answer back. A stream of events continues after a restart of the server. */
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from "node:http";
import { DIRECT } from "./entry.ts";
import type { MiniflareConfig } from "./config.ts";
import { CliFault } from "../console.ts";
import { Transform } from "node:stream";

// Which requests go to the project's Worker itself. Otherwise three Workers of Miniflare pass each request and each answer on, to
// find files of the page.

/** What of a request decides where it goes. */
export interface RoutedRequest {
  url?: string;
  headers: IncomingHttpHeaders;
}

/** What Wrangler's translation says of a Worker's files. */
interface Assets {
  routerConfig?: { static_routing?: { user_worker: string[]; asset_worker?: string[] } };
}

/** For Miniflare: a socket of the Worker's own. */
export const SOCKETS = [{ host: "127.0.0.1", port: 0, entrypoint: DIRECT }];

/** Whether a request goes to the Worker without a search for a file (`run_worker_first`). */
export function skipsAssets({ workerOptions }: MiniflareConfig): (asked: RoutedRequest) => boolean {
  const { assets } = workerOptions as { assets?: Assets };
  const { user_worker: patterns = [], asset_worker: except = [] } = assets?.routerConfig?.static_routing ?? {};
  const rules = assets ? patterns : ["/*"];
  const exact = new Set(rules.filter((rule) => !rule.includes("*")));
  const folders = rules.filter((rule) => /^[^*]*\/\*$/.test(rule)).map((rule) => rule.slice(0, -1));
  if (except.length > 0) return () => false;
  return ({ url = "/", headers }) => {
    // Miniflare takes the scheme from this header, and answers the paths of the platform.
    if (headers["x-forwarded-proto"] !== undefined || url.startsWith("/cdn-cgi/") || url.includes("/.")) return false;
    const [path = ""] = url.split("?", 1);
    return exact.has(path) || folders.some((folder) => path.startsWith(folder));
  };
}

// The events of a stream as they pass: a client gets each of them whole or not at all.

const END = Buffer.from("\n\n");
const CRLF_END = Buffer.from("\r\n\r\n");

export class Frames {
  #part: Buffer = Buffer.alloc(0);
  #sent = false;
  /** The id of the last event that was whole. */
  lastId: string | undefined;

  /** The events that are whole with this chunk. */
  add(chunk: Buffer): Buffer {
    const bytes = this.#part.byteLength > 0 ? Buffer.concat([this.#part, chunk]) : chunk;
    const isWhole = bytes.subarray(-END.byteLength).equals(END);
    const end = isWhole ? bytes.byteLength : Math.max(endAfter(bytes, END), endAfter(bytes, CRLF_END));
    const whole = bytes.subarray(0, end);
    this.#part = bytes.subarray(end);
    if (end > 0) {
      const ids = [...whole.toString("utf8").matchAll(/^id: ?(.*?)\r?$/gm)];
      this.lastId = ids.at(-1)?.[1] ?? this.lastId;
      this.#sent = true;
    }
    return whole;
  }

  /** What came after the last whole event. It is dropped. */
  rest(): Buffer {
    const part = this.#part;
    this.#part = Buffer.alloc(0);
    return part;
  }

  /** Whether another stream can begin where this one ended. */
  get canResume(): boolean {
    return !this.#sent || this.lastId !== undefined;
  }
}

function endAfter(bytes: Buffer, end: Buffer): number {
  const at = bytes.lastIndexOf(end);
  return at < 0 ? 0 : at + end.byteLength;
}

// Which requests the front accepts, and what it removes from them.

/**
 * A page of any site can have its own name resolve to this machine, and read every answer to that name. Its requests have
 * the name as their host, so only known names are answered.
 */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** The names of this machine, and the given ones. Throws a Fault for one that is no host name. */
export function knownHosts(names: string[]): Set<string> {
  return new Set([...LOOPBACK, ...names.map(parseHost)]);
}

function parseHost(name: string): string {
  const host = URL.parse(`http://${name.includes(":") && !name.startsWith("[") ? `[${name}]` : name}/`);
  if (!host?.hostname || host.pathname !== "/" || host.port || host.username)
    throw new CliFault(
      `"${name}" is no host name. --host takes a name without scheme and port, such as my-tunnel.example.`,
    );
  return host.hostname;
}

/** Whether the request names a known host. An absolute request target would replace the Host header. */
export function isKnown(known: Set<string>, { headers, url = "" }: IncomingMessage): boolean {
  const host = URL.parse(`http://${headers.host ?? ""}/`);
  return url.startsWith("/") && host !== null && known.has(host.hostname);
}

export const REFUSED = "This host is not known. Use localhost, or start weir dev with --host and the name.";

/** Headers by which Miniflare and Cloudflare say more about a request than its sender does. */
const PLATFORM = /^(mf|cf)-/i;

export const withoutPlatform = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !PLATFORM.test(name)));

/** The same for the flat list of names and values that a socket's handshake is sent on with. */
export function handshakeLines(rawHeaders: string[]): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (!PLATFORM.test(rawHeaders[at] ?? "")) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return lines;
}

// How the page shows the error of a build: a script that `weir dev` puts into it. A deployment has none of this.

export const DEV_SCRIPT_PATH = "/.weir/dev.js";
export const EVENTS_PATH = "/.weir/events";

/** Shows the error over the page while there is one. Reloads a page that was opened before the first build. */
export const DEV_SCRIPT = `const box = document.createElement("pre");
box.id = "weir-build-error";
box.setAttribute("role", "alert");
Object.assign(box.style, {
  position: "fixed", inset: "auto 0 0 0", margin: 0, padding: "1rem", maxHeight: "50vh", overflow: "auto", zIndex: 9999,
  background: "#2a0f0f", color: "#ffd9d9", font: "13px/1.5 ui-monospace, monospace", whiteSpace: "pre-wrap",
});
const failed = "weirFailed" in document.documentElement.dataset;
let source;
// A browser keeps six connections to a server, for all its tabs together.
const follow = () => {
  source?.close();
  if (document.hidden) return;
  source = new EventSource("${EVENTS_PATH}");
  source.onmessage = ({ data }) => {
    const error = JSON.parse(data);
    box.textContent = error ?? "";
    if (error && !failed) document.body.append(box);
    else box.remove();
    if (!error && failed) location.reload();
  };
};
document.addEventListener("visibilitychange", follow);
follow();
`;

/** Puts the script before the end of the page's head. */
export function withScript(): Transform {
  const chunks: Buffer[] = [];
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
    flush(done) {
      const text = Buffer.concat(chunks).toString("utf8");
      this.push(text.replace("</head>", `<script type="module" src="${DEV_SCRIPT_PATH}"></script></head>`));
      done();
    },
  });
}

export interface Forwarding {
  /** Where the server answers this now; waits while it starts. Undefined when there is nothing to ask. */
  target: (asked: RoutedRequest) => Promise<string | undefined>;
  /** Headers that each answer gets. */
  headers: () => OutgoingHttpHeaders;
  /** Answers where the server does not. */
  unavailable: () => void;
}

/** The most that is read of a body after its answer, in bytes. A client that is not read may not read its answer. */
const DRAINED = 64 * 1024 ** 2;

/** How often a connection is tried that the server refuses, and the pause in between, milliseconds. */
const TRIES = 40;
const PAUSE_MS = 50;

/** Sends the request on. It has been accepted by its host. */
export async function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  to: Forwarding,
  tries = TRIES,
): Promise<void> {
  const { method = "GET", url: path = "/" } = asked;
  const page = method === "GET" && asked.headers.accept?.includes("text/html") === true;
  const target = await to.target(asked);
  if (answer.destroyed) return;
  if (target === undefined) return to.unavailable();
  const passed = request({ ...parseTarget(target), path, method, headers: forwardHeaders(asked) });
  passed.setNoDelay(true);
  answer.once("close", () => passed.destroy());
  passed.once("error", (error: NodeJS.ErrnoException) => {
    if (answer.headersSent || answer.destroyed) return;
    // A server that has just ended. What it has not received, or may receive twice, is sent to the next one.
    const isAgain = error.code === "ECONNREFUSED" || (passed.reusedSocket && (method === "GET" || method === "HEAD"));
    if (!isAgain || tries <= 1) return to.unavailable();
    setTimeout(() => void forward(asked, answer, to, tries - 1), PAUSE_MS);
  });
  passed.once("response", (response) => {
    drain(asked, passed);
    const html = page && response.headers["content-type"]?.startsWith("text/html") === true;
    if (html) delete response.headers["content-length"];
    answer.writeHead(response.statusCode ?? 502, { ...response.headers, ...to.headers() });
    answer.flushHeaders();
    const again = html ? undefined : resumptionPath(asked, response);
    if (again) return follow(asked, answer, response, again, to);
    response.once("error", () => answer.destroy());
    (html ? response.pipe(withScript()) : response).pipe(answer);
  });
  // The body is read once there is a server: what is read cannot be sent again.
  passed.once("socket", (socket) =>
    socket.connecting ? socket.once("connect", () => asked.pipe(passed)) : asked.pipe(passed),
  );
}

/** Keeps connections. The server closes one that has rested for five seconds. */
const AGENT = new Agent({ keepAlive: true, timeout: 2_000 });

function parseTarget(target: string): { hostname: string; port: string; agent: Agent } {
  const { hostname, port } = new URL(target);
  return { hostname, port, agent: AGENT };
}

/**
 * Nothing is compressed on one machine: Miniflare would hold a stream back until its end. Nor does it answer an error with a
 * page of its own, which has paths of this machine. The blob is the request's `cf`.
 */
const forwardHeaders = (asked: IncomingMessage): OutgoingHttpHeaders => ({
  ...withoutPlatform(asked.headers),
  "cf-connecting-ip": asked.socket.remoteAddress,
  "mf-cf-blob": JSON.stringify({ clientAcceptEncoding: asked.headers["accept-encoding"] ?? "" }),
  "accept-encoding": "identity",
  "mf-disable-pretty-error": "true",
});

/** Reads the rest of a body that the server has answered without. */
function drain(asked: IncomingMessage, passed: NodeJS.WritableStream): void {
  if (asked.complete) return;
  asked.unpipe(passed);
  let read = 0;
  asked.on("data", (chunk: Buffer) => {
    read += chunk.byteLength;
    if (read > DRAINED) asked.destroy();
  });
}

/** The path at which a stream of events continues: where the answer says, or that of the request itself. */
function resumptionPath(
  { method, url }: IncomingMessage,
  { statusCode, headers }: IncomingMessage,
): string | undefined {
  if (statusCode !== 200 || !headers["content-type"]?.startsWith("text/event-stream")) return undefined;
  return headers.location ?? (method === "GET" ? url : undefined);
}

/** Forwards whole events. If the server ends the stream early, reconnects after the last event. */
function follow(
  asked: IncomingMessage,
  answer: ServerResponse,
  response: IncomingMessage,
  path: string,
  to: Forwarding,
): void {
  const frames = new Frames();
  const read = (from: IncomingMessage) => {
    from.on("data", (chunk: Buffer) => {
      const whole = frames.add(chunk);
      if (whole.byteLength > 0 && !answer.write(whole)) {
        from.pause();
        answer.once("drain", () => from.resume());
      }
    });
    from.once("end", () => answer.end(frames.rest()));
    from.once("error", () => void ask());
  };
  const ask = async (): Promise<void> => {
    frames.rest();
    const target = await to.target({ url: path, headers: asked.headers });
    if (answer.destroyed || target === undefined || !frames.canResume) return void answer.destroy();
    const { "content-length": _length, "content-type": _type, ...headers } = forwardHeaders(asked);
    const seen = frames.lastId === undefined ? {} : { "last-event-id": frames.lastId };
    const passed = request({ ...parseTarget(target), path, headers: { ...headers, ...seen } });
    answer.once("close", () => passed.destroy());
    passed.once("error", () => answer.destroy());
    passed.once("response", (more) => (more.statusCode === 200 ? read(more) : answer.destroy()));
    passed.end();
  };
  read(response);
}
