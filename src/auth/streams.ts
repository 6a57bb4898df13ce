/** How many streams one credential may have open. Every event is framed and sent for each of them. */
import { Problem } from "../http/problem.ts";
import type { Principal } from "./principal.ts";

/** The most streams of one credential in one isolate, and sockets of one credential on one thread. */
export const MOST_STREAMS = 256;

const open = new Map<string, number>();

/** The routes whose answers are streams. A2A says so in its body, and in Accept. */
const STREAMS = /\/stream(?:\/events)?\/?$/;

/** @throws Problem 429 when the request asks for a stream and the credential has too many. */
export function refuseManyStreams(request: Request, principal: Principal): void {
  const count = open.get(keyOf(principal)) ?? 0;
  if (count >= MOST_STREAMS && asksForStream(request)) throw tooManyStreams();
}

export function tooManyStreams(): Problem {
  return new Problem(429, `This credential has ${MOST_STREAMS} open streams. Close some of them first.`, {
    headers: { "retry-after": "5" },
  });
}

/** Counts a stream that has begun. The caller must call the answer when the stream has ended. */
export function countStream(principal: Principal): () => void {
  const key = keyOf(principal);
  open.set(key, (open.get(key) ?? 0) + 1);
  return () => {
    const left = (open.get(key) ?? 1) - 1;
    if (left === 0) open.delete(key);
    else open.set(key, left);
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
