/** How often one caller may call. The limits themselves are in wrangler.toml. */
import type { Principal } from "../../http/principal.ts";
import type { Context } from "hono";
import { Problem } from "../../lib/problem.ts";
import { type App, callerAddress, toNetwork } from "../../http/context.ts";
import { isStreamedLate } from "../../http/middleware.ts";
import { isEventStream } from "../../http/sse.ts";

// What an isolate counts for one credential while it lasts.

export interface CredentialCounters {
  /** When it was last known to last, milliseconds since 1970. */
  at: number;
}

/** Removes entries that were not seen for this many milliseconds: its request ended and its own code did not run. */
export function dropIdleCounters<Item extends CredentialCounters>(items: Set<Item>, ms: number): void {
  const oldest = Date.now() - ms;
  for (const item of items) if (item.at < oldest) items.delete(item);
}

export function credentialKey({ workspaceId, credentialId }: Principal): string {
  return `${workspaceId} ${credentialId}`;
}

/** The limiter returns no time, so the answer names its whole period. */
const PERIOD_SECONDS = 60;

/**
 * This many requests of a credential to this isolate count as one call of the limiter, because a call delays each
 * request.
 */
const COUNTED = 20;
const MAX_KEPT = 10_000;

const callers = new Map<string, { requests: number; refused: boolean }>();

/** Counts a request of this credential; throws 429 past the limit. */
export async function limitKey(env: Env, principal: Principal): Promise<void> {
  const key = credentialKey(principal);
  const caller = callers.get(key) ?? { requests: 0, refused: false };
  if (callers.size >= MAX_KEPT) callers.clear();
  callers.set(key, caller);
  caller.requests += 1;
  // A refused credential calls the limiter each time, so that it is accepted as soon as its minute is over.
  if (caller.refused || caller.requests % COUNTED === 1) caller.refused = !(await env.KEY_LIMIT.limit({ key })).success;
  if (caller.refused) throw tooMany("This credential has sent too many requests.");
}

/** Counts a call that needs no credential, per network, in total, and by `purpose`. @throws Problem 429 past a limit. */
export async function limitAddress(c: Context<App>, purpose: string): Promise<void> {
  const network = toNetwork(callerAddress(c) ?? "unknown");
  const { success } = await c.env.ADDRESS_LIMIT.limit({ key: `${purpose} ${network}` });
  if (!success) throw tooMany("Too many of these calls came from this address.");
  // Last, so that a refused network does not use the limit of the others.
  const { success: room } = await c.env.TOTAL_LIMIT.limit({ key: purpose });
  if (!room) throw tooMany("The server received too many of these calls.");
}

/** Counts a call that is paid for: 60 a minute for each credential. @throws Problem 429 past the limit. */
export async function limitPaid(env: Env, principal: Principal): Promise<void> {
  const { success } = await env.ADDRESS_LIMIT.limit({ key: `paid ${credentialKey(principal)}` });
  if (!success) throw tooMany("This credential has called models too often.");
}

/** This many requests by links of an address count as one call of the limiter: a page of a shared trace makes several. */
const LINKS_COUNTED = 10;

/** Counts a request whose only credential is a link in its path, per network and in total. @throws Problem 429 past a limit. */
export async function limitLink(c: Context<App>): Promise<void> {
  const key = `link ${toNetwork(callerAddress(c) ?? "unknown")}`;
  const caller = callers.get(key) ?? { requests: 0, refused: false };
  if (callers.size >= MAX_KEPT) callers.clear();
  callers.set(key, caller);
  caller.requests += 1;
  if (!caller.refused && caller.requests % LINKS_COUNTED !== 1) return;
  caller.refused = true;
  await limitAddress(c, "link");
  caller.refused = false;
}

/** A failed attempt to sign in or to consent takes this long, milliseconds. */
const SLOW_MS = 1_000;

export async function slowDown(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
}

function tooMany(what: string): Problem {
  return new Problem(429, `${what} Try again in ${PERIOD_SECONDS} seconds.`, {
    headers: { "retry-after": String(PERIOD_SECONDS) },
  });
}

// Fair shares of an isolate: one credential's burst of requests does not delay the requests of others. An isolate has one
// thread, and all requests that it works on at the same time share that thread.

/** Requests of one credential that are at work at the same time. */
const AT_ONCE = 16;
/** Requests of one credential that wait for their turn. Each holds its headers in the isolate's memory. */
const MAX_WAITING = 1_000;
/** After this time the turn of a request ends, because it waits rather than computes. Milliseconds. */
const TURN_MS = 5_000;
/** The same for calls that answer when a run has ended, which is long after they stopped computing. */
const BLOCKING_TURN_MS = 250;
const BLOCKING = /^\/(?:a2a|mcp)(?:\/|$)/;

/** Milliseconds that a request waits for its turn. */
const WAIT_MS = 20_000;

/** The platform can end a request without running its code, so each entry ends by its age too. */
class Turns {
  readonly #taken = new Set<CredentialCounters>();
  readonly #waiting = new Set<CredentialCounters>();

  get isIdle(): boolean {
    return this.#taken.size === 0 && this.#waiting.size === 0;
  }

  /** A turn of this many milliseconds; undefined when all are taken. */
  take(length: number): CredentialCounters | undefined {
    if (this.#taken.size >= AT_ONCE) dropIdleCounters(this.#taken, TURN_MS);
    if (this.#taken.size >= AT_ONCE) return undefined;
    const turn = { at: Date.now() - (TURN_MS - length) };
    this.#taken.add(turn);
    return turn;
  }

  end(turn: CredentialCounters): void {
    this.#taken.delete(turn);
  }

  /**
   * Resolves when the caller should try again. Each request uses its own timer: in Workers, no request may run another
   * request's code.
   */
  async pause(): Promise<void> {
    if (this.#waiting.size >= MAX_WAITING) dropIdleCounters(this.#waiting, TURN_MS);
    if (this.#waiting.size >= MAX_WAITING) throw tooManyAtOnce();
    const waiting = { at: Date.now() };
    this.#waiting.add(waiting);
    // The interval grows with the number of waiting requests: together they check at most about 2,000 times a second.
    await new Promise((resolve) => setTimeout(resolve, Math.min(500, 20 + this.#waiting.size)));
    this.#waiting.delete(waiting);
  }
}

const turns = new Map<string, Turns>();

/**
 * Waits for a turn of this credential. The caller calls the answer when the response has begun.
 *
 * @throws Problem 429 when too many of its requests wait, or this one has waited 20 seconds.
 */
export async function takeTurn({ url }: Request, principal: Principal): Promise<() => void> {
  const key = credentialKey(principal);
  const length = BLOCKING.test(new URL(url).pathname) ? BLOCKING_TURN_MS : TURN_MS;
  const since = Date.now();
  for (;;) {
    const own = turns.get(key) ?? new Turns();
    turns.set(key, own);
    const turn = own.take(length);
    if (turn) return () => endTurn(key, own, turn);
    if (Date.now() - since > WAIT_MS) throw tooManyAtOnce();
    await own.pause();
  }
}

function endTurn(key: string, own: Turns, turn: CredentialCounters): void {
  own.end(turn);
  if (own.isIdle && turns.get(key) === own) turns.delete(key);
}

function tooManyAtOnce(): Problem {
  return new Problem(429, "This credential has too many requests at the same time. Send fewer at once.", {
    headers: { "retry-after": "5" },
  });
}

// How many streams one credential may have open. Every event is framed and sent for each of them.

/** The most streams of one credential in one isolate, and sockets of one credential on one thread. */
export const MAX_STREAMS = 256;
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
const open = new Map<string, Set<CredentialCounters>>();

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
  if (own && own.size >= MAX_STREAMS) {
    dropIdleCounters(own, ABANDONED_MS);
    if (own.size >= MAX_STREAMS) throw tooManyStreams();
  }
  return countStream(principal);
}

export function tooManyStreams(): Problem {
  return new Problem(429, `This credential has ${MAX_STREAMS} open streams. Close some of them first.`, {
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
  return response.ok && response.body !== null && (WAITS.test(new URL(url).pathname) || isStreamedLate(response));
}

function requestsStream({ url, headers, method }: Request): boolean {
  const { pathname } = new URL(url);
  if (CALLS.test(pathname)) return method === "POST";
  return (
    STREAMS.test(pathname) || WAITS.test(pathname) || Boolean(headers.get("accept")?.includes("text/event-stream"))
  );
}
