/** Sends one request on to the server, and its answer back. A stream of events continues after a restart of the server. */
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request, type ServerResponse } from "node:http";
import type { Addressed } from "./direct.ts";
import { Frames } from "./events.ts";
import { withoutPlatform } from "./hosts.ts";
import { withScript } from "./overlay.ts";

export interface Forwarding {
  /** Where the server answers this now; waits while it starts. Undefined when there is nothing to ask. */
  target: (asked: Addressed) => Promise<string | undefined>;
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
