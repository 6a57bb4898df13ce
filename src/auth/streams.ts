/** How many streams one credential may have open. Every event is framed and sent for each of them. */
import { Problem } from "../lib/problem.ts";
import { isLate } from "../http/middleware.ts";
import { isEventStream } from "../http/sse.ts";
import type { Principal } from "../http/principal.ts";
import { dropUnseen, credentialKey, type Seen } from "./seen.ts";

/** The most streams of one credential in one isolate, and sockets of one credential on one thread. */
export const MOST_STREAMS = 256;
/** The platform can end a request without running its code. A stream not seen for this many milliseconds has ended. */
const ABANDONED_MS = 30_000;

/** A stream that counts against its credential. */
export interface OpenStream {
  /** The stream is still open. Called every few seconds. */
  seen: () => void;
  /** The stream has ended. */
  end: () => void;
}

/** By credential. */
const open = new Map<string, Set<Seen>>();

/** The routes whose answers are streams. */
const STREAMS = /\/stream(?:\/events)?\/?$|^\/agui\//;
/** Each call may wait for a run, which its body says. It counts until it is answered. */
const CALLS = /^\/(?:mcp(?:\/traces)?|a2a\/[^/]+)\/?$/;
/** The routes that answer with the result of a run, when it has ended. */
const WAITS = /\/(?:wait|join)\/?$/;

/**
 * Counts the stream that this request opens; undefined when it opens none. It counts before the work begins, so that
 * simultaneous requests are refused too.
 *
 * @throws Problem 429 when the credential has too many.
 */
export function reserveStream(request: Request, principal: Principal): OpenStream | undefined {
  if (!requestsStream(request)) return undefined;
  const own = open.get(credentialKey(principal));
  if (own && own.size >= MOST_STREAMS) {
    dropUnseen(own, ABANDONED_MS);
    if (own.size >= MOST_STREAMS) throw tooManyStreams();
  }
  return countStream(principal);
}

export function tooManyStreams(): Problem {
  return new Problem(429, `This credential has ${MOST_STREAMS} open streams. Close some of them first.`, {
    headers: { "retry-after": "5" },
  });
}

export function countStream(principal: Principal): OpenStream {
  const key = credentialKey(principal);
  const own = open.get(key) ?? new Set();
  open.set(key, own);
  const stream = { at: Date.now() };
  own.add(stream);
  return {
    seen: () => void (stream.at = Date.now()),
    end: () => {
      own.delete(stream);
      if (own.size === 0 && open.get(key) === own) open.delete(key);
    },
  };
}

/** Whether the answer lasts longer than its request's checks: a stream of events, or the wait for a run's result. */
export function isLong({ url }: Request, response: Response): boolean {
  if (isEventStream(response)) return true;
  return response.ok && response.body !== null && (WAITS.test(new URL(url).pathname) || isLate(response));
}

function requestsStream({ url, headers, method }: Request): boolean {
  const { pathname } = new URL(url);
  if (CALLS.test(pathname)) return method === "POST";
  return (
    STREAMS.test(pathname) || WAITS.test(pathname) || Boolean(headers.get("accept")?.includes("text/event-stream"))
  );
}
