/** How many streams one credential may have open. Every event is framed and sent for each of them. */
import { Problem } from "../http/problem.ts";
import type { Principal } from "./principal.ts";

/** The most streams of one credential in one isolate, and sockets of one credential on one thread. */
export const MOST_STREAMS = 256;
/** The platform can end a request without running its code. A stream not seen for so many milliseconds has ended. */
const ABANDONED_MS = 30_000;

interface OpenStream {
  /** Milliseconds since 1970. */
  seenAt: number;
}

/** By credential. */
const open = new Map<string, Set<OpenStream>>();

/** The routes whose answers are streams. A2A says so in its body, and in Accept. */
const STREAMS = /\/stream(?:\/events)?\/?$|^\/agui\//;

/** @throws Problem 429 when the request asks for a stream and the credential has too many. */
export function refuseManyStreams(request: Request, principal: Principal): void {
  const own = open.get(keyOf(principal));
  if (!own || own.size < MOST_STREAMS || !asksForStream(request)) return;
  for (const stream of own) if (stream.seenAt < Date.now() - ABANDONED_MS) own.delete(stream);
  if (own.size >= MOST_STREAMS) throw tooManyStreams();
}

export function tooManyStreams(): Problem {
  return new Problem(429, `This credential has ${MOST_STREAMS} open streams. Close some of them first.`, {
    headers: { "retry-after": "5" },
  });
}

/** Counts a stream that has begun. The caller calls `seen` every few seconds while it is open, and `end` when it has ended. */
export function countStream(principal: Principal): { seen: () => void; end: () => void } {
  const key = keyOf(principal);
  const own = open.get(key) ?? new Set();
  open.set(key, own);
  const stream = { seenAt: Date.now() };
  own.add(stream);
  return {
    seen: () => void (stream.seenAt = Date.now()),
    end: () => {
      own.delete(stream);
      if (own.size === 0 && open.get(key) === own) open.delete(key);
    },
  };
}

function asksForStream({ url, headers }: Request): boolean {
  const { pathname } = new URL(url);
  // A client of MCP accepts both kinds of answer with every call.
  if (pathname === "/mcp") return false;
  return STREAMS.test(pathname) || Boolean(headers.get("accept")?.includes("text/event-stream"));
}

function keyOf({ workspaceId, credentialId }: Principal): string {
  return `${workspaceId} ${credentialId}`;
}
